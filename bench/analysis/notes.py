"""What a reader must know beside a number: a cause, in the same few words wherever it occurs, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

CAUSE_WORDS = 8  # at most, so that the systems that it concerns fit beside it
OUTCOMES = "Acquires without a lock are not in percentiles; raise the timeout"
STRANGERS_OUTCOMES = "Strangers got no lock in time; raise the timeout"
SMALL_SAMPLE = "Too few operations for a percentile; measure longer"
FAILED = "Runs were left out"
DRIFT = "Runs show a trend; warm servers longer"
TWO_MODES = "Runs fall into two modes; pin processors"

# A self-check's name -> what it says where a run failed it: in a word or two for a cell, and as a note.
CHECKS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "counts_agree": ("operations lost", "Operations were lost; see log.txt, measure again"),
        "locust_agrees": ("operations lost", "Locust counted differently; see log.txt, measure again"),
        "aborted": ("operations cut off", "The longest waits were cut off; measure longer"),
        "errors": ("operations failed", "Some operations failed; see log.txt"),
        "generator_cpu": ("generator busy", "Generator-bound: a limit, not a value; add processes"),
        "client_cpu": ("client busy", "Client-bound: mostly the client's own work; see client CPU"),
        "machine_cpu": ("machine busy", "Machine-bound: a limit, not a value; add processors"),
        "loop_lag": ("generator late", "Generator late: latency is at most this; add processes"),
        "loop_stall": ("generator stood still", "Generator stood still; measure on a quieter machine"),
        "overlap": ("no overlap", "Server or library serialised concurrent calls; add servers"),
        "mutual_exclusion": ("two holders", "Two clients held one key; trust no number"),
        "lost_updates": ("updates lost", "Updates were lost; trust no number"),
        "jobs": ("jobs lost or repeated", "Jobs were overwritten, missing or repeated; trust no number"),
        "messages": ("messages used up", "Jobs found their messages consumed; raise --keys"),
        "token_order": ("tokens fell", "Tokens did not rise; do not fence with them"),
        "contention": ("clients never met", "Clients hardly met; use more clients"),
        "server_identity": ("server changed", "The server changed during the run; measure again"),
        "arrivals": ("schedule missed", "Arrivals missed their schedule; add processes"),
        "unsent": ("arrivals unsent", "Arrivals found no free client; add clients"),
        "wake": ("late wake-ups", "Clients woke late; add processes"),
        "knee": ("no knee", "Throughput was still rising; add clients"),
        "littles_law": ("time missing", "Client time is unaccounted for; see log.txt"),
        "warm_servers": ("servers warming up", "Servers were still getting faster; use a full campaign"),
        "network_delay": ("round trip not as asked", "Round trip differs; the measured one counts"),
        "network_lines": ("delay lines busy", "Delay lines bound or unsteady; use fewer clients"),
        "peer_network_delay": ("peer round trip not as asked", "Peer round trip differs; the measured one counts"),
        "peer_network_lines": ("peer lines busy", "Lines between servers bound or unsteady; measure again"),
        "steady_state": ("not steady", "Not steady; warm up or measure longer"),
        "live_session": ("live session", "Live session, changed by hand; quote planned runs"),
        "live_clients": ("clients changed", "Clients changed in number; the most is shown"),
        "live_whole": ("partly kept", "Only partly kept; see log.txt, measure again"),
    }
)

# What binds (see `bench.analysis.runs`) -> the words behind a bound.
BOUND_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "client": "client-bound",
        "generator": "generator-bound",
        "machine": "machine-bound",
        "clients": "still rising",
    }
)


@dataclass(frozen=True, slots=True)
class Note:
    """`cause` is the same for all systems that it concerns; `detail` is of this cell alone."""

    cause: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.cause} ({self.detail})" if self.detail else self.cause


def check_title(name: str) -> str:
    """A check for a cell; the name itself where an old record has one that is no more."""
    return CHECKS[name][0] if name in CHECKS else name.replace("_", " ")


def check_cause(name: str, message: str) -> str:
    """A check for a note; the record's own message where there is no check of that name any more."""
    return CHECKS[name][1] if name in CHECKS else message
