"""Open a lock's session: who notices a dead peer, and when; the guard of the fence; the prepared statements."""

from collections.abc import Mapping
from typing import NamedTuple

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions
from bench.systems.postgres_row.schema import create_schema
from bench.systems.postgres_row.session import Session, StatementFailed
from bench.systems.postgres_row.transaction import LIMIT_MS_MAX

_PROBES_WITHIN_S_MAX = 60_000  # Linux refuses a keepalive of more than 32 767 s, half of what is asked
_ABLE = "SELECT pg_is_in_recovery(), has_function_privilege('pg_terminate_backend(integer, bigint)', 'EXECUTE')"
_NOT_THERE = ("3F000", "42P01", "42883")  # no such schema, table, function


def connect(
    endpoint: Endpoint, options: ClientOptions, statements: Mapping[bytes, bytes], instead_of: Session | None = None
) -> Session:
    """Open a session ready to lock; makes the schema where it is missing. Raises ConnectionError, with the address.

    It takes the place of a client's last session, which may hold something yet: that is closed, and its end proven.

    A client whose cable is pulled says no goodbye. Both ends therefore probe an idle connection and give it up after
    about one TTL (the system's own default is two hours), and the server looks after clients that wait in its queue.
    The client gives up one probe earlier: by the time that the row can be another's, it has been notified.
    """
    if instead_of is not None:
        instead_of.close()
    call_s, server_side, probes = options.call_timeout_ms / 1000, server_settings(options), _probes(options.ttl_ms)
    session = Session.open(
        endpoint,
        call_s,
        keepalives_idle=probes.idle_s,
        keepalives_interval=probes.interval_s,
        keepalives_count=probes.unanswered,
        tcp_user_timeout=probes.give_up_after_s * 1000,
        settings=server_side,
    )
    ready = False
    try:
        try:
            _make_ready(session, statements, call_s)
        except StatementFailed as missing:
            if missing.sqlstate not in _NOT_THERE:
                raise
            create_schema(session, call_s)
            _make_ready(session, statements, call_s)
        if instead_of is not None:
            _end_backend(session, instead_of, call_s)
        ready = True
    except (StatementFailed, ConnectionError) as refused:
        raise ConnectionError(f"PostgreSQL at {endpoint}: {refused}") from refused
    finally:
        if not ready:
            session.close()
    return session


def _make_ready(session: Session, statements: Mapping[bytes, bytes], within_s: float) -> None:
    ((standby, may_end_sessions),) = session.execute(_ABLE, within_s=within_s)
    if standby == "t":
        raise ConnectionError("this server is a standby, which cannot lock: name the primary")
    if may_end_sessions != "t":
        raise ConnectionError("permission denied for function pg_terminate_backend, by which a lost reply is settled")
    session.execute("SELECT lockbench.guard_fence()", within_s=within_s)
    session.prepare(statements, within_s)


def server_settings(options: ClientOptions) -> dict[str, int | str]:
    """What the server learns about this session: how it finds a dead peer, and the bound of one statement."""
    probes = _probes(options.ttl_ms)
    # A lease of a sort: the server ends a holder that has said nothing for a TTL, by its own clock.
    idle = options.variant.get("idle_timeout", "off")
    if idle not in ("off", "on"):
        raise ValueError(f"idle_timeout is {idle!r}: it is off or on")
    return {
        **({"idle_in_transaction_session_timeout": min(options.ttl_ms, LIMIT_MS_MAX)} if idle == "on" else {}),
        "tcp_keepalives_idle": probes.idle_s,
        "tcp_keepalives_interval": probes.interval_s,
        "tcp_keepalives_count": probes.unanswered + 1,
        # Half a probe more than the client, so that no rounding decides: the server's last probe is one after its last.
        "tcp_user_timeout": probes.give_up_after_s * 1000 + probes.interval_s * 500,
        "client_connection_check_interval": 1000,
        "statement_timeout": min(options.call_timeout_ms, LIMIT_MS_MAX),
        "search_path": "pg_catalog",  # nobody's functions come before those that we name
    }


class _Probes(NamedTuple):
    """How the client's end probes a silent peer. Where Linux has a TCP_USER_TIMEOUT, that decides instead of the count:
    the peer is given up at the first probe's turn that comes so long after its last sign of life."""

    idle_s: int
    interval_s: int
    unanswered: int

    @property
    def give_up_after_s(self) -> int:
        return self.idle_s + self.interval_s * self.unanswered


def _probes(ttl_ms: int) -> _Probes:
    """Whole seconds, as the options take them: the client has given up 2 s after its peer fell silent at the earliest,
    and about a TTL after where that is longer."""
    ttl_s = -(-ttl_ms // 1000)
    ttl_s = min(ttl_s, _PROBES_WITHIN_S_MAX)
    idle_s, interval_s = max(1, ttl_s // 2), max(1, ttl_s // 4)
    return _Probes(idle_s, interval_s, max(1, -(-(ttl_s - idle_s) // interval_s)))


def _end_backend(session: Session, gone: Session, within_s: float) -> None:
    """Through `session`, end the server's side of a session that we closed. Raises ConnectionError if it goes on.

    It leaves `pg_stat_activity` after it has rolled back, so "not there" means that its locks are free.
    """
    rows = session.ask(
        "SELECT pg_terminate_backend(pid, $3::bigint) FROM pg_stat_activity "
        "WHERE pid = $1::int AND extract(epoch FROM backend_start) = $2::numeric",
        *gone.backend,
        str(int(within_s * 1000 / 2)),
        within_s=within_s,
    )
    if any(ended != "t" for (ended,) in rows):
        raise ConnectionError("the server did not end this client's last session")
