"""What time a PostgreSQL server has: clock_timestamp()."""

import time

from bench.servers.endpoint import Endpoint
from bench.servers.spec import ToldTime
from bench.systems.postgres_row.session import Session

_WITHIN_S = 5.0
_US = 1_000


def tell(endpoint: Endpoint) -> ToldTime:
    """Ask the server."""
    session = Session.open(endpoint, _WITHIN_S, "lockbench clock")
    try:
        asked_ns = time.time_ns()
        sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        ((microseconds,),) = session.execute(sql, within_s=_WITHIN_S)
    finally:
        session.close()
    return ToldTime(asked_ns, int(microseconds or "") * _US, _US, "clock_timestamp()")
