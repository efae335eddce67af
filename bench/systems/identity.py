"""Who answers at an address, as a client of the system sees it: for servers that lockbench did not start."""

from bench.servers.endpoint import Endpoint
from bench.systems.base import ClientOptions, LockClient


def seen_by(client_class: type[LockClient], endpoint: Endpoint) -> str:
    """Version and identity, after a whole session was opened. Raises ConnectionError or RuntimeError, with the address.

    Nothing but an answer in the system's own protocol counts: a port that is open, or that another server answers on,
    is no proof.
    """
    try:
        with client_class.open(endpoint, ClientOptions()) as client:
            facts = client.server_facts()
    except (AttributeError, LookupError, TypeError, ValueError) as unread:
        # What is said in another protocol shows as whatever the reading of it stumbled over.
        raise ConnectionError(f"{endpoint} answers in another protocol ({unread})") from unread
    return f"{facts.version}, {facts.identity}"
