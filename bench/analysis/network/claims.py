"""What becomes of a claimed latency that was measured over networks: the round trips for which it holds, against the
network that the page names (`reach.Setting`).

    slower without any network            fails, slower than claimed: a network only adds to it
    holds for every round trip there      holds; where the 99th percentile does not stay inside, or is not carried,
                                          with that condition
    holds for none of them                fails, faster than claimed, where the claim names its network; else holds here
                                          with a condition: the round trips for which it holds
    holds for some of them                holds here with a condition: these
    both ends of the fixed cost's interval must say the same, or it is `cannot say`

So no claim fails for want of a network, and what this machine's loopback lacks decides nothing.
"""

from enum import Enum, auto

from bench.analysis.break_even import Reach
from bench.analysis.claims import Claim
from bench.analysis.judgement import EMULATED, Judgement, Verdict
from bench.analysis.metrics import metric
from bench.analysis.network.cost_model import CostModel
from bench.analysis.network.reach import Setting, all_trips, fixed_us, reach, setting_of, tail_us
from bench.analysis.speed_claims import US_PER, claimed_us

_P50 = metric("acquire_us_p50")


class _Case(Enum):
    SLOWER = auto()
    EVERYWHERE = auto()
    SOMEWHERE = auto()
    NOWHERE = auto()


def judge_over_networks(claim: Claim, model: CostModel) -> Judgement | None:
    """By the model of an acquire; None where it has no round trip, so that no network changes it."""
    trips = all_trips(model)
    if not trips:
        return None
    ends_us = claimed_us(claim)
    value_us, low_us, high_us = fixed_us(model)
    found, setting = reach(ends_us, value_us, trips), setting_of(claim)
    cases = {_case(reach(ends_us, one, trips), setting) for one in (low_us, high_us)}
    verdict, why = _verdict(model, ends_us, found, setting, cases)
    if model.emulator:
        verdict, why = Verdict.NOT_TESTABLE, EMULATED
    return Judgement(
        claim=claim,
        system=model.system,
        verdict=verdict,
        why=why,
        measured=(),
        at_least=False,
        evidence=tuple(sample.run_id for sample in model.samples),
        found=_words(value_us, trips, at_most=bool(model.bounds)),
        at_most=bool(model.bounds),
        break_even=found,
    )


def _case(found: Reach, setting: Setting) -> _Case:
    if found.high_ms < 0.0:
        return _Case.SLOWER
    if found.low_ms <= 0.0 and found.high_ms >= setting.rtt_ms:
        return _Case.EVERYWHERE
    return _Case.NOWHERE if found.low_ms > setting.rtt_ms else _Case.SOMEWHERE


def _verdict(
    model: CostModel, ends_us: tuple[float, float], found: Reach, setting: Setting, cases: set[_Case]
) -> tuple[Verdict, str]:
    there = f"{setting.words} they take up to {setting.rtt_ms:g} ms"
    if len(cases) > 1:
        if _Case.SLOWER in cases:
            return Verdict.CANNOT_SAY, "what it takes without a network is on the edge of the claimed range"
        return Verdict.CANNOT_SAY, f"for round trips of {found.words}; {there}, on the edge of that"
    (case,) = cases
    if case is _Case.SLOWER:
        return Verdict.FAILS, _P50.more_than_claimed
    if case is _Case.NOWHERE and setting.named:
        return Verdict.FAILS, f"{_P50.less_than_claimed}: it holds for round trips of {found.words}; {there}"
    if case is _Case.EVERYWHERE:
        return _with_p99(model, ends_us, setting)
    beside = f"; {there}" if setting.named or case is _Case.NOWHERE else ""
    return Verdict.CONDITION, f"for round trips of {found.words}{beside}"


def _with_p99(model: CostModel, ends_us: tuple[float, float], setting: Setting) -> tuple[Verdict, str]:
    """The median holds everywhere: what of the 99th percentile?"""
    tail = tail_us(model)
    if tail is None:
        return Verdict.CONDITION, "for the median; too few operations carry a p99"
    value_us, _, _ = fixed_us(model)
    high_ms = reach(ends_us, value_us + tail, all_trips(model)).high_ms
    if high_ms >= setting.rtt_ms:
        return Verdict.HOLDS, ""
    if high_ms < 0.0:
        return Verdict.CONDITION, "for the median; p99 is slower than claimed"
    return Verdict.CONDITION, f"for the median; p99 for round trips of {Reach(0.0, high_ms).words}"


def _words(value_us: float, trips: float, *, at_most: bool) -> str:
    count = f"{trips:.0f}" if trips == round(trips) else f"{trips:.2f}"
    most = "\u2264\u00a0" if at_most else ""
    return f"{most}{value_us / US_PER['ms']:.2g}\u00a0ms + {count}\u00a0×\u00a0RTT"
