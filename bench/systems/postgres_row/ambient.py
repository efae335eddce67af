"""What PostgreSQL's programs would take from their surroundings: the environment, and files in the user's home.

None of it reaches a connection of ours or a server of ours: the endpoint alone decides. Parameters of a connection
overrule most variables, but not all: PGSERVICE is read before any of them, and PGTZ, PGDATESTYLE and PGGEQO go straight
into the start-up packet. So libpq sees none of these variables, and each file has a name where no file can be.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager

from psycopg import pq

from bench.servers.surroundings import unseen

PREFIX = "PG"  # of all of libpq's variables, and of the server's and initdb's
_NO_FILE = os.devnull + "/none"  # below something that is no folder
_KNOWN = frozenset(option.keyword.decode() for option in pq.Conninfo.get_defaults())
# libpq looks for these in the home folder where they are not given: a password, a key, and authorities to trust. A
# server that asks for Kerberos or the like is not given the user's ticket.
NEITHER_FILE_NOR_TICKET: Mapping[str, str] = {
    **dict.fromkeys(("passfile", "sslcert", "sslkey", "sslrootcert", "sslcrl"), _NO_FILE),
    **({"require_auth": "!gss,!sspi"} if "require_auth" in _KNOWN else {}),  # libpq 16 and later
    "gssencmode": "disable",  # also another round trip at every connect, for an encryption that nobody set up
}


def unheard() -> AbstractContextManager[None]:
    """Hide the variables from the calls in the block, which must not wait."""
    return unseen((PREFIX,))
