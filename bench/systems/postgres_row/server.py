"""The bench's own PostgreSQL server: found, initialised, proven, reached."""

import os
import pwd
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.running.accounts import closed_to, remedy
from bench.servers.spec import Found, Launch, Missing, Node, NotReady, ServerSpec, ToldTime, WrongServer
from bench.servers.surroundings import environment_without
from bench.servers.url import EVERY_SECRET, Secret, UrlRules
from bench.systems.postgres_row import ambient, clock, upkeep, view
from bench.systems.postgres_row.facts import identity, server_facts
from bench.systems.postgres_row.schema import create_schema
from bench.systems.postgres_row.session import Session, SessionLost, StatementFailed, WrongEnd

VERSION_OLDEST = 15
ACCOUNT = "postgres"  # the package's own user: PostgreSQL refuses to run as root
DATABASE = USER = "lockbench"
DURABILITY: Mapping[str, str] = {"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}
SETTINGS: Mapping[str, str] = {
    **DURABILITY,
    "max_connections": "300",
    "shared_buffers": "128MB",
    "unix_socket_directories": "",  # TCP only: every system is reached alike
}
_CALL_S = 5.0
_INITDB_WITHIN_S = 60.0
_ORPHANS_WITHIN_S = 10.0
# What libpq says when the port is served by something else, or by a PostgreSQL that is not ours.
_STRANGERS = (
    "authentication failed",
    "received invalid response",
    "expected authentication request",
    "does not exist",
    "does not support SSL",
    "certificate",  # its own, ours, or the name in it
)


class PostgresServers(ServerSpec):
    """One PostgreSQL server, each release durable. Reached by password, also on loopback: other users are there too."""

    name: ClassVar[str] = "postgres"
    title: ClassVar[str] = "PostgreSQL"
    node_names: ClassVar[tuple[str, ...]] = ("postgres",)
    debian_packages: ClassVar[tuple[str, ...]] = ("postgresql",)
    why_no_empty_disk: ClassVar[str] = "a PostgreSQL without its data is another database, with another password"
    compose_services: ClassVar[tuple[str, ...]] = ("postgres",)
    compose_port: ClassVar[int] = 5432
    url_rules: ClassVar[UrlRules] = UrlRules(
        schemes={"postgres": None, "postgresql": None},
        path="database",
        options={"database": "[^/]+", "sslmode": "disable|allow|prefer|require|verify-ca|verify-full"},
        secrets=EVERY_SECRET,
        key_is_private=True,  # libpq's own rule
        nodes_max=1,
    )
    compose_secrets: ClassVar[frozenset[Secret]] = frozenset({"password"})
    program_variable: ClassVar[str] = "LOCKBENCH_POSTGRES_BIN"
    stop_signal: ClassVar[str] = "SIGINT"  # "fast" shutdown: SIGTERM would wait for every client to go

    def find(self) -> Found | Missing:
        install = "sudo apt-get install postgresql"
        if os.geteuid() == 0 and self.unprivileged_account() is None:
            return Missing(f"an account named {ACCOUNT} (PostgreSQL refuses to run as root)", install)
        best: tuple[int, str, Path] | None = None
        for folder in _folders():
            version = _version(folder)
            if version is not None and (best is None or version[0] > best[0]):
                best = (*version, folder)
        if best is None or best[0] < VERSION_OLDEST:
            older = "" if best is None else f" (found {best[1]} in {best[2]})"
            return Missing(f"PostgreSQL {VERSION_OLDEST} or newer, server programs included{older}", install)
        return Found({program: str(best[2] / program) for program in ("postgres", "initdb")}, best[1])

    def unprivileged_account(self) -> str | None:
        return ACCOUNT if os.geteuid() == 0 and any(entry.pw_name == ACCOUNT for entry in pwd.getpwall()) else None

    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        (node,) = nodes
        account = self.unprivileged_account()
        for program in found.programs.values():
            if account is not None and (closed := closed_to(account, Path(program))) is not None:
                raise LockbenchError(f"{self.title} runs as {account}, {remedy(closed)}")
        if _cluster(node).exists():
            _wait_for_orphans(node)
        else:
            self._initialise(node, found.programs["initdb"])
        settings = {**SETTINGS, "listen_addresses": node.host, "port": str(node.port)}
        if _has_statistics(Path(found.programs["postgres"])):
            settings["shared_preload_libraries"] = "pg_stat_statements"
        flags = (part for name, value in settings.items() for part in ("-c", f"{name}={value}"))
        argv = (found.programs["postgres"], "-D", str(_cluster(node)), *flags)
        return [Launch(argv, env={"LC_ALL": "C", "TZ": "UTC"}, run_as=account, hidden=(ambient.PREFIX,))]

    def _initialise(self, node: Node, initdb: str) -> None:
        """Make a new cluster beside its place, then move it there: one that a crash left half made is never started."""
        account = self.unprivileged_account()
        fresh, password = _cluster(node).with_name("cluster.new"), _password_file(node)
        shutil.rmtree(fresh, ignore_errors=True)
        password.unlink(missing_ok=True)
        with os.fdopen(os.open(password, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24))
        fresh.mkdir(mode=0o700)
        if account is not None:
            for path in (password, fresh):
                shutil.chown(path, account, pwd.getpwnam(account).pw_gid)
        argv = [initdb, "-D", str(fresh), f"--username={USER}", "--auth=scram-sha-256", f"--pwfile={password}"]
        done = subprocess.run(
            [*argv, "--encoding=UTF8", "--no-locale", "--no-instructions"],
            cwd=node.directory,
            env=environment_without((ambient.PREFIX,)),
            capture_output=True,
            text=True,
            timeout=_INITDB_WITHIN_S,
            check=False,
            user=account,
            group=account and pwd.getpwnam(account).pw_gid,
            extra_groups=None if account is None else [],
        )
        if done.returncode != 0:
            raise LockbenchError(f"initdb could not make a database cluster in {node.directory}: {done.stderr.strip()}")
        fresh.rename(_cluster(node))

    def prove(self, node: Node, pid: int | None) -> str:
        session = self._open(node, "postgres")
        try:
            if pid is not None:
                ((folder,),) = session.execute("SHOW data_directory", within_s=_CALL_S)
                lock_file = _cluster(node) / "postmaster.pid"
                if folder is None or not _cluster(node).exists() or not _cluster(node).samefile(folder):
                    raise WrongServer(f"the PostgreSQL at {node.host}:{node.port} keeps its data in {folder}")
                if (first := lock_file.read_text().partition("\n")[0]) != str(pid):
                    raise WrongServer(f"the PostgreSQL at {node.host}:{node.port} is process {first}, not {pid}")
            return identity(session, _CALL_S)
        except (SessionLost, FileNotFoundError) as gone:
            raise NotReady(str(gone)) from gone
        finally:
            session.close()

    def identify(self, endpoint: Endpoint) -> str:
        session = Session.open(endpoint, _CALL_S, application_name="lockbench servers")
        try:
            facts = server_facts(session, _CALL_S)
            return f"{facts.version}, {facts.identity}"
        except (SessionLost, StatementFailed) as refused:
            raise ConnectionError(f"PostgreSQL at {endpoint}: {refused}") from refused
        finally:
            session.close()

    def settle(self, nodes: Sequence[Node]) -> None:
        """Make database and schema. Runs alone: the supervisor is exclusive."""
        (node,) = nodes
        session = self._open(node, "postgres")
        try:
            if not session.execute("SELECT FROM pg_database WHERE datname = $1", DATABASE, within_s=_CALL_S):
                session.execute(f"CREATE DATABASE {DATABASE}", within_s=_INITDB_WITHIN_S)
            session.close()
            session = self._open(node, DATABASE)
            create_schema(session, _CALL_S)
            session.execute("SELECT lockbench.guard_fence()", within_s=_CALL_S)
            if session.execute("SHOW shared_preload_libraries", within_s=_CALL_S) == [("pg_stat_statements",)]:
                session.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements", within_s=_CALL_S)
        except SessionLost as gone:
            raise NotReady(str(gone)) from gone
        except StatementFailed as refused:
            raise LockbenchError(f"{self.title} at {node.host}:{node.port} cannot be set up: {refused}") from refused
        finally:
            session.close()

    def _open(self, node: Node, database: str) -> Session:
        endpoint = self.endpoint([node])
        try:
            return Session.open(endpoint, _CALL_S, application_name="lockbench servers", dbname=database)
        except ConnectionError as refused:
            if isinstance(refused, WrongEnd) or any(sign in str(refused) for sign in _STRANGERS):
                raise WrongServer(str(refused)) from refused
            raise NotReady(str(refused)) from refused

    def tell_time(self, node: Node, log_path: Path) -> ToldTime:
        return clock.tell(self.endpoint([node]))

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        return view.read(endpoint)

    def erase(self, endpoint: Endpoint, key: str) -> str:
        return upkeep.erase(endpoint, key)

    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        (node,) = nodes
        kept = _password_file(node)
        # A container is given its password by docker-compose.yml, from the same variable.
        password = kept.read_text() if kept.is_file() else os.environ.get("LOCKBENCH_POSTGRES_PASSWORD", "lockbench")
        options = {"database": DATABASE, "user": USER, "sslmode": "disable"}
        return Endpoint(((node.host, node.port),), options, {"password": password})

    def native_durability(self) -> Mapping[str, str]:
        return DURABILITY


def _cluster(node: Node) -> Path:
    return node.directory / "cluster"


def _password_file(node: Node) -> Path:
    return node.directory / "password"


def _wait_for_orphans(node: Node) -> None:
    """After a server was killed, wait until its children have noticed and ended.

    They keep its shared memory until then, and a new server refuses to start while anybody has that.
    """
    lock_file, segments = _cluster(node) / "postmaster.pid", Path("/proc/sysvipc/shm")
    if not lock_file.exists() or not segments.exists():
        return
    lines = lock_file.read_text().splitlines()
    segment = lines[6].split()[1] if len(lines) > 6 else ""  # the line names key and id of the shared memory
    deadline = time.monotonic() + _ORPHANS_WITHIN_S
    while time.monotonic() < deadline:
        rows = [line.split() for line in segments.read_text().splitlines()[1:]]
        if not any(row[1] == segment and int(row[6]) > 0 for row in rows):
            return
        time.sleep(0.02)  # poll: they are not our children, and the kernel tells nobody when a segment is let go


def _folders() -> Iterator[Path]:
    """Where server programs may be: as named, else Debian's versions, what is in the path, this environment's."""
    named = os.environ.get(PostgresServers.program_variable)
    if named:
        yield Path(named)
        return
    yield from Path("/usr/lib/postgresql").glob("*/bin")
    on_path = shutil.which("postgres")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    if shutil.which("pg_config") is not None:
        asked = subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True, timeout=10, check=False)
        yield Path(asked.stdout.strip())
    yield Path(sys.prefix) / "bin"


def _version(folder: Path) -> tuple[int, str] | None:
    """Major and full version of the server in a folder; None where there is none that this machine can run."""
    if not all(os.access(folder / program, os.X_OK) for program in ("postgres", "initdb")):
        return None
    asked = subprocess.run(
        [str(folder / "postgres"), "--version"], capture_output=True, text=True, timeout=10, check=False
    )
    match = re.search(r"\(PostgreSQL\) ((\d+)\S*)", asked.stdout)
    return None if match is None else (int(match[2]), match[1])


def _has_statistics(postgres: Path) -> bool:
    """Is pg_stat_statements installed with this server? In Debian's layout, and in conda's."""
    root = postgres.resolve().parent.parent
    return any((root / place / "pg_stat_statements.so").exists() for place in ("lib", "lib/postgresql"))
