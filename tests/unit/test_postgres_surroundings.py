"""The endpoint alone decides where a connection goes and how: no variable, no file of the home folder."""

import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg import pq

from bench.servers.endpoint import Endpoint
from bench.servers.running.settings import SettingsError, endpoint_from_url
from bench.systems.postgres_row import ambient
from bench.systems.postgres_row.server import PostgresServers
from bench.systems.postgres_row.session import Session, WrongEnd
from tests.certificates import Authority
from tests.unit.postgres_server import Server

WITHIN_S = 10.0
# What the library that is installed knows, and what its documentation names besides ("Environment Variables").
BY_LIBRARY = {option.envvar.decode() for option in pq.Conninfo.get_defaults() if option.envvar}
BY_DOCUMENTATION = {
    *("PGSERVICEFILE", "PGSYSCONFDIR", "PGLOCALEDIR", "PGREQUIRESSL", "PGDATESTYLE", "PGTZ", "PGGEQO"),
    *("PGHOSTADDR", "PGSSLNEGOTIATION", "PGSSLKEYLOGFILE", "PGOAUTHDEBUG", "PGREALM", "PGREQUIREAUTH"),
}
BY_THE_SERVER = {"PGDATA", "PGPORT", "PGDATESTYLE", "PGCLIENTENCODING", "PGTZ", "PGOPTIONS", "PG_OOM_ADJUST_FILE"}
HOSTILE = {
    "PGHOST": "nowhere.invalid",
    "PGHOSTADDR": "127.0.0.9",
    "PGPORT": "1",
    "PGSSLMODE": "verify-full",
    "PGOPTIONS": "-c nonsense=1",
    "PGTARGETSESSIONATTRS": "standby",
    "PGMAXPROTOCOLVERSION": "1.0",
    "PGREQUIREAUTH": "none",
}
VARIABLES = sorted(BY_LIBRARY | BY_DOCUMENTATION | BY_THE_SERVER)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(WITHIN_S)
        yield listening


# -- variables ---------------------------------------------------------------------------------------------------------


def settings_of_a_session(endpoint: Endpoint) -> list[str | None]:
    session = Session.open(endpoint, WITHIN_S)
    names = ("TimeZone", "DateStyle", "geqo", "client_encoding", "application_name", "search_path")
    (told,) = zip(*(session.execute(f"SHOW {name}", within_s=WITHIN_S)[0] for name in names), strict=True)
    session.close()
    return list(told)


