"""One PostgreSQL session, driven through libpq's own calls (`psycopg.pq`), every call with a deadline.

psycopg's cursors cost several times the CPU of these calls and wait without limit for a server that has gone silent;
`psycopg.pq` is the public layer below them. Waiting is a peek at the socket, so it is cooperative under gevent however
and whenever psycopg was imported. libpq's pipeline mode lets BEGIN and the statement after it travel together.
"""

import os
import select
import socket
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

from bench.servers.endpoint import Endpoint
from bench.servers.tls import with_files
from bench.systems.postgres_row import ambient

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn, PGresult

_SAME_LIMIT_S = 0.001
_WAIT_S_MAX = 2_000_000.0  # of one look at the socket: a limit of more milliseconds than an int holds is refused
NOTHING: Mapping[bytes, bytes] = {}
NO_SETTINGS: Mapping[str, str | int] = {}
# What a database or a role may have been given by its owner (ALTER … SET), and our statements lean on. What is asked
# for at the start of a session overrules that.
SETTINGS: Mapping[str, str | int] = {
    "statement_timeout": 0,
    "lock_timeout": 0,
    "idle_in_transaction_session_timeout": 0,
    "idle_session_timeout": 0,
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "default_transaction_deferrable": "off",
    "standard_conforming_strings": "on",
    "client_min_messages": "warning",
}
_TRANSACTION_TIMEOUT_SINCE = 170_000
# Asked twice, each time in a transaction of its own: a pooler may have another backend answer the second.
_WHO_ANSWERS = """SELECT pid, pg_catalog.current_setting('lockbench.session', true), extract(epoch FROM backend_start)
    FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid())"""
_LOOKS = 2
_NO_OPTIONS = "unsupported startup parameter"  # PgBouncer's word; servers know all of ours
_POOLER = (
    "a pooler (PgBouncer, pgcat, Odyssey or the like) stands between. It hands a session's locks to other clients, and "
    "hides a dead client from the server: name the server itself"
)
Command = tuple[bytes, Sequence[bytes]]  # the name of a prepared statement, and its parameters as text


class SessionLost(ConnectionError):
    """The session ended, or fell silent and was given up. The server rolls its transaction back when it notices."""


class WrongEnd(ConnectionError):
    """What answers is not what was asked for: no TLS where there must be, or a pooler. Asking again will not help."""


class StatementFailed(Exception):
    """The server refused a statement. `sqlstate` is its five-character code."""

    def __init__(self, result: "PGresult") -> None:
        super().__init__(result.get_error_message().strip())
        self.sqlstate = sqlstate(result)


