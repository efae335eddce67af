"""Keeping what happens on the live page: each test, at its end, becomes a campaign that reports and notebooks open.

One thread reports to a keeper, which takes it quickly: servers are asked, and files are written, by others.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic_ns
from typing import Any

from bench.campaign.live.downloads import Draw, write_figure, write_operations, write_seconds
from bench.campaign.live.jobs import jobs_done_in
from bench.campaign.live.kept import Fault, Session, keep
from bench.campaign.live.looks import Look, SupervisorOf, look
from bench.campaign.live.network import Crossed
from bench.campaign.live.received import NotKept, Received
from bench.errors import LockbenchError
from bench.load.channel import Channel, Message
from bench.records.hazards import FaultWindow
from bench.records.schema import LIVE, Environment, JobsDone
from bench.records.store import CampaignFolder, Store

_LAST_REPORTS_S = 5.0  # load processes report every second
_TOGETHER = 2  # a session may begin while the one before is being written


@dataclass
class _Heard:
    """A session that is being received, or written."""

    name: str
    received: Received
    before: "Future[Look]"
    crossed: "Future[Crossed | None] | None" = None  # the network that it had, once it is over
    faults: dict[tuple[str, str, int], Fault] = field(default_factory=dict)
    ended: bool = False


class Keeper:
    """Of one `lockbench live`. `say` prints a line; `draw` makes the figure of a campaign that was kept."""

    def __init__(
        self,
        supervisor_of: SupervisorOf,
        store: Store,
        environment: Environment,
        say: Callable[[str], None],
        draw: Draw,
    ) -> None:
        """`environment`: the machine, looked at while it was quiet."""
        self._supervisor_of, self._store, self._environment = supervisor_of, store, environment
        self._say, self._draw = say, draw
        self._others = ThreadPoolExecutor(_TOGETHER, "keeping")
        self._written: list[Future[None]] = []
        self._writing = threading.Lock()  # one session after another
        self._session: _Heard | None = None  # the last one that began
        self._page: Channel | None = None
        self._settle: Callable[[], None] = lambda: None
        self._crossed: Callable[[], Future[Crossed | None]] | None = None

    def serve(
        self,
        page: Channel,
        settle: Callable[[], None] = lambda: None,
        crossed: "Callable[[], Future[Crossed | None]] | None" = None,
    ) -> None:
        """Tell this page what was kept. `settle` waits, once a test is over, until its last fault was added; `crossed`
        then promises what its network was."""
        self._page, self._settle, self._crossed = page, settle, crossed

    def take(self, message: Message) -> None:
        """Any message of the page; those that are about something else change nothing."""
        if message.kind == "begin":
            self._end()
            self._begin(message.content)
        elif message.kind == "second" and self._session is not None:
            # What a worker reports after the end still belongs to the session.
            self._session.received.add(message.content, message.body)
        elif message.kind == "end":
            self._end()

    def show(self, moment: Mapping[str, Any]) -> None:
        """What the page shows now."""
        if self._session is not None:
            self._session.received.show(moment, monotonic_ns())

    def add_fault(self, window: FaultWindow, systems: Collection[str] | None = None) -> None:
        """Something that was done in the session that runs now: to these of its systems, or to all of them.

        By any thread, until the session is written. A fault may be added when it begins, and once more when it is over:
        of one kind, target and beginning the last word counts. Where no session runs it is dropped.
        """
        session = self._session
        if session is not None and not session.received.sealed:
            about = (window.kind, window.target, window.began_ns)
            session.faults[about] = Fault(window, None if systems is None else frozenset(systems))

    def close(self) -> None:
        """The page is gone: keep what was received of a test that still ran, and wait until all is written."""
        self._page = None
        if self._session is not None:
            self._session.received.over.set()  # nobody is left who could report anything
        self._end()
        self._others.shutdown()
        for one in self._written:
            one.result()

    def _begin(self, begin: Mapping[str, Any]) -> None:
        root = self._store.root
        try:
            root.mkdir(parents=True, exist_ok=True)
            received = Received(begin, root)
        except OSError as refused:
            self._session = None
            self._say(f"this test will not be kept: {root} cannot be written: {refused.strerror}")
            return
        before = self._others.submit(look, received.systems, self._supervisor_of, "before")
        self._session = _Heard(f"{LIVE}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}", received, before)

    def _end(self) -> None:
        session = self._session
        if session is not None and not session.ended:
            session.ended = True
            session.crossed = None if self._crossed is None else self._crossed()
            self._written.append(self._others.submit(self._finish, session))

    def _finish(self, session: _Heard) -> None:
        received = session.received
        try:
            received.over.wait(_LAST_REPORTS_S)
            self._settle()
            received.seal()
            # Before it waits for another session's writing: what comes then is none of this one.
            after = look(received.systems, self._supervisor_of, "after")
            jobs = jobs_done_in(received, self._supervisor_of)
            with self._writing:
                self._write(session, after, jobs)
        except NotKept as why:
            self._say(f"the test was not kept: {why}")
        except Exception as failure:
            self._say(f"the test could not be kept as {session.name}: {failure}")
            if not isinstance(failure, LockbenchError | OSError):
                raise  # a mistake of ours: whoever waits for the writing gets it
        finally:
            received.close()

    def _write(self, session: _Heard, after: Look, jobs: JobsDone | None) -> None:
        received, name = session.received, session.name
        before = session.before.result()
        crossed = None if session.crossed is None else session.crossed.result()
        whole = Session(received, before, after, tuple(session.faults.values()), crossed, jobs)
        folder = keep(whole, name, self._store, self._environment)
        seconds = write_seconds(folder, received.seconds())
        self._say(f"kept as {name}: lockbench report --campaign {name}")
        if (page := self._page) is not None:
            files = {"csv": seconds, **self._drawn(folder), **write_operations(folder)}
            page.send("kept", {"campaign": name, "files": {kind: str(path) for kind, path in files.items()}})

    def _drawn(self, folder: CampaignFolder) -> Mapping[str, Path]:
        try:
            return write_figure(folder, self._draw)
        except (LockbenchError, OSError) as failure:
            self._say(f"the figure of {folder.path.name} could not be drawn: {failure}")
            return {}
