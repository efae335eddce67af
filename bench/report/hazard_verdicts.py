"""The verdicts of a hazard campaign as a table: faults down, systems across."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.hazards.counts import CONFIDENCE, Count
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.analysis.hazards.window import WindowFit
from bench.report import formats
from bench.report.formats import NO_BREAK, NOTHING
from bench.report.machine import cores

# What each word means; its order is that of harm.
MEANINGS: Mapping[HazardVerdict, str] = {
    HazardVerdict.SAFE: "the harm, with most faults two holders at once, was never observed",
    HazardVerdict.WITH_FENCING: "two clients held the lock; with the fence on, every late write was refused",
    HazardVerdict.UNSAFE: "the harm was observed, and no fence helped, or none was tried",
    HazardVerdict.UNAVAILABLE: "nobody got the lock, or not within a lease",
    HazardVerdict.NOT_MEASURED: "no trial could have shown the harm",
}
NOT_SEEN = "not seen"  # instead of `safe`, where so few runs looked that the word would promise too much
HELD = "fence held so far"  # instead of `safe only with fencing`, for the same reason
FEW_MEANINGS = {
    NOT_SEEN: "never observed, but in too few runs to call it safe",
    HELD: "two clients held the lock; a fence refused every late write, in too few runs to rely on it",
}
COUNTED = "Counts are trials that showed the harm, of those that could have."
REASONS_HEADER = ("Fault", "System", "Verdict", "Shown", "Late accepted, fence off", "Fence on", "Why", "Runs")
WINDOW_HEADER = ("System", "Pauses beyond the TTL", "Slope", "Median off the line, ms", "In TTLs", "Why it is off")


@dataclass(frozen=True, slots=True)
class Block:
    """Some systems side by side. `cells` by fault and system; a pair that was not tried has none."""

    systems: tuple[str, ...]
    faults: tuple[str, ...]
    cells: Mapping[tuple[str, str], FaultVerdict]


def blocks(hazards: HazardEvidence) -> tuple[Block, ...]:
    """The headline systems, and then the variants that were tried as well."""
    tried = sorted({one.system for one in hazards.verdicts}, key=lambda name: (names.position(name), name))
    headline = [name for name in tried if name in names.headline()]
    variants = [name for name in tried if name not in names.headline()]
    return tuple(_block(hazards, systems) for systems in (headline, variants) if systems)


def _block(hazards: HazardEvidence, systems: Sequence[str]) -> Block:
    found = [one for one in hazards.verdicts if one.system in systems]
    return Block(
        systems=tuple(systems),
        faults=tuple(dict.fromkeys(one.fault for one in found)),
        cells={(one.fault, one.system): one for one in found},
    )


def count_words(one: FaultVerdict) -> str:
    """How many trials are behind a verdict: those that showed the harm, of those that could."""
    if one.verdict is HazardVerdict.NOT_MEASURED:
        return ""
    return f"{one.telling.seen} of {one.telling.of}"


def word_of(one: FaultVerdict) -> str:
    """The verdict as it is shown."""
    return shown_word(one.counted)


def shown_word(counted: Exposed) -> str:
    """The verdict of these trials; one that rests on what was never seen takes runs enough."""
    if not counted.few:
        return str(counted.verdict)
    return NOT_SEEN if counted.verdict is HazardVerdict.SAFE else HELD


def meanings(hazards: HazardEvidence) -> Mapping[str, str]:
    """What the words mean that these verdicts are shown in."""
    told = {str(word): meaning for word, meaning in MEANINGS.items()}
    shown = {word_of(one) for one in hazards.verdicts}
    return {**told, **{word: meaning for word, meaning in FEW_MEANINGS.items() if word in shown}}


def window_lines(hazards: HazardEvidence) -> tuple[tuple[str, ...], ...]:
    """The cells of `WINDOW_HEADER`: how each system keeps to pause - TTL."""
    return tuple(_window_line(fit) for fit in hazards.window_fits)


def _window_line(fit: WindowFit) -> tuple[str, ...]:
    off_ms, off_ttls = fit.median_difference_ms, fit.median_difference_ttls
    return (
        names.title(fit.system),
        str(fit.points),
        NOTHING if fit.slope is None else f"{fit.slope:.2f}",
        NOTHING if off_ms is None else formats.significant(off_ms),
        NOTHING if off_ttls is None else f"{100.0 * off_ttls:.1f}{NO_BREAK}%",
        fit.reason or NOTHING,
    )


def reason_lines(hazards: HazardEvidence) -> tuple[tuple[str, ...], ...]:
    """The cells of `REASONS_HEADER`: one line a verdict."""
    return tuple(
        (
            one.fault,
            names.title(one.system),
            word_of(one),
            count_words(one) or NOTHING,
            _of(one.counted.late_without),
            _of(one.counted.late_with),
            one.reason or NOTHING,
            formats.run_list(one.evidence) or NOTHING,
        )
        for one in hazards.verdicts
    )


def _of(count: Count) -> str:
    return f"{count.seen} of {count.of}" if count.of else NOTHING


def hazard_facts(hazards: HazardEvidence) -> tuple[tuple[str, str], ...]:
    """What was played, on which machine and servers."""
    campaign, machine = hazards.campaign, hazards.environment
    # Variants of a system share its servers: each version is told once, under the first system that has it.
    servers: dict[str, str] = {}
    for run in sorted(hazards.runs, key=lambda run: (names.position(run.system), run.system, run.plan.position)):
        if run.facts is not None:
            servers.setdefault(run.facts.version, f"{names.title(run.system)} {run.facts.version} ({run.source})")
    versions = "; ".join(servers.values())
    used = sum(not run.void for run in hazards.runs)
    return (
        ("Hazard campaign", f"{campaign.campaign_id}, {campaign.mode}, started {campaign.created_at}"),
        (
            "Runs",
            f"{len(campaign.runs)} planned, {len(hazards.runs)} started, {used} counted, with {len(hazards.trials)} "
            "trials",
        ),
        ("lockbench", f"{campaign.lockbench_version}, commit {campaign.git_commit}"),
        (
            "Machine",
            f"{machine.cpu_model}, {cores(machine)}, {machine.operating_system}, kernel {machine.kernel}",
        ),
        ("Servers", versions or NOTHING),
    )


def hazard_limits(hazards: HazardEvidence) -> tuple[str, ...]:
    """What the trials cannot say, in sentences made from the campaign itself."""
    void = len(hazards.void)
    emulated = sorted({names.title(run.system) for run in hazards.runs if run.emulator})
    told = [
        "Staged: each fault was brought about on purpose, at the instant at which it does most harm. A trial shows "
        "what can happen, not how often it does.",
        "Safe means never observed in so many runs: the true share of runs may still be as large as the bound beside "
        f"it ({100.0 * CONFIDENCE:.0f}{NO_BREAK}%, one-sided). Trials of one run are not independent.",
        "One machine: clients, servers and the resource share its cores and its one monotonic clock; partitions are "
        "those of a proxy of the lab's own.",
    ]
    if emulated:
        told.append(f"Emulators: {', '.join(emulated)}. The algorithm was tried, not the service it is written for.")
    if void:
        told.append(f"Void: {void} of {len(hazards.runs)} runs were not as staged, failed or were interrupted.")
    return tuple(told)