class Session:
    """A connection in pipeline mode. Not shared: one caller at a time, except for `alive`, which anyone may ask."""

    def __init__(self, connection: "PGconn") -> None:
        self._pg = connection
        self.closed = False
        self.statements = 0  # so many were run by `execute`: each may have ended a transaction or changed a setting
        self.backend: tuple[str, str] = ("", "")  # process id, and when it began: ids are used again
        # A look that came while a call waits for its answer would read that answer, and the call would wait for ever.
        self._turn = threading.Lock()
        # A second descriptor of the same socket, to wait on; libpq keeps its own. Both are closed together.
        self._socket = socket.socket(fileno=os.dup(connection.socket))
        self._limit_s = -1.0  # of one wait, as the socket was last set

    @classmethod
    def open(
        cls,
        endpoint: Endpoint,
        within_s: float,
        application_name: str = "lockbench",
        settings: Mapping[str, str | int] = NO_SETTINGS,
        **parameters: str | int,
    ) -> Self:
        """Connect and log in; `settings` are the server's, for this session, and overrule `SETTINGS`; `parameters` are
        libpq's, and overrule the endpoint.

        Raises ConnectionError, with the address; WrongEnd where what answers is not the server itself, or not in TLS
        as was asked.
        """
        mark = uuid.uuid4().hex
        options = as_options({**SETTINGS, **settings, "lockbench.session": mark})
        named = {**_conninfo(endpoint), "application_name": application_name, "options": options, **parameters}
        deadline = time.monotonic() + within_s
        with ambient.unheard():
            pg = pq.PGconn.connect_start(make_conninfo("", **named).encode())
        session: Self | None = None
        proven = False
        try:
            while (step := _poll(pg)) != pq.PollingStatus.OK:
                if step == pq.PollingStatus.FAILED or pg.status == pq.ConnStatus.BAD:
                    raise _refusal(endpoint, pg.get_error_message())
                _until_ready(pg.socket, step == pq.PollingStatus.WRITING, deadline)
            pg.nonblocking = 1
            pg.enter_pipeline_mode()
            session = cls(pg)
            session._prove_direct(endpoint, mark, deadline)
            proven = True
        except TimeoutError:
            raise ConnectionError(f"PostgreSQL at {endpoint} did not let us in within {within_s:g} s") from None
        except (StatementFailed, SessionLost) as refused:
            raise ConnectionError(f"PostgreSQL at {endpoint}: {refused}") from refused
        finally:
            if not proven:
                session.close() if session is not None else pg.finish()
        return session

    def _prove_direct(self, endpoint: Endpoint, mark: str, deadline: float) -> None:
        """The backend that answers must be the one that greeted us, and have our settings: a lock is its session's.

        A pooler sends a greeting of its own. Also where it keeps one backend for each client ("session" mode) it stands
        in the way: the server then probes the pooler, and never learns that a holder behind it is dead.
        """
        if self._pg.server_version >= _TRANSACTION_TIMEOUT_SINCE:  # older ones would refuse it in the options
            self.execute("SELECT set_config('transaction_timeout', '0', false)", within_s=_left_s(deadline))
        for _ in range(_LOOKS):
            ((backend, marked, began),) = self.ask(_WHO_ANSWERS, within_s=_left_s(deadline))
            if (backend, marked) != (str(self._pg.backend_pid), mark):
                found = (
                    "another backend than the connection's own" if marked == mark else "a session without our settings"
                )
                raise WrongEnd(f"PostgreSQL at {endpoint}: {found} answers, so {_POOLER}")
            self.backend = (str(backend), str(began))

    def call(self, *commands: Command, within_s: float, prepare: Mapping[bytes, bytes] = NOTHING) -> "list[PGresult]":
        """Prepare statements (usually none), run prepared ones; all in one round trip.

        Returns one result for each, in order, failures included. Raises SessionLost, and the session is closed then.
        """
        pg = self._pg
        done = False
        # A signal's handler can raise between the taking of the turn and the block that gives it back. Nobody holds it
        # then, and a session that looks like a broken one is given up.
        if not self._turn.acquire(timeout=within_s):
            self.close()
            raise SessionLost("a call of this session was interrupted")
        try:
            for name, sql in prepare.items():
                pg.send_prepare(name, sql)
            for name, parameters in commands:
                pg.send_query_prepared(name, parameters)
            pg.pipeline_sync()
            deadline = time.monotonic() + within_s
            while pg.flush():
                _until_ready(pg.socket, True, deadline)
            # Replies of one round trip arrive together, so that most of these looks find them there. Written out: with
            # a method for each step, and the socket's limit set before each wait, a pair cost 1.5 µs of 31 µs more.
            results = []
            for _ in range(len(prepare) + len(commands)):
                if pg.is_busy():
                    self._await(deadline)
                result = pg.get_result()
                if result is None or pg.status != pq.ConnStatus.OK:  # libpq's way to say that the stream has ended
                    raise psycopg.OperationalError(pg.get_error_message())
                results.append(result)
                if pg.is_busy():
                    self._await(deadline)
                pg.get_result()  # libpq's end mark of each statement, always None
            if pg.is_busy():
                self._await(deadline)
            if pg.get_result() is None or pg.status != pq.ConnStatus.OK:  # of the synchronisation
                raise psycopg.OperationalError(pg.get_error_message())
            done = True
        except (psycopg.OperationalError, OSError) as broken:
            raise SessionLost(str(broken).strip() or f"no answer within {within_s:g} s") from broken
        finally:
            # Also when a greenlet is killed or Ctrl-C arrives in here: the stream is out of step with us then, and a
            # lock may have been granted to nobody. Closing makes the server roll back.
            if not done:
                self.close()
            self._turn.release()
        return results

    def prepare(self, statements: Mapping[bytes, bytes], within_s: float) -> None:
        """Prepare statements by name. Raises StatementFailed or SessionLost."""
        _check(self.call(within_s=within_s, prepare=statements))

    def execute(self, sql: str, *parameters: str, within_s: float) -> list[tuple[str | None, ...]]:
        """Run one statement of anybody's, which may leave something behind in the session. As `ask`."""
        self.statements += 1
        return self.ask(sql, *parameters, within_s=within_s)

    def ask(self, sql: str, *parameters: str, within_s: float) -> list[tuple[str | None, ...]]:
        """Run one statement of ours; its rows, every cell as text. Raises StatementFailed or SessionLost."""
        values = [parameter.encode() for parameter in parameters]
        _, result = _check(self.call((b"", values), within_s=within_s, prepare={b"": sql.encode()}))
        return [
            tuple(text(result.get_value(row, column)) for column in range(result.nfields))
            for row in range(result.ntuples)
        ]

    def until_notified(self, within_s: float) -> None:
        """Wait for a notification that was not seen yet, at most so long; all that have come are then seen.

        Outside a transaction only: within one the server sends none. Raises SessionLost, and the session is closed.
        """
        within_s = min(within_s, _WAIT_S_MAX)
        if not self._turn.acquire(timeout=within_s):  # as in `call`
            self.close()
            raise SessionLost("a call of this session was interrupted")
        done = False
        try:
            deadline = time.monotonic() + within_s
            while not self._notified() and (remaining_s := deadline - time.monotonic()) > 0:
                self._limit_s = remaining_s
                self._socket.settimeout(remaining_s)
                with suppress(TimeoutError):
                    self._socket.recv(1, socket.MSG_PEEK)
            done = True
        except (psycopg.OperationalError, OSError) as broken:
            raise SessionLost(str(broken).strip()) from broken
        finally:
            if not done:
                self.close()
            self._turn.release()

    def _notified(self) -> bool:
        """Has a notification come since the last look? Raises OperationalError at the end of the stream."""
        self._pg.consume_input()
        seen = False
        while self._pg.notifies() is not None:
            seen = True
        return seen

    def alive(self) -> bool:
        """Does the session still stand, as far as this machine knows? Reads what has arrived; asks nobody.

        While another thread's call is under way it is said to stand: the call itself will tell.
        """
        if not self._turn.acquire(blocking=False):
            return not self.closed
        try:
            # Twice: the first read may bring the server's last words, and only the second the end of the stream.
            self._pg.consume_input()
            self._pg.consume_input()
        except psycopg.OperationalError:
            return False
        finally:
            self._turn.release()
        return self._pg.status == pq.ConnStatus.OK

    def in_transaction(self) -> bool:
        """Is a healthy transaction open, or a call under way? From the server's last answer; asks nobody."""
        return self._pg.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.ACTIVE)

    def close(self) -> None:
        """End the session, and with it its transaction. Idempotent."""
        self.closed = True
        try:
            self._pg.finish()
        finally:  # interrupted in between, an open descriptor would keep the server's side
            self._socket.close()

    def _await(self, deadline: float) -> None:
        """Until libpq has the next result, or the end of the stream. Raises TimeoutError.

        The socket is set to how long it may wait only where that differs from the last time: a reply that is
        whole costs no such call, one that comes in pieces does.
        """
        pg = self._pg
        while pg.is_busy():
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                raise TimeoutError
            if not -_SAME_LIMIT_S < remaining_s - self._limit_s < _SAME_LIMIT_S:
                self._limit_s = remaining_s
                self._socket.settimeout(min(remaining_s, _WAIT_S_MAX))
            self._socket.recv(1, socket.MSG_PEEK)  # waits; the byte stays for libpq
            pg.consume_input()


