"""What an operator can do to one lock's row, past the adapter."""

from bench.servers.endpoint import Endpoint
from bench.systems.postgres_row.session import Session, SessionLost, StatementFailed

_WITHIN_S = 5.0


def erase(endpoint: Endpoint, key: str) -> str:
    """Delete the row. The sequence stays: it is no lock's own, but all locks' together. Raises ConnectionError."""
    session = Session.open(endpoint, _WITHIN_S, application_name="lockbench operator")
    try:
        delete = "WITH gone AS (DELETE FROM lockbench.locks WHERE key = $1 RETURNING key) SELECT count(*) FROM gone"
        ((count,),) = session.execute(delete, key, within_s=_WITHIN_S)
    except (SessionLost, StatementFailed) as failed:
        raise ConnectionError(f"PostgreSQL at {endpoint} did not delete the row of {key!r}: {failed}") from failed
    finally:
        session.close()
    return f"deleted {count} rows of lockbench.locks"
