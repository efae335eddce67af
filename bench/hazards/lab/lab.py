"""The hazard lab: private native servers that exist to be broken, and that nobody ever finds running afterwards.

They live in a supervisor's home of their own, `<home>/lab`, so that the servers of `lockbench up` are never touched.
They are killed at the end, however it ends; when lockbench itself is killed, its guardian does it.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from bench.hazards.lab.guardian import LAB, Guardian, folder_of
from bench.hazards.lab.servers import LabClosed, LabServers
from bench.servers.breaking.killing import kill_all
from bench.servers.interruption import uninterrupted
from bench.servers.running.settings import ServerSettings, Settings
from bench.servers.running.state import exclusive
from bench.servers.running.supervisor import LayPeers, Progress, Supervisor
from bench.servers.spec import ServerSpec


class Lab:
    """Server sets, up and proven, one object each. Sets may be broken side by side, each by one thread."""

    def __init__(self, supervisor: Supervisor, guardian: Guardian, specs: Sequence[ServerSpec]) -> None:
        self.supervisor = supervisor
        self._guardian = guardian
        self._turn = threading.Lock()
        self._closed = False
        self._sets = {spec.name: LabServers(self.supervisor, spec, self.turn) for spec in specs}

    def servers(self, set_name: str) -> LabServers:
        """One set, by the name of its spec. Raises ValueError with the names there are."""
        if set_name not in self._sets:
            raise ValueError(f"the lab has no servers {set_name!r}: it has {', '.join(self._sets)}")
        return self._sets[set_name]

    @contextmanager
    def turn(self) -> Iterator[None]:
        """A block in which a process of the lab is started or signalled: one at a time, and none once the lab closes.

        Without it, a thread that is half-way through a fault could start a server behind the back of the closing.
        """
        with self._turn:
            if self._closed:
                raise LabClosed("the hazard lab is closed")
            yield

    def mend(self) -> None:
        """Mend every set; see `LabServers.mend`. Not while another thread breaks one."""
        with ExitStack() as every:  # each is tried, also after another has failed; the last failure is raised
            for servers in self._sets.values():
                every.callback(servers.mend)

    def broken(self) -> list[str]:
        """What is not as it was, in words; empty: everything is."""
        found = [] if self._guardian.alive() else ["the lab's guardian has ended"]
        for servers in self._sets.values():
            found += servers.broken()
        return found

    def close(self) -> None:
        """Kill every server. Idempotent."""
        with self._turn:
            self._closed = True
            with ExitStack() as every:
                every.callback(kill_all, self.supervisor)
                for servers in self._sets.values():
                    every.callback(servers.let_go)


def require_servers(home: Path, specs: Sequence[ServerSpec]) -> None:
    """Raise ServersError, saying how to install it, for the first set whose programs are missing. Starts nothing."""
    Supervisor(folder_of(home.resolve()), _native(specs)).require(specs)


def _native(specs: Sequence[ServerSpec]) -> Settings:
    """Whatever lockbench.toml says: a server of the user's own, or a container, is not broken here."""
    return Settings(servers={spec.name: ServerSettings(source="native") for spec in specs})


@contextmanager
def open_lab(
    home: Path,
    specs: Sequence[ServerSpec],
    progress: Progress = lambda _: None,
    name: str = LAB,
    lay_peers: LayPeers | None = None,
) -> Iterator[Lab]:
    """Have private servers for a block; `home` is the user's (LOCKBENCH_HOME or .lockbench).

    They are in its folder `name`. `lay_peers` says where they reach each other (see `Supervisor`).

    Raises HomeBusy when another lockbench has the lab; ServersError, Died or TooLate when a server does not come up.
    """
    with suppress(RuntimeError):  # a link to itself: `exclusive` says so
        home = home.resolve()
    guardian: Guardian | None = None
    try:
        with exclusive(home, name):
            supervisor = Supervisor(folder_of(home, name), _native(specs), lay_peers)
            kill_all(supervisor)  # strays of a lab whose guardian was killed too
            guardian = Guardian(home, name)
            lab = Lab(supervisor, guardian, specs)
            try:
                supervisor.up(specs, progress)
                yield lab
            finally:
                with uninterrupted("stopping the hazard lab's servers"):
                    lab.close()
                    # Sent away only when the closing has come to its end. An interruption that falls into the few
                    # instructions where it is not held back leaves the guardian to finish, as does a server that
                    # would not die.
                    guardian.dismiss()
                    guardian = None
    finally:
        if guardian is not None:
            guardian.leave()
