"""A pooler between a lock and its server is refused at connect, whatever its mode: with a real PgBouncer."""

import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.servers.endpoint import Endpoint
from bench.servers.installing.apt import install
from bench.servers.running.ports import free_ports
from bench.systems.base import RELEASED, Grant, LockClient
from bench.systems.postgres_row.server import PostgresServers
from bench.systems.postgres_row.session import WrongEnd
from bench.systems.registry import SYSTEMS
from bench.systems.wait import Wait
from tests.unit.postgres_server import Server

pytestmark = pytest.mark.servers

READY_WITHIN_S = 10.0
IGNORED = "options,extra_float_digits"
# Each system of PostgreSQL: whatever it does with a session, it was promised one.
LOCKS = {name: system for name, system in SYSTEMS.items() if name.startswith("postgres")}
# Mode, connections to the server, start-up parameters that are dropped without a word.
POOLERS = {
    "a session for each client": ("session", 20, IGNORED),
    "a session for each transaction": ("transaction", 20, IGNORED),
    "one session for all": ("transaction", 1, IGNORED),
    "a session for each statement": ("statement", 20, IGNORED),
    "one that says what it drops": ("transaction", 20, "extra_float_digits"),
}


@pytest.fixture(scope="module")
def pgbouncer() -> str:
    """The program, installed where it is missing, as `lockbench servers` installs: no service of it runs."""
    install(("pgbouncer",))
    found = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
    assert found is not None
    return found


@contextmanager
def pooled(program: str, to: Endpoint, mode: str, connections: int, ignored: str) -> Iterator[Endpoint]:
    (port,), ((host, server_port),) = free_ports(1), to.addresses
    folder = Path(tempfile.mkdtemp(prefix="lockbench-test-", dir="/var/tmp"))
    account = PostgresServers().unprivileged_account()  # PgBouncer will not run as root either
    (folder / "users.txt").write_text(f'"lockbench" "{to.secrets["password"]}"\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host={host} port={server_port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {folder}/users.txt\n"
        f"pool_mode = {mode}\ndefault_pool_size = {connections}\nignore_startup_parameters = {ignored}\n"
    )
    for path in (folder, *folder.iterdir()):
        if account is not None:
            shutil.chown(path, account, pwd.getpwnam(account).pw_gid)
    process = subprocess.Popen(
        [program, str(folder / "pgbouncer.ini")], user=account, stderr=(folder / "log").open("wb")
    )
    try:
        deadline = time.monotonic() + READY_WITHIN_S
        while not listens(port):
            assert process.poll() is None, (folder / "log").read_text()
            assert time.monotonic() < deadline, "PgBouncer does not listen"
            time.sleep(0.02)  # poll: it tells nobody when it listens
        yield to.at((("127.0.0.1", port),))
    finally:
        process.terminate()
        process.wait(READY_WITHIN_S)
        shutil.rmtree(folder)


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def opened(name: str, endpoint: Endpoint) -> LockClient:
    return LOCKS[name].client_class.open(endpoint)


@pytest.mark.parametrize(("mode", "connections", "ignored"), POOLERS.values(), ids=POOLERS)
def test_no_lock_is_taken_through_a_pooler(
    server: Server, pgbouncer: str, mode: str, connections: int, ignored: str
) -> None:
    with pooled(pgbouncer, server.endpoint, mode, connections, ignored) as endpoint:
        for name in LOCKS:
            with pytest.raises(WrongEnd, match=r"a pooler \(PgBouncer.* stands between") as told:
                opened(name, endpoint)
            assert str(endpoint) in str(told.value)


@pytest.mark.parametrize("name", LOCKS)
def test_the_server_itself_is_not_mistaken_for_one(server: Server, name: str) -> None:
    with opened(name, server.endpoint) as client:
        grant = client.acquire("direct", 10_000, 0, Wait("try"))
        assert isinstance(grant, Grant), grant
        assert client.release(grant) is RELEASED


def test_servers_behind_a_pooler_are_not_said_to_be_up(server: Server, pgbouncer: str) -> None:
    pooler = pooled(pgbouncer, server.endpoint, "session", 20, IGNORED)
    with pooler as endpoint, pytest.raises(WrongEnd, match="pooler"):
        PostgresServers().identify(endpoint)
