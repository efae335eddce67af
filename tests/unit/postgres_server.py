"""One PostgreSQL of a test's own, which can be killed and started again on what it left."""

import signal
import subprocess
import time
from pathlib import Path

from bench.servers.endpoint import Endpoint
from bench.servers.process import start
from bench.servers.running.accounts import hand_over
from bench.servers.running.ports import free_ports
from bench.servers.running.readiness import until_ready
from bench.servers.spec import Found, Node
from bench.systems.postgres_row.server import PostgresServers

READY_WITHIN_S = 30.0


class Server:
    """One PostgreSQL on folders of its own, which can be killed and started again on what it left."""

    def __init__(self, folder: Path) -> None:
        self.spec = PostgresServers()
        found = self.spec.find()
        assert isinstance(found, Found), f"install what this test needs: {found}"
        self._folder, self._found = folder, found
        self._node = Node("postgres", {"client": free_ports(1)[0]}, folder / "data")
        self._node.directory.mkdir()
        hand_over((folder, self._node.directory), self.spec.unprivileged_account())
        self.start()

    def start(self) -> None:
        (launch,) = self.spec.prepare([self._node], self._found)
        deadline, log = time.monotonic() + READY_WITHIN_S, self._folder / "log"
        self._process: subprocess.Popen[bytes] = start(launch, self._folder / "pid", log)
        until_ready(lambda: self.spec.prove(self._node, self._process.pid), deadline, "PostgreSQL", self._process, log)
        until_ready(lambda: self.spec.settle([self._node]), deadline, "PostgreSQL", self._process, log)

    @property
    def endpoint(self) -> Endpoint:
        return self.spec.endpoint([self._node])

    def end(self, by: signal.Signals) -> None:
        """SIGKILL: a crash, nothing more is written; SIGINT: an orderly stop."""
        self._process.send_signal(by)
        self._process.wait(READY_WITHIN_S)
