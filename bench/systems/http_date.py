"""What time a server has that speaks HTTP: the Date of its replies, in whole seconds."""

import time
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException

from bench.servers.spec import Node

WITHIN_S = 5.0
SECOND_NS = 1_000_000_000


def date_header(node: Node) -> tuple[int, int]:
    """When it was asked, on this machine's wall clock, and the date that it answered, both in ns.

    Raises OSError or ValueError where it tells none.
    """
    connection = HTTPConnection(node.host, node.port, timeout=WITHIN_S)
    try:
        asked_ns = time.time_ns()
        connection.request("GET", "/")
        response = connection.getresponse()
    except HTTPException as failed:
        raise ValueError(str(failed)) from failed
    finally:
        connection.close()
    date = parsedate_to_datetime(response.headers.get("Date", ""))
    return asked_ns, int(date.timestamp()) * SECOND_NS
