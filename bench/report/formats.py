"""How figures are written: significant digits, ranges, thousands. Nothing is measured or decided here."""

import math
from collections.abc import Callable, Iterable, Sequence

from bench.analysis.cells import Absent, Value
from bench.analysis.claims import Claim
from bench.analysis.intervals import Estimate
from bench.analysis.notes import BOUND_WORDS
from bench.analysis.speed_claims import US_PER
from bench.records import numbers
from bench.records.numbers import MINUS

NO_BREAK = numbers.NO_BREAK
RANGE = "\u2013"  # en dash
ELLIPSIS = "\u2026"
NOTHING = "\u2014"  # em dash: the question does not arise
NOT_REPORTED = "not reported"  # by the servers


def servers(nodes: int | None) -> str:
    """How many servers, in words."""
    return f"number of servers {NOT_REPORTED}" if nodes is None else f"{nodes} server{'' if nodes == 1 else 's'}"


def significant(value: float, digits: int = 2) -> str:
    """A number with `digits` significant digits, thousands set apart, no exponents: 0.095, −1.3, 9,419."""
    if value < 0.0:
        return f"{MINUS}{significant(-value, digits)}"
    if not value:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(value)))  # digits before the point are never dropped
    rounded = round(value, decimals) or 10.0**-decimals  # may carry into the next power of ten: 0.0999 is 0.10
    decimals = max(0, digits - 1 - math.floor(math.log10(rounded)))
    return f"{rounded:,.{decimals}f}"


def whole(value: float) -> str:
    """A count, thousands set apart."""
    return f"{value:,.0f}"


def ms(value_us: float, digits: int = 2) -> str:
    """µs as ms, without the unit."""
    return significant(value_us / US_PER["ms"], digits)


def ms_value(value: Value, digits: int = 3, binds: Sequence[str] = ()) -> str:
    """An estimate in µs as ms with its bounds, or the reason why there is none; an upper bound is called so."""
    if isinstance(value, Absent):
        return value.reason
    if binds:
        # The upper end: "at most" must hold for more than the quicker half of the runs.
        return f"≤{NO_BREAK}{ms_alone(value, binds)} ({bound_words(binds)}{', two modes' if value.modes else ''})"
    if value.modes:
        return f"{ms_alone(value)} (two modes)"
    return f"{ms(value.value, digits)}{_interval(value, ms)}"


def ms_alone(value: Estimate, binds: Sequence[str] = ()) -> str:
    """An estimate in µs as ms without its bounds: both modes where there are two, since the middle is of no run.

    Of an upper bound its upper end.
    """
    if value.modes:
        return " or ".join(ms(mode, 3) for mode in value.modes)
    return ms(value.high if binds else value.value)


def rate_value(value: Value, binds: Sequence[str] = ()) -> str:
    """A rate with its bounds; a lower bound is called by what binds, and has no upper one."""
    if isinstance(value, Absent):
        return value.reason
    if value.modes and not binds:
        return f"{' or '.join(whole(mode) for mode in value.modes)} (two modes)"
    if binds:
        # The lower end: "at least" must hold for more than the better half of the runs.
        return f"≥{NO_BREAK}{whole(value.low)} ({bound_words(binds)})"
    return whole_value(value)


def bound_words(binds: Iterable[str]) -> str:
    """What binds, as words: generator-bound, still rising."""
    return ", ".join(BOUND_WORDS[word] for word in binds)


def with_range(value: Estimate, words: Callable[[float], str]) -> str:
    """An estimate in the given words, with its bounds where there is more than one run."""
    return f"{words(value.value)}{_interval(value, words)}"


def _interval(value: Estimate, words: Callable[[float], str]) -> str:
    """Bounds in brackets; nothing for a single run, nor where both ends read alike: that interval has no width."""
    low, high = words(value.low), words(value.high)
    if value.runs == 1 or low == high:
        return ""
    dash = RANGE if value.low >= 0 else " to "  # a dash beside a minus reads like neither
    return f" [{low}{dash}{high}]"


def whole_value(value: Estimate) -> str:
    """An estimate without decimals, with its bounds."""
    return with_range(value, whole)


def limit_sign(binds: Sequence[str], below: Sequence[str] = ()) -> str:
    """At most what binds a number, at least what binds the one `below` it; empty: it is no limit."""
    return "≥" if below else "≤" if binds else ""


def times_value(value: Value, digits: int = 2, binds: Sequence[str] = (), below: Sequence[str] = ()) -> str:
    """A ratio with its bounds; of what is only an upper bound it is one too, and `below` makes it a lower bound."""
    if isinstance(value, Absent):
        return value.reason
    if sign := limit_sign(binds, below):
        return f"{sign}{NO_BREAK}{significant(value.low if below else value.high, digits)}{NO_BREAK}×"
    bounds = _interval(value, lambda one: significant(one, digits))
    return f"{significant(value.value, digits)}{NO_BREAK}×{bounds}"


def claimed_range(claim: Claim) -> str:
    """A claimed range as it was made, without the unit: 0.5-2, under 1, over 1."""
    low, high = claim.low, claim.high
    if low is None and high is None:
        return NOTHING
    if high is None:
        return f"over {_claimed(low)}"
    if not low:
        return f"under {_claimed(high)}"
    return _claimed(low) if low == high else f"{_claimed(low)}{RANGE}{_claimed(high)}"


def _claimed(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{value / 1_000:g}k" if value >= 1_000 else f"{value:g}"


def counted(counts: Iterable[int], noun: str) -> str:
    """How many of something, as one figure or from least to most: 1 run, 3 runs, 2 to 6 runs; no run."""
    found = sorted(set(counts))
    if not found:
        return f"no {noun}"
    return f"{spread(found)} {noun}{'' if found == [1] else 's'}"


def spread(counts: Iterable[int]) -> str:
    """Counts as one figure or from least to most; empty where there are none."""
    found = sorted(set(counts))
    return f"{whole(found[0])} to {whole(found[-1])}" if len(found) > 1 else "".join(map(whole, found))


def low_to_high(values: Iterable[float]) -> str:
    """Numbers as one figure or from least to most: 0.5, 1.0 to 2.2."""
    found = sorted(values)
    low, high = significant(found[0]), significant(found[-1])
    return low if low == high else f"{low} to {high}"


def run_list(run_ids: Sequence[str]) -> str:
    """Run ids with the common part said once: redis-uncontended-01, -02, -03."""
    shown: list[str] = []
    before = ""
    for run_id in run_ids:
        stem, dash, tail = run_id.rpartition("-")
        shown.append(f"-{tail}" if dash and stem == before else run_id)
        before = stem
    return ", ".join(shown)


def runs_by_scenario(run_ids: Iterable[str], scenarios: Iterable[str]) -> str:
    """How many runs of each scenario, in the scenarios' order: gc-pause (12 runs), page-scenario (1 run)."""
    found = list(run_ids)
    counts = ((name, sum(run_id.startswith(f"{name}-") for run_id in found)) for name in scenarios)
    return ", ".join(f"{name} ({counted([count], 'run')})" for name, count in counts if count)
