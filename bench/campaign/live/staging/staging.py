"""All holders and scenarios of one live session, and what the page may ask of them."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from bench.campaign.live.staging.act import Act, Place
from bench.campaign.live.staging.actors import Actors, Press
from bench.campaign.live.staging.buttons import buttons_of
from bench.campaign.live.staging.playing import Play, scenarios_of
from bench.errors import LockbenchError
from bench.hazards.lab.lab import Lab
from bench.records.hazards import FaultWindow
from bench.systems.registry import SYSTEMS, System

Does = TypeVar("Does", Actors, Play)
_OTHERS = ("start", "stop", "fence", "end", "play")


class _Act(NamedTuple):
    system: str
    does: Act


class Staging:
    """A context manager: at its end no holder is left, and no fault is in force that outlives the lab's servers."""

    def __init__(
        self,
        lab: Lab | None,
        staged: Mapping[str, System],
        on_fault: Callable[[str, FaultWindow], None] = lambda system, window: None,
    ) -> None:
        """`staged`: the systems whose servers are the lab's. `on_fault` is told each fault that is over, and where."""
        self._lab, self._staged, self._on_fault = lab, staged, on_fault
        self._acts: dict[str, _Act] = {}  # by set of servers, which one thread at a time may break
        self._fences: dict[str, bool] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="lockbench-live-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for act in self._acts.values():
            act.does.close()
        self._folder.cleanup()

    @property
    def active(self) -> bool:
        """Is there something that changes?"""
        return any(act.does.running for act in self._acts.values())

    def about(self) -> dict[str, Any]:
        """What the page may ask for: each system that can be struck, with its buttons; and of the others why not."""
        systems = {
            name: {"title": entry.title, "buttons": buttons_of(entry.servers), "scenarios": scenarios_of(name)}
            for name, entry in self._staged.items()
            if entry.servers is not None
        }
        why_not = {name: _why_not(entry) for name, entry in SYSTEMS.items() if name not in systems}
        return {"systems": systems, "why_not": why_not, "others": list(_OTHERS)}

    def press(self, asked: Mapping[str, Any]) -> None:
        """Do what the page was asked for, which has checked it against `about`. Raises LockbenchError where the servers
        are not lockbench's own.
        """
        name, what = asked["system"], asked["what"]
        if self._lab is None or name not in self._staged:
            raise LockbenchError(f"{name}: {_why_not(SYSTEMS[name])}")
        act = self._acts.get(str(self._staged[name].server_set))
        current = None if act is None or act.system != name else act.does
        if what == "fence":
            self._fences[name] = bool(asked["on"])
            if isinstance(current, Actors):
                current.fence = self._fences[name]
        elif what == "stop":
            if current is not None:
                current.stop()
        elif what == "end":
            if isinstance(current, Actors):
                current.end_fault()
        elif what == "play":
            self._begin(name, partial(Play, scenario=asked["scenario"]))
        else:
            if not isinstance(current, Actors) or current.stopping or not current.running:
                current = self._begin(name, Actors)
            if what != "start":
                current.press(Press(what, float(asked["seconds"] or 0.0), asked["amount"]))

    def stop(self) -> None:
        """A test has ended: so do the faults, the holders and what is played."""
        for act in self._acts.values():
            act.does.stop()

    def wait_stopped(self) -> None:
        """After `stop`: until every fault is over and was reported."""
        for act in list(self._acts.values()):
            if act.does.stopping:
                act.does.wait_stopped()

    def report(self) -> dict[str, Any]:
        """What the page shows of every system that has holders, or a scenario."""
        return {act.system: act.does.report() for act in self._acts.values()}

    def _begin(self, name: str, act: Callable[[Place, bool], Does]) -> Does:
        """In place of what was there, which ends first."""
        entry = self._staged[name]
        assert entry.servers is not None, "see `about`"
        assert self._lab is not None, "see `press`"
        before = self._acts.get(entry.servers.name)

        def after() -> None:
            if before is not None:
                before.does.stop()
                before.does.wait_stopped()
                if before.does.running:
                    raise LockbenchError("what was there before has not ended yet: try again")

        servers, log = self._lab.servers(entry.servers.name), Path(self._folder.name) / f"{name}.txt"
        does = act(Place(entry, servers, log, partial(self._on_fault, name), after), self._fences.get(name, False))
        self._acts[entry.servers.name] = _Act(name, does)
        return does


def _why_not(entry: System) -> str:
    if entry.server_set is None:
        return "it has no servers, and its locks do not leave their process"
    return "its servers are your own, or not of this session: lockbench does nothing to them"
