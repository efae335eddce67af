"""The private redis-servers of a run: one of them here, five for Redlock."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from redis.exceptions import InvalidResponse, RedisError

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Found, Launch, Missing, Node, NotReady, Replication, ServerSpec, ToldTime, WrongServer
from bench.servers.url import EVERY_SECRET, UrlRules
from bench.systems.identity import seen_by
from bench.systems.redis import clock, upkeep, view
from bench.systems.redis.lock import RedisLock
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.replication import Replicas
from bench.systems.redis.scripts import command
from bench.systems.redis.wire import ask, parse_info

_FSYNC_POLICIES = ("always", "everysec", "no")
_CONFIGURED_WITHIN_S = 30.0
_CONFIG_FILE = "redis.conf"
_INSTALL = "sudo apt-get install redis-server"


class RedisServers(ServerSpec):
    """One redis-server of 7 or newer, bound to loopback, keeping nothing on disk unless a variant says so."""

    name: ClassVar[str] = "redis"
    title: ClassVar[str] = "Redis"
    node_names: ClassVar[tuple[str, ...]] = ("redis",)
    debian_packages: ClassVar[tuple[str, ...]] = ("redis-server",)
    compose_services: ClassVar[tuple[str, ...]] = ("redis",)
    compose_port: ClassVar[int] = 6379
    url_rules: ClassVar[UrlRules] = UrlRules(
        schemes={"redis": False, "rediss": True},
        path="db",
        options={"db": r"\d{1,5}", "client_name": "[!-~]+"},
        secrets=EVERY_SECRET,
        nodes_max=1,
    )
    disk: ClassVar[tuple[str, ...] | None] = ("appendonlydir", "dump.rdb")

    def find(self) -> Found | Missing:
        path = shutil.which("redis-server") or shutil.which("redis-server", path=str(Path(sys.prefix) / "bin"))
        if path is None:
            return Missing("redis-server", _INSTALL)
        try:
            said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
        except (OSError, subprocess.SubprocessError) as failure:
            return Missing(f"a redis-server that runs ({failure})", _INSTALL)
        match = re.match(r"(\w+) server v=(\S+)", said)  # another product may answer to the name of redis-server
        version = (
            f"{match[1].lower()}-server {match[2]}" if match else f"redis-server, unknown version ({said.strip()})"
        )
        return Found({"redis-server": path}, version)

    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        """Write the settings to a file, not on the command line, so that `configure` can have the server rewrite it:
        a node that is killed and started again comes back as the variant it was."""
        launches = []
        for node in nodes:
            (node.directory / _CONFIG_FILE).write_text(self._settings(node, nodes), encoding="utf-8")
            # The server takes the name of its settings file for a pattern, and keeps it for rewriting the file. So it
            # is started in the node's folder, and given a name with nothing of that folder's own in it.
            inside = ("env", "-C", str(node.directory.resolve()))
            launches.append(Launch((*inside, found.programs["redis-server"], f"/proc/self/cwd/{_CONFIG_FILE}")))
        return launches

    def prove(self, node: Node, pid: int | None) -> str:
        try:
            info, directory = ask(node.host, node.port, command("INFO"), command("CONFIG", "GET", "dir"))
        except (ErrorReply, InvalidResponse) as answer:
            if isinstance(answer, ErrorReply) and answer.word == "LOADING":
                raise NotReady(f"{node.name} at {node.host}:{node.port}: {answer}") from answer
            raise WrongServer(f"{node.host}:{node.port} does not answer as {node.name} would: {answer}") from answer
        except RedisError as failure:  # nobody there, or silent
            raise NotReady(f"{node.name} at {node.host}:{node.port}: {failure}") from failure
        facts = parse_info(info)
        if facts.get("loading") != "0":
            raise NotReady(f"{node.name} at {node.host}:{node.port} is loading its data")
        if pid is not None:
            found_in = Path(os.fsdecode(directory[1]))
            if facts["process_id"] != str(pid) or found_in != node.directory.resolve():
                raise WrongServer(
                    f"{node.host}:{node.port} is a redis-server with pid {facts['process_id']} in {found_in}; "
                    f"{node.name} was started with pid {pid} in {node.directory.resolve()}"
                )
        return facts["run_id"]

    def identify(self, endpoint: Endpoint) -> str:
        return seen_by(RedisLock, endpoint)

    def configure(self, nodes: Sequence[Node], variant: Mapping[str, str]) -> None:
        """`{}`: nothing is kept. `{"durability": "always"}`: an append-only file with that `appendfsync` policy (also
        `everysec` and `no`, which is the operating system's pace). Raises NotReady when a node does not get there."""
        policy = variant.get("durability")
        if set(variant) - {"durability"} or policy not in (None, *_FSYNC_POLICIES):
            raise ValueError(
                f"{self.name} has no server variant {dict(variant)}: "
                f"use durability={'|'.join(_FSYNC_POLICIES)}, or nothing"
            )
        wanted = {"appendfsync": policy or "everysec", "appendonly": "yes" if policy else "no", "save": ""}
        sets = [command("CONFIG", "SET", name, value) for name, value in wanted.items()]
        for node in nodes:
            self._ask(node, *sets)
        for node in nodes:
            self._await_log(node, wanted)

    def replication(self) -> Replication | None:
        return Replicas(ReplicaServers())

    def tell_time(self, node: Node, log_path: Path) -> ToldTime:
        return clock.tell(node)

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        return view.read(endpoint)

    def erase(self, endpoint: Endpoint, key: str) -> str:
        return upkeep.erase(endpoint, key)

    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        return Endpoint(tuple((node.host, node.port) for node in nodes))

    def native_durability(self) -> Mapping[str, str]:
        return {"appendonly": "no", "save": ""}

    def _role(self, node: Node, nodes: Sequence[Node]) -> Mapping[str, str]:
        """Settings of a node that make it a part of its set."""
        return {}

    def _settings(self, node: Node, nodes: Sequence[Node]) -> str:
        """redis.conf: all that differs from the defaults, or is a promise of this bench that a default might change."""
        settings = {
            "bind": node.host,
            "protected-mode": "yes",
            "port": str(node.port),
            "dir": ".",  # where it was started
            "daemonize": "no",
            "maxmemory": "0",
            "maxmemory-policy": "noeviction",
            "repl-diskless-sync-delay": "0",  # a replica gets its first copy at once, not once five seconds are over
            **{name: value or '""' for name, value in self.native_durability().items()},
            **self._role(node, nodes),
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())

    def _await_log(self, node: Node, wanted: Mapping[str, str]) -> None:
        """Wait until the append-only file is what `wanted` says, then keep the settings over a restart.

        Switching it on starts a rewrite in a child process; until that ends, what is written is not yet durable.
        """
        give_up = time.monotonic() + _CONFIGURED_WITHIN_S
        enabled = "1" if wanted["appendonly"] == "yes" else "0"
        while True:
            facts = parse_info(self._ask(node, command("INFO", "persistence"))[0])
            rewriting = facts["aof_rewrite_in_progress"] != "0" or facts["aof_rewrite_scheduled"] != "0"
            if facts["aof_enabled"] == enabled and not rewriting:
                break
            if time.monotonic() >= give_up:
                raise NotReady(f"{node.name} did not switch its append-only file within {_CONFIGURED_WITHIN_S:g} s")
            time.sleep(0.01)  # pace: between two looks at the server's state, bounded by the deadline above
        if enabled == "1" and facts["aof_last_bgrewrite_status"] != "ok":
            raise NotReady(f"{node.name} could not write its append-only file in {node.directory}")
        for name, value in wanted.items():
            reported = self._ask(node, command("CONFIG", "GET", name))[0][1].decode()
            if reported != value:
                raise NotReady(f"{node.name} has {name} {reported!r} instead of {value!r}")
        if parse_info(self._ask(node, command("INFO", "server"))[0]).get("config_file"):  # a container may have none
            self._ask(node, command("CONFIG", "REWRITE"))

    def _ask(self, node: Node, *packed: bytes) -> list[Any]:
        try:
            return ask(node.host, node.port, *packed)
        except RedisError as failure:
            raise NotReady(f"{node.name} at {node.host}:{node.port}: {failure}") from failure


class ReplicaServers(RedisServers):
    """One more redis-server, to be made a replica of another. No set of any system."""

    name: ClassVar[str] = "redis-replica"
    title: ClassVar[str] = "Redis replica"
    node_names: ClassVar[tuple[str, ...]] = ("redis-replica",)
    compose_services: ClassVar[tuple[str, ...]] = ()