def _left_s(deadline: float) -> float:
    """Raises TimeoutError once nothing is left: a wait of less than nothing is a mistake to whoever is asked for it."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def as_options(settings: Mapping[str, str | int]) -> str:
    """The server's settings as libpq's parameter `options` takes them."""
    return " ".join(
        f"-c {name}=" + str(value).replace("\\", "\\\\").replace(" ", "\\ ") for name, value in settings.items()
    )


def _refusal(endpoint: Endpoint, message: str) -> ConnectionError:
    said = f"PostgreSQL at {endpoint}: {message}"
    return WrongEnd(f"{said}, so {_POOLER}") if _NO_OPTIONS in message else ConnectionError(said)


def _poll(pg: "PGconn") -> int:
    with ambient.unheard():
        return pg.connect_poll()


def _conninfo(endpoint: Endpoint) -> dict[str, str | int | None]:
    """libpq's parameters for an endpoint, each of them given: none comes from elsewhere. Raises ConnectionError."""
    host, port = endpoint.addresses[0]
    options, secrets = endpoint.options, endpoint.secrets
    with_files(endpoint)
    files = {"sslrootcert": "tls_ca", "sslcert": "tls_cert", "sslkey": "tls_key"}
    return {
        **ambient.NEITHER_FILE_NOR_TICKET,
        "host": host,
        "port": port,
        "dbname": options.get("database", "lockbench"),
        "user": secrets.get("user", options.get("user", "lockbench")),
        "password": secrets.get("password"),
        "sslmode": _sslmode(endpoint),
        **{parameter: secrets[secret] for parameter, secret in files.items() if secret in secrets},
        "client_encoding": "UTF8",
    }


def _sslmode(endpoint: Endpoint) -> str:
    """With an authority of the user's own, the server's name is checked too. Raises WrongEnd for a contradiction."""
    has_authority = "tls_ca" in endpoint.secrets
    asked = endpoint.tls or any(name.startswith("tls_") for name in endpoint.secrets)
    mode = endpoint.options.get("sslmode", "verify-full" if has_authority else "require" if asked else "prefer")
    if asked and mode in ("disable", "allow", "prefer"):
        raise WrongEnd(
            f"PostgreSQL at {endpoint}: TLS was asked for, and sslmode={mode} may go without: name one of them"
        )
    if mode.startswith("verify") and not has_authority:
        raise WrongEnd(f"PostgreSQL at {endpoint}: sslmode={mode} needs an authority: set LOCKBENCH_POSTGRES_TLS_CA")
    return mode


def text(cell: bytes | None) -> str | None:
    """A cell as PostgreSQL writes it, or None for NULL."""
    return None if cell is None else cell.decode()


def failed(result: "PGresult") -> bool:
    """Did the server refuse this statement, or skip it because an earlier one of the same round trip failed?"""
    return result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


def sqlstate(result: "PGresult") -> str:
    """The five-character code of a failure; empty where there is none."""
    return (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()


def _check(results: "list[PGresult]") -> "list[PGresult]":
    for result in results:
        if failed(result):
            raise StatementFailed(result)
    return results


def _until_ready(fd: int, for_writing: bool, deadline: float) -> None:
    """Wait for a socket that is not ours to peek at yet. `poll`, since `select` ends at 1 024 descriptors."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT if for_writing else select.POLLIN)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError
