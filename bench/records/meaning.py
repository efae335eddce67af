"""What the runs of a scenario mean: the `meaning` of its file, as plain data. Stable ids are its keys, never words.

The file stands beside nothing else: who plays the scenario (`bench/hazards`) and who judges its records
(`bench/analysis`) read the same one. Functions are named here and written there: `stopped` is one of
`bench/analysis/hazards/exposure.py`, `two_holders` of `harms.py`, `protocol` of `variants.py`, a judge of `claims/`.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

LAST = 1_000  # where a scenario stands that does not say

# A function: by its name, or {name: [arguments]} of one that makes it.
Named = str | Annotated[dict[str, list[str]], Field(min_length=1, max_length=1)]


class Role(StrEnum):
    """What a scenario is to others: tables, figures and judges ask for a role, and never for a scenario's name."""

    FIRST = "first"  # the one to play first
    PAUSES = "pauses"  # the holder is stopped as a whole: what claims about pauses are judged by
    PAUSE_MAP = "pause_map"  # of these, those that measure how long two clients believed
    PAUSE_GRID = "pause_grid"  # of these, the grid of lengths from which the fit is made
    LATE_AHEAD = "late_ahead"  # a late write comes ahead of the new holder's first
    LATE_ARRIVAL = "late_arrival"  # a write that was sent in time arrives late
    CUT_OFF = "cut_off"  # the holder is cut off from the lock service
    RENEWAL = "renewal"  # the holder renews, and stalls
    PINNING = "pinning"  # somebody waits for the end of a pause
    SURVIVAL = "survival"  # it asks whether the lock outlived what was done to its servers
    RECOVERY = "recovery"  # a crash of the holder, timed until the next grant
    RECOVERY_AND_LEADER = "recovery_and_leader"  # the same, with the leader lost after it
    CLOCK_SEARCH = "clock_search"  # the smallest jump of the servers' clocks is searched for
    CLOCK_DRIFT = "clock_drift"  # the servers' clocks run fast
    SERVER_CLOCKS = "server_clocks"  # the servers' clocks jump while the holder lives
    CLIENT_CLOCKS = "client_clocks"  # a client's clock is wrong
    CLOCKS_AND_CRASH = "clocks_and_crash"  # the servers' clocks go back as the holder crashes
    SERVERS_RESTARTED = "servers_restarted"  # all servers are killed and started again
    NODE_RESTARTED = "node_restarted"  # one of several is killed and started again
    LEADER_LOST = "leader_lost"  # the server that decides is killed
    SERVER_STALLED = "server_stalled"  # a server stands still
    NODES_STOPPED = "nodes_stopped"  # some of the servers are gone or hang
    TOKEN_SOURCES = "token_sources"  # what a token is drawn from is disturbed
    TOKENS_INTERLEAVED = "tokens_interleaved"  # two clients between the raising of a counter and the lock
    RESOURCE_KINDS = "resource_kinds"  # the same late write against every kind of resource


class Meaning(BaseModel):
    """One scenario's. A scenario that says nothing is judged by two holders at once, under its own name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    fault: str = ""  # in words, as tables print it; "": the scenario's name
    line_of: str = ""  # the scenario in whose line of the verdicts its trials count, and whose words it bears
    place: int = LAST  # its order in tables
    own_table: bool = False  # about tokens, resources or rules: it has a table of its own, and no verdict
    hazard: str = "two holders"  # a value of `Hazard`: the harm it looks for
    shows: Named = "two_holders"  # how that shows in a trial
    exposed: Named = "always"  # which trials could have shown it, by their staging
    unavailable: Named = "nobody_served"  # how it shows that nobody gets the lock
    exposed_to_unavailable: Named | None = None  # which trials could have shown that; None: those exposed to the harm
    variant: Named = "alike"  # what sets lines of one fault apart
    searched: bool = (
        False  # trials are steps of a search: harm outside the exposed ones is reported as the smallest step
    )
    roles: tuple[Role, ...] = ()
    claims: dict[str, Named] = {}  # claims that are judged by its runs first of all, each with its judge
