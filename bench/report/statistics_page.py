"""docs/statistics.md: how numbers come from runs, every figure in it taken from the code or from the simulation."""

from collections.abc import Sequence
from functools import cache

from bench.analysis import coverage
from bench.analysis.break_even import PLAUSIBLE_ROUND_TRIP_MS, PLAUSIBLE_WRITE_MS
from bench.analysis.intervals import CAMPAIGNS_FOR_AN_INTERVAL, CONFIDENCE, RUNS_FOR_AN_INTERVAL
from bench.analysis.quantiles import FRACTIONS, UPPER_CONFIDENCE, operations_needed
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
                "Operations within one run share its mood: the same connections, the same state of the disk and of the "
                "machine. A thousand of them are not a thousand independent looks at a system. So each run gives one "
                "value (its own p99, its own rate), and what is said about a system comes from those values. "
                "Histograms of one run are added before a percentile is asked for; percentiles are never averaged "
                "over processes or phases, and operations of different runs are never pooled.",
                "The runs of a campaign are planned in blocks: in each block every cell runs once, in an order drawn "
                "from the campaign's seed, so that a slow hour of the machine falls on all systems alike. The "
                "intervals below treat the runs of two systems as independent; what the blocks share then makes an "
                "interval of a ratio too wide rather than too narrow.",
                "## When a percentile is printed",
                "Where every run of the cell has the operations to carry it: so many that the largest of them lies "
                f"above the true percentile with a probability of at least {UPPER_CONFIDENCE:.1%}. With fewer, the "
                "percentile would be the maximum under another name, and the cell reads `n/a (n too small)`.",
                table(("Percentile", "Operations in every run"), _gates()),
                "## Which bounds",
                table(("Runs", "Of a quantile or a rate", "Of a ratio of two systems or workloads"), _bounds()),
                "Where the runs of a campaign have a trend in their order, there is no interval either, however many "
                "they are: what they drift towards, none of them has shown yet. Such a cell shows its runs' range.",
                "Nothing is resampled: a studentised bootstrap of six runs divides by the spread of its resamples. "
                "Where all runs of a resample come from one of two modes, that is next to nothing, and the bounds then "
                "lie beyond every pair of runs. Dots in the figures are the runs themselves.",
                "## One campaign, and several",
                "An interval of one campaign is of one campaign on one host. What a campaign's runs share (the day of "
                "the host, where its disk lies, how memory was laid out) is in no difference between them, so a second "
                f"campaign may well fall outside. With {CAMPAIGNS_FOR_AN_INTERVAL} campaigns of one commit or more, "
                "the campaign is the unit: the interval comes from the means of the campaigns' logarithms. Two "
                "campaigns show the range of their runs. `cells.csv` has both parts of the variation, `within` a "
                "campaign and `between` campaigns, as standard deviations of the logarithm (0.1 is about 10 %).",
                "## How the coverage was checked",
                f"By simulation with a known truth (`bench/analysis/coverage.py`, seed {coverage.SEED}; the test is "
                "`tests/analysis/test_coverage.py`). A made-up run has an effect that its operations share, and "
                f"gives the sample p99 of {whole(coverage.OPERATIONS)} log-normal operations. Of intervals that "
                f"promise {CONFIDENCE:.0%}, between {low:.0%} and {high:.0%} should contain the truth.",
                table(
                    ("Interval", "Run effects", "Campaigns", "Runs", "Spread of the effects", "Covered", ""),
                    _coverage(),
                ),
                "Lines that fall short are of two kinds. One campaign was asked for the truth of many, from which it "
                f"differs by a spread of {coverage.CAMPAIGN_EFFECT:.0%}: measure {CAMPAIGNS_FOR_AN_INTERVAL} "
                "campaigns. Or the host disturbed one run in ten, and many sets of runs show no such run: look at "
                "the runs themselves (`runs.csv`, and the dots in the figures), measure again on a quiet host, and "
                "trust no interval whose runs hold one that stands alone.",
                "Under skewed effects the t interval of a single quantile covers a little less than it promises: the "
                "mean of few skewed values is mostly too low, and a run's own sample quantile lies a little below the "
                "true one, by an amount that more runs do not lessen and more operations do.",
                "## How a claimed figure is judged",
                "On the interval of all runs together, never on one run. It lies below the claimed range, inside or "
                "above it, and that decides; or it contains an end of the range, and the verdict is *cannot say*, with "
                "the number of runs that would tell, if these vary as the others did. A bound is an interval that is "
                "open on one side, so it decides in its own direction only. With two to "
                f"{RUNS_FOR_AN_INTERVAL - 1} runs, whose cells show a range, the judging interval is Student's all the "
                "same: it is so much wider there that it decides only what is far off.",
                "Over loopback a latency below the claimed range decides nothing by itself, since a network would add "
                "to it. Told is what it would have to add to each round trip. Within one region round trips take up to "
                f"{PLAUSIBLE_ROUND_TRIP_MS:g} ms; where that is not enough, and a durable write of up to "
                f"{PLAUSIBLE_WRITE_MS:g} ms would not be either, the claim fails.",
                "## What is not told apart",
                "Two systems are compared only in one class: the same workload with the same parameters, servers from "
                "the same source, equally many of them, and acquires that both wait, or both do not wait, for a disk, "
                "and so their releases (the adapter says which answers come after a durable write and which settings "
                "decide it, the server tells how they are set). An emulator is in no "
                "class. Neither is a number that is only a bound, whatever binds: the client, the generator, the "
                "machine, or too few clients.",
                "Within a class a group is the best system left and all whose ratio to that best one has an interval "
                "that contains 1. They share a letter, and a footnote gives the ratios. Not being told apart is not "
                "transitive, so two members of a group other than the best may well differ. Each interval stands for "
                "itself: nothing is corrected for there being several.",
            )
        )
        + "\n"
    )


def _gates() -> list[Sequence[str]]:
    return [(f"p{fraction * 100:g}", whole(operations_needed(fraction))) for fraction in FRACTIONS.values()]


def _bounds() -> list[Sequence[str]]:
    few = "1" if RUNS_FOR_AN_INTERVAL <= 2 else f"2{RANGE}{RUNS_FOR_AN_INTERVAL - 1}"
    promised = f"{CONFIDENCE:.0%}"
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
            f"{line.share:.1%} of {whole(line.trials)}",
            _words(line),
        )
        for line in coverage.simulate()
    ]


def _spreads(side: coverage.Side) -> str:
    campaigns = f", campaigns {side.campaign_effect:.0%}" if side.campaign_effect else ""
    return f"{side.effect:.0%}{campaigns}"


def _words(line: coverage.Coverage) -> str:
    if line.accepted:
        return "as promised"
    return "**falls short**" if line.share < coverage.ACCEPTED[0] else "wider than needed"
