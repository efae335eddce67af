"""docs/statistics.md: how numbers come from runs, every figure in it taken from the code or from the simulation."""

from collections.abc import Sequence
from functools import cache

from bench.analysis import coverage
from bench.analysis.break_even import PLAUSIBLE_ROUND_TRIP_MS, PLAUSIBLE_WRITE_MS
from bench.analysis.cells import STALLS_NEEDED
from bench.analysis.intervals import CAMPAIGNS_FOR_AN_INTERVAL, CONFIDENCE, RUNS_FOR_AN_INTERVAL
from bench.analysis.quantiles import FRACTIONS, UPPER_CONFIDENCE, operations_needed
from bench.records.numbers import percent
from bench.report.formats import RANGE, whole
from bench.report.writers.markdown import markdown_table as table

_GENERATED = "<!-- Written by `lockbench report --reference` from the code's own constants and simulation. -->"
_EFFECTS = {
    "normal": "log-normal",
    "skewed": "skewed beyond log-normal (gamma of shape 2)",
    "bimodal": f"two modes, {coverage.MODES_APART:g} times apart",
    "disturbed": f"one run in {1 / coverage.DISTURBED_SHARE:.0f} is {coverage.DISTURBED_TIMES:g} times slower",
}


def statistics_markdown() -> str:
    """The whole page. Runs the coverage simulation, which takes a few seconds, once in a process."""
    low, high = coverage.ACCEPTED
    return (
        "\n\n".join(
            (
                _GENERATED,
                "# How numbers come from runs",
                "## The unit is the run",
                "Operations within one run share its conditions: the same connections, the same state of the disk and "
                "of the machine. A thousand of them are not a thousand independent observations of a system. So each "
                "run gives one value (its own p99, its own rate), and statements about a system rest on those values. "
                "Histograms of one run are added before a percentile is taken; percentiles are never averaged over "
                "processes or phases, and operations of different runs are never pooled.",
                "The runs of a campaign are planned in blocks: in each block every cell runs once, in an order drawn "
                "from the campaign's seed, so that a slow hour of the machine affects all systems alike. The "
                "intervals below treat the runs of two systems as independent; what the blocks share makes the "
                "interval of a ratio too wide rather than too narrow.",
                "## When a percentile is printed",
                "Only if every run of the cell has enough operations: so many that the largest of them lies above the "
                f"true percentile with a probability of at least {percent(UPPER_CONFIDENCE, 1)}. With fewer, the "
                "percentile would be the maximum under another name, and the cell reads `n/a (n too small)`.",
                table(("Percentile", "Operations in every run"), _gates()),
                "It is the nearest rank in the run's own histogram of acquire times (`bench/analysis/runs.py`). "
                "`Cell.value` in `bench/analysis/cells.py` combines the runs and decides what is not printed. The cell "
                "says why: `void` (every run failed a self-check), `n/a (n too small)`, `n/a (1 stall)` (fewer than "
                f"{STALLS_NEEDED} stalls), `n/a (windows with 8 to 32 clients)` (other numbers of clients, other "
                "latencies), `not recorded` (the record is older than the measure). `lockbench show SYSTEM WORKLOAD` "
                "lists the runs and checks behind a cell.",
                "## Which interval",
                table(("Runs", "Of a quantile or a rate", "Of a ratio of two systems or workloads"), _bounds()),
                "If the runs of a campaign show a trend in their order, there is no interval, however many runs there "
                "are: none of them has yet reached the value they drift towards. Such a cell shows the range of its "
                "runs.",
                "Nothing is resampled: a studentised bootstrap of six runs divides by the spread of its resamples. "
                "If all runs of a resample come from one of two modes, that spread is almost zero, and the interval "
                "extends beyond every pair of runs. Dots in the figures are the runs themselves.",
                "## One campaign or several",
                "An interval from one campaign holds for that campaign on that host. What its runs share (the state of "
                "the host that day, the location on disk, the layout of memory) does not vary between them, so a "
                f"second campaign may well fall outside. With {CAMPAIGNS_FOR_AN_INTERVAL} or more campaigns of one "
                "commit, the campaign is the unit: the interval comes from the means of the campaigns' logarithms. "
                "Two campaigns show the range of their runs. `cells.csv` has both parts of the variation, `within` a "
                "campaign and `between` campaigns, as standard deviations of the logarithm (0.1 is about 10 %).",
                "## How the coverage was checked",
                f"By simulation with a known true value (`bench/analysis/coverage.py`, seed {coverage.SEED}; the test "
                "is `tests/analysis/test_coverage.py`). A simulated run has an effect shared by its operations, and "
                f"yields the sample p99 of {whole(coverage.OPERATIONS)} log-normal operations. Of intervals that "
                f"promise {percent(CONFIDENCE)}, between {percent(low)} and {percent(high)} should contain the true "
                "value.",
                table(
                    ("Interval", "Run effects", "Campaigns", "Runs", "Spread of the effects", "Covered", ""),
                    _coverage(),
                ),
                "Lines fall short for one of two reasons. A single campaign was used to estimate the value over many, "
                f"from which it differs by a spread of {percent(coverage.CAMPAIGN_EFFECT)}: measure "
                f"{CAMPAIGNS_FOR_AN_INTERVAL} campaigns. Or the host disturbed one run in ten, and many sets of runs "
                "contain no such run: look at the runs themselves (`runs.csv`, and the dots in the figures), measure "
                "again on a quiet host, and trust no interval that includes an outlier among its runs.",
                "Under skewed effects the t interval of a single quantile covers slightly less than it promises: the "
                "mean of a few skewed values is usually too low, and a run's own sample quantile lies slightly below "
                "the true one. More operations reduce that gap; more runs do not.",
                "## How a claimed figure is judged",
                "By the interval of all runs together, never by one run. If it lies below, inside or above the claimed "
                "range, that decides. If it contains an end of the range, the verdict is *cannot say*, with the number "
                "of runs that would decide it, provided that they vary like the others. A bound is an interval open on "
                "one side, so it decides only in its own direction. With two to "
                f"{RUNS_FOR_AN_INTERVAL - 1} runs, whose cells show a range, the claim is still judged by Student's "
                "interval, which is then so wide that it decides only what is far off.",
                "Over loopback a latency below the claimed range decides nothing by itself, because a network would "
                "add to it. The verdict says what it would have to add to each round trip. Within one region round "
                f"trips take up to {PLAUSIBLE_ROUND_TRIP_MS:g} ms; if that is not enough, and neither is a durable "
                f"write of up to {PLAUSIBLE_WRITE_MS:g} ms, the claim fails. Where a system was measured over "
                "networks, the verdict names the round trips for which the claim holds, as measured (see predict.md).",
                "## What cannot be distinguished",
                "Two systems are compared only within one class: the same workload with the same parameters, equally "
                "many servers from the same source, and acquires (likewise releases) that either both wait for a disk "
                "or both do not. The adapter says which answers come after a durable write and which settings decide "
                "it; the server reports how they are set. Emulators belong to no class, and neither does a number that "
                "is only a bound, whatever binds: the client, the generator, the machine, or too few clients.",
                "Within a class a group is the best remaining system and all systems whose ratio to it has an interval "
                "that contains 1. They share a letter, and a footnote gives the ratios. Being indistinguishable is not "
                "transitive, so two members of a group other than the best may well differ. Each interval stands "
                "alone: there is no correction for multiple comparisons.",
            )
        )
        + "\n"
    )