@pytest.mark.servers
@pytest.mark.parametrize("variable", VARIABLES)
def test_no_variable_reaches_a_connection(server: Server, variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    undisturbed = settings_of_a_session(server.endpoint)
    monkeypatch.setenv(variable, HOSTILE.get(variable, "nonsense"))
    assert settings_of_a_session(server.endpoint) == undisturbed
    assert os.environ[variable] == HOSTILE.get(variable, "nonsense")  # the environment is the user's


def test_every_variable_begins_as_is_supposed() -> None:
    assert all(variable.startswith(ambient.PREFIX) for variable in VARIABLES)


def test_another_address_than_the_one_named_is_not_asked(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The original: with PGHOSTADDR set, a name that no server has was measured on this machine."""
    monkeypatch.setenv("PGHOSTADDR", "127.0.0.1")
    endpoint = Endpoint((("db.staging.invalid", listener.getsockname()[1]),))
    with pytest.raises(ConnectionError, match=r"db\.staging\.invalid"):
        Session.open(endpoint, WITHIN_S)
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_what_another_thread_hides_is_hidden_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes while it is hidden finds nothing to hide, and must not see it when the other puts it back."""
    monkeypatch.setenv("PGSERVICE", "nowhere")
    hidden, put_back, came, look = (threading.Event() for _ in range(4))
    seen: list[bool] = []

    def first() -> None:
        with ambient.unheard():
            hidden.set()
            put_back.wait(WITHIN_S)

    def second() -> None:
        with ambient.unheard():
            came.set()
            look.wait(WITHIN_S)
            seen.append("PGSERVICE" in os.environ)

    one, other = threading.Thread(target=first), threading.Thread(target=second)
    one.start()
    assert hidden.wait(WITHIN_S)
    other.start()
    came.wait(0.2)  # it does not, where it waits for its turn
    put_back.set()
    one.join(WITHIN_S)
    look.set()
    other.join(WITHIN_S)
    assert seen == [False]


def test_hiding_is_seen_by_no_other_thread_that_hides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSERVICE", "nowhere")
    seen: list[bool] = []

    def look() -> None:
        for _ in range(2_000):
            with ambient.unheard():
                seen.append("PGSERVICE" in os.environ)

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN_S)
    assert seen == [False] * 8_000
    assert os.environ["PGSERVICE"] == "nowhere"


@pytest.mark.servers
def test_servers_of_ours_start_whatever_is_set() -> None:
    """initdb, the server, and what proves and settles it; all variables at once."""
    variables = {name: HOSTILE.get(name, "nonsense") for name in VARIABLES}
    up = "import tempfile, pathlib, signal; from tests.unit.postgres_server import Server;"
    up += "folder = pathlib.Path(tempfile.mkdtemp(prefix='lockbench-test-', dir='/var/tmp'));"
    up += "server = Server(folder); server.end(signal.SIGINT); print('was up'); import shutil; shutil.rmtree(folder)"
    done = subprocess.run(
        [sys.executable, "-c", up],
        env={**os.environ, **variables},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout == "was up\n", done.stderr


# -- files of the home folder ------------------------------------------------------------------------------------------

HOME_FILES = (
    ".pgpass",
    ".pg_service.conf",
    ".postgresql/root.crt",
    ".postgresql/root.crl",
    ".postgresql/postgresql.crt",
)


@pytest.mark.servers
def test_no_file_of_the_home_folder_is_read(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A password that stands in ~/.pgpass lets nobody in; a broken certificate keeps nobody out."""
    (tmp_path / ".postgresql").mkdir()
    for name in HOME_FILES:
        (tmp_path / name).write_text("broken")
    (tmp_path / ".pgpass").write_text(f"*:*:*:*:{server.endpoint.secrets['password']}\n")
    (tmp_path / ".pgpass").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / ".pgpass"))
    Session.open(server.endpoint, WITHIN_S).close()
    no_password = Endpoint(server.endpoint.addresses, server.endpoint.options)
    with pytest.raises(ConnectionError, match="no password"):
        Session.open(no_password, WITHIN_S)


# -- TLS ---------------------------------------------------------------------------------------------------------------

SSL_REQUEST = struct.pack("!ii", 8, 80877103)
CA, PAIR = {"tls_ca"}, {"tls_cert", "tls_key"}
ASKED = {
    "an authority": ("", CA),
    "a certificate": ("", PAIR),
    "all three": ("", CA | PAIR),
    "sslmode=require": ("?sslmode=require", set[str]()),
    "sslmode=require and a certificate": ("?sslmode=require", PAIR),
    "sslmode=require and an authority": ("?sslmode=require", CA),
    "sslmode=verify-ca": ("?sslmode=verify-ca", CA),
    "sslmode=verify-full": ("?sslmode=verify-full", CA | PAIR),
}
CONTRADICTIONS = {
    f"sslmode={mode} and {' and '.join(sorted(files))}": (f"?sslmode={mode}", files)
    for mode in ("disable", "allow", "prefer")
    for files in (CA, PAIR, CA | PAIR)
}
CONTRADICTIONS |= {
    f"sslmode={mode} without an authority": (f"?sslmode={mode}", files)
    for mode in ("verify-ca", "verify-full")
    for files in (set[str](), PAIR)
}


def endpoint_of(listening: socket.socket, query: str, files: set[str], folder: Path, scheme: str) -> Endpoint:
    environment = {"LOCKBENCH_POSTGRES_PASSWORD": "hunter2", "LOCKBENCH_POSTGRES_USER": "someone"}
    file = Authority(folder).sign("client").both if files else folder
    for name in files:
        file.chmod(0o600)
        environment[f"LOCKBENCH_POSTGRES_{name.upper()}"] = str(file)
    url = f"{scheme}127.0.0.1:{listening.getsockname()[1]}/db{query}"
    return endpoint_from_url("postgres", url, PostgresServers.url_rules, environment)


@pytest.mark.parametrize("scheme", ["postgres://", "postgresql://", ""])
@pytest.mark.parametrize(("query", "files"), ASKED.values(), ids=ASKED)
def test_where_tls_was_asked_for_nothing_is_sent_in_the_clear(
    listener: socket.socket, tmp_path: Path, query: str, files: set[str], scheme: str
) -> None:
    """A server that speaks no TLS hears that it is asked for, and not another byte."""
    heard = bytearray()

    def answer() -> None:
        client, _ = listener.accept()
        with client:
            client.settimeout(WITHIN_S)
            heard.extend(client.recv(len(SSL_REQUEST)))
            client.sendall(b"N")
            while more := client.recv(1024):
                heard.extend(more)

    serving = threading.Thread(target=answer)
    serving.start()
    with pytest.raises(ConnectionError):
        Session.open(endpoint_of(listener, query, files, tmp_path, scheme), WITHIN_S)
    serving.join(WITHIN_S)
    assert bytes(heard) == SSL_REQUEST


@pytest.mark.parametrize(("query", "files"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_by_name_before_anything_is_sent(
    listener: socket.socket, tmp_path: Path, query: str, files: set[str]
) -> None:
    with pytest.raises(WrongEnd, match=query.removeprefix("?")):
        Session.open(endpoint_of(listener, query, files, tmp_path, "postgres://"), WITHIN_S)
    listener.settimeout(0)
    with pytest.raises(BlockingIOError):
        listener.accept()


UNKNOWN = (
    *("postgres+ssl://h:1/d", "redis://h:1/d", "https://h:1/d", "postgres://h:1/a/b", "postgres://h:1/d?sslmode=on"),
    *("postgres://h:1/d?ssl=true", "postgres://h:1/d?host=other", "postgres://h:1/d?hostaddr=127.0.0.1"),
    *("postgres://h:1/d?options=-csearch_path%3Dx", "postgres://h:1/d?connect_timeout=3", "postgres://h:1/d#x"),
    *("postgres://h:1/d?target_session_attrs=any", "postgres://h:1,i:1/d", "postgres://h:1/d?database=e"),
    *("postgres://h:1/d?sslrootcert=/ca", "postgres://h:1/d?sslmode=require&sslmode=disable", "postgres://h/d"),
    *("postgres://h:1/d?application_name=x", "postgres://h:1/d?service=x", "postgres://h:1/?sslmode="),
)


@pytest.mark.parametrize("url", UNKNOWN)
def test_a_part_that_would_be_ignored_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="LOCKBENCH_POSTGRES_URL"):
        endpoint_from_url("postgres", url, PostgresServers.url_rules, {})
