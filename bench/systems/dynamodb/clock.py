"""What time an engine of the DynamoDB API has: the Date of its replies."""

import time

from bench.servers.spec import Node, ToldTime
from bench.systems.http_date import SECOND_NS, WITHIN_S, date_header


def tell(node: Node) -> ToldTime:
    """Node.js makes the header once a second and keeps it: wait for the next, which was made after we began to ask."""
    first_asked_ns, first = date_header(node)
    give_up = time.monotonic() + WITHIN_S
    while True:
        time.sleep(0.01)  # pace: between two looks, bounded by the deadline
        _, date = date_header(node)
        if date != first:
            return ToldTime(first_asked_ns, date, SECOND_NS, "the engine's HTTP Date")
        if time.monotonic() >= give_up:
            raise TimeoutError(f"the same Date for {WITHIN_S:g} s")
