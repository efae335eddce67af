"""How many times larger a metric of one cell is than of another, as a claim about waiting is judged by it."""

from dataclasses import dataclass

from bench.analysis import cells
from bench.analysis.cells import Absent, Cell
from bench.analysis.intervals import decisive_ratio, ratio_of_campaigns
from bench.analysis.notes import BOUND_WORDS

_WIDEST = 1_000.0  # from end to end; of two runs an interval may span more than a dozen powers of ten
_TOO_WIDE = "the runs vary too much for an interval"
_P99 = "acquire_us_p99"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Without an interval one run stands behind it. What binds a cell makes the ratio a limit."""

    centre: float
    interval: tuple[float, float] | None
    most: tuple[str, ...] = ()  # what binds the cell above the line: the ratio is at most so large
    least: tuple[str, ...] = ()  # what binds the cell below it: at least so large

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The interval that decides: open at the side to which a limit says nothing. None for one run."""
        if self.interval is None:
            return None
        return 0.0 if self.most else self.interval[0], float("inf") if self.least else self.interval[1]

    @property
    def words(self) -> str:
        """The ratio with its interval, with what makes it a limit, or with why it has no interval."""
        notes = [BOUND_WORDS[word] for word in dict.fromkeys((*self.most, *self.least))]
        text = f"{self._limit}{_factor(self._told)} ×"
        if self.interval is None:
            text += " in one run"
        elif not self._narrow:
            notes.append(_TOO_WIDE)
        elif not notes:
            text += f" [{_factor(self.interval[0])}–{_factor(self.interval[1])}]"
        return f"{text} ({', '.join(notes)})" if notes else text

    @property
    def range(self) -> str:
        """The interval alone, where it says something."""
        if self.interval is None or not self._narrow or self.most or self.least:
            return self.words
        return f"{_factor(self.interval[0])} to {_factor(self.interval[1])} ×"

    @property
    def _limit(self) -> str:
        if self.most and self.least:
            return "two limits: "
        return "at most " if self.most else "at least " if self.least else ""

    @property
    def _told(self) -> float:
        """Of a limit the end that holds for nearly all runs, as in tables."""
        if self.interval is None or not self._narrow or bool(self.most) is bool(self.least):
            return self.centre
        return self.interval[1] if self.most else self.interval[0]

    @property
    def _narrow(self) -> bool:
        return self.interval is not None and self.interval[1] <= _WIDEST * self.interval[0]


def ratio_of(above: Cell, below: Cell, metric: str) -> Ratio | None:
    """None where some run of either has no number, or one without a logarithm."""
    if not (_all_positive(above, metric) and _all_positive(below, metric)):
        return None
    sides = above.by_campaign(metric), below.by_campaign(metric)
    centre = ratio_of_campaigns(*sides).value
    return Ratio(centre, decisive_ratio(*sides), above.bounds_of(metric), below.bounds_of(metric))


def amplified(contended: Cell, alone: Cell) -> Ratio | Absent:
    """The ratio of the tables (`cells.amplification`), with what a claim is judged by; Absent where they have none."""
    value = cells.amplification(contended, alone)
    if isinstance(value, Absent):
        return value
    sides = contended.by_campaign(_P99), alone.by_campaign(_P99)
    return Ratio(value.value, decisive_ratio(*sides), contended.bounds_of(_P99), alone.bounds_of(_P99))


def why_withheld(value: Absent) -> str:
    """In the words of a sentence, not of a cell."""
    plain = value.reason.removeprefix("n/a (").removesuffix(")").replace("n too small", "too few operations")
    return f"p99 rests on {plain}" if "stall" in plain else plain


def _all_positive(cell: Cell, metric: str) -> bool:
    """All or nothing: the runs that carry a high percentile alone would flatter a slow system."""
    return bool(cell.used) and all((run.metrics.get(metric) or 0.0) > 0.0 for run in cell.used)


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 10.0 else f"{value:.2g}"