def _gates() -> list[Sequence[str]]:
    return [(f"p{fraction * 100:g}", whole(operations_needed(fraction))) for fraction in FRACTIONS.values()]


def _bounds() -> list[Sequence[str]]:
    few = "1" if RUNS_FOR_AN_INTERVAL <= 2 else f"2{RANGE}{RUNS_FOR_AN_INTERVAL - 1}"
    promised = percent(CONFIDENCE)
    return [
        ("1", "none", "none"),
        (few, "median, and the range of the runs", "ratio of the medians, and the widest range that the runs allow"),
        (
            f"{RUNS_FOR_AN_INTERVAL} and more",
            f"geometric mean, and Student's t interval of the logarithms, {promised}",
            f"ratio of the geometric means, and Welch's t interval of the logarithms, {promised}",
        ),
        (
            f"of {CAMPAIGNS_FOR_AN_INTERVAL} campaigns and more",
            "the same, of the campaigns' mean logarithms",
            "the same, of the campaigns' mean logarithms",
        ),
    ]


@cache
def _coverage() -> list[Sequence[str]]:
    return [
        (
            line.interval,
            _EFFECTS[line.effects],
            " and ".join(str(side.campaigns) for side in line.sides),
            " and ".join(str(side.runs) for side in line.sides),
            " and ".join(_spreads(side) for side in line.sides),
            f"{percent(line.share, 1)} of {whole(line.trials)}",
            _words(line),
        )
        for line in coverage.simulate()
    ]


def _spreads(side: coverage.Side) -> str:
    campaigns = f", campaigns {percent(side.campaign_effect)}" if side.campaign_effect else ""
    return f"{percent(side.effect)}{campaigns}"


def _words(line: coverage.Coverage) -> str:
    if line.accepted:
        return "as promised"
    return "**falls short**" if line.share < coverage.ACCEPTED[0] else "wider than needed"
