"""A claim after it met the runs: the verdict, the words behind it, and the runs that show it."""

from dataclasses import dataclass
from enum import StrEnum

from bench.analysis.break_even import Reach
from bench.analysis.cells import Value
from bench.analysis.claims import Claim

EMULATED = "an emulator: its speed says nothing about the real service"


class Verdict(StrEnum):
    """What became of a claim. The last one says that no experiment of the campaign is about it.

    `CANNOT_SAY`: the interval of the runs contains an end of the claimed range; more runs may tell. `NOT_TESTABLE`: no
    number of runs would, on this machine.
    """

    HOLDS = "holds"
    FAILS = "fails"
    CONDITION = "holds here with a condition"
    CANNOT_SAY = "cannot say"
    NOT_TESTABLE = "not testable here"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One claim against one row of the tables."""

    claim: Claim
    system: str  # the row judged: the claim's system, its durable sibling, or a variant that the claim is about
    verdict: Verdict
    why: str
    measured: tuple[Value, ...]  # latency: p50 and p99 in µs; throughput: pairs/s; hazards: none, see `found`
    at_least: bool  # the measured rate is a lower bound
    evidence: tuple[str, ...]  # run ids
    found: str = ""  # of a hazard: what was counted or timed, in words; "" for a latency or a throughput
    at_most: bool = False  # the measured latencies are upper bounds
    # Of a latency: the round trips for which the claim holds, measured over networks or assumed over loopback.
    break_even: Reach | None = None
