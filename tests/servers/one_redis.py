"""One real redis-server of a test's own, with settings of the test's own."""

import subprocess
import time
from pathlib import Path

from bench.servers.running.ports import free_ports
from bench.servers.spec import Found, Launch, Node, NotReady
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.scripts import command
from bench.systems.redis.server import RedisServers
from bench.systems.redis.wire import ask

SPEC = RedisServers()
DEADLINE_S = 20.0


class OneRedis:
    """A redis-server in a folder of any name; `settings` are lines added to its redis.conf."""

    def __init__(self, folder: Path, *settings: str) -> None:
        folder.mkdir(parents=True)
        port, bus_port = free_ports(2)
        found = SPEC.find()
        assert isinstance(found, Found), f"{found}: these tests need the real server"
        self.node = Node("redis", {"client": port}, folder)
        (self.launch,) = SPEC.prepare([self.node], found)
        with (folder / "redis.conf").open("a", encoding="utf-8") as file:
            # Else a cluster's bus is 10 000 above the port, where any client of this machine may have its own.
            file.writelines(f"{line}\n" for line in (f"cluster-port {bus_port}", *settings))
        self.start()

    def start(self) -> None:
        assert isinstance(self.launch, Launch)
        log = self.node.directory / "redis.out"
        with log.open("ab") as out:
            self.process = subprocess.Popen(self.launch.argv, stdout=out)
        give_up = time.monotonic() + DEADLINE_S
        while True:
            try:
                self.identity = SPEC.prove(self.node, self.process.pid)
                return
            except NotReady:
                assert time.monotonic() < give_up, "the server did not come up"
                assert self.process.poll() is None, log.read_text()
                time.sleep(0.01)  # pace: between two looks, bounded by the deadline

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def open(self) -> RedisLock:
        return RedisLock.open(SPEC.endpoint([self.node]))

    def say(self, *words: str) -> object:
        return ask(self.node.host, self.node.port, command(*words))[0]
