"""The verdicts of a hazard campaign as a table: faults down, systems across."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.hazards.counts import CONFIDENCE
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.exposed import Exposed
from bench.analysis.hazards.subjects import Line
from bench.analysis.hazards.verdicts import FaultVerdict
from bench.analysis.hazards.vocabulary import HazardVerdict
from bench.records.numbers import percent
from bench.report.formats import NOTHING
from bench.report.machine import cores

# What each word means; its order is that of harm.
MEANINGS: Mapping[HazardVerdict, str] = {
    HazardVerdict.SAFE: "the harm that this fault can cause (usually two holders) was never observed",
    HazardVerdict.WITH_FENCING: "two clients held the lock; with the fence on, every late write was refused",
    HazardVerdict.UNSAFE: "the harm was observed, and no fence stopped it, or none was tried",
    HazardVerdict.UNAVAILABLE: "nobody got the lock, or not within the time of a lease",
    HazardVerdict.NOT_MEASURED: "no trial could have shown the harm",
}
NOT_SEEN = "not seen"  # instead of `safe`, where so few runs looked that the word would promise too much
HELD = "fence held so far"  # instead of `safe only with fencing`, for the same reason
IN_ONE_RUN = "seen in one run"  # instead of `unsafe`: no verdict comes from one run
FEW_MEANINGS = {
    NOT_SEEN: "never observed, but in too few runs to call it safe",
    HELD: "two clients held the lock; a fence refused every late write, but in too few runs to rely on it",
    IN_ONE_RUN: "the harm was observed, but only one run could have shown it",
}
COUNTED = "Counts are trials that showed the harm, of the exposed ones (those that could have)."


@dataclass(frozen=True, slots=True)
class Matrix:
    """Some systems side by side. `cells` by line and system; a pair that was not tried has none."""

    systems: tuple[str, ...]
    lines: tuple[Line, ...]
    cells: Mapping[tuple[Line, str], FaultVerdict]


def matrices(hazards: HazardEvidence) -> tuple[Matrix, ...]:
    """The headline systems, and then the variants that were tried as well."""
    tried = sorted({one.system for one in hazards.verdicts}, key=lambda name: (names.position(name), name))
    headline = [name for name in tried if name in names.headline()]
    variants = [name for name in tried if name not in names.headline()]
    return tuple(_matrix(hazards, systems) for systems in (headline, variants) if systems)


def _matrix(hazards: HazardEvidence, systems: Sequence[str]) -> Matrix:
    found = [one for one in hazards.verdicts if one.system in systems]
    return Matrix(
        systems=tuple(systems),
        lines=tuple(dict.fromkeys(one.line for one in found)),
        cells={(one.line, one.system): one for one in found},
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
    """The verdict of these trials; one that rests on what was never seen takes runs enough, any other takes two."""
    if counted.of_one_run:
        return IN_ONE_RUN
    if not counted.few:
        return str(counted.verdict)
    return NOT_SEEN if counted.verdict is HazardVerdict.SAFE else HELD


def meanings(hazards: HazardEvidence) -> Mapping[str, str]:
    """What the words mean that these verdicts are shown in."""
    usual = {str(word): meaning for word, meaning in MEANINGS.items()}
    shown = {word_of(one) for one in hazards.verdicts}
    return {**usual, **{word: meaning for word, meaning in FEW_MEANINGS.items() if word in shown}}


def hazard_facts(hazards: HazardEvidence) -> tuple[tuple[str, str], ...]:
    """What was played, on which machine and servers."""
    campaign, machine = hazards.campaign, hazards.environment
    # Variants of a system share its servers: each version is named once, under the first system that has it.
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
            f"{len(campaign.runs)} planned, {len(hazards.runs)} started, {used} counted, with {len(hazards.trials):,} "
            "trials",
        ),
        ("lockbench", f"{campaign.lockbench_version}, commit {campaign.git_commit}"),
        (
            "Machine",
            f"{machine.cpu_model}, {cores(machine)}, {machine.operating_system}, kernel {machine.kernel}",
        ),
        ("Servers", versions or NOTHING),
    )


def played_emulators(hazards: HazardEvidence) -> frozenset[str]:
    """The emulators on which faults were played."""
    return frozenset(run.system for run in hazards.runs if run.emulator)


def emulator_limits(measured: Collection[str], played: Collection[str]) -> tuple[str, ...]:
    """One sentence about all emulators: those whose speed was measured, and those on which faults were played."""
    systems = sorted({*measured, *played}, key=lambda name: (names.position(name), name))
    if not systems:
        return ()
    words = [f"Emulators: {'; '.join(map(names.title, systems))}."]
    words += ["An emulator's speed says nothing about the real service."] if measured else []
    words += ["Faults tested the algorithm, not the service."] if played else []
    return (" ".join(words),)


def hazard_limits(hazards: HazardEvidence) -> tuple[str, ...]:
    """What the trials cannot say, and which systems were emulators."""
    return (*trial_limits(hazards), *emulator_limits((), played_emulators(hazards)))


def trial_limits(hazards: HazardEvidence) -> tuple[str, ...]:
    """What the trials cannot say, in sentences made from the campaign itself."""
    void = len(hazards.void)
    sentences = [
        "Staged: each fault strikes on purpose, at the most harmful instant. A trial shows what can happen, not how "
        "often.",
        f"Safe means never observed in these runs. {_never(hazards)}Trials of one run are not independent.",
        "One machine: clients, servers and the resource share its cores and its one monotonic clock; the lab's own "
        "proxy makes the partitions.",
    ]
    if void:
        sentences.append(f"Void: {void} of {len(hazards.runs)} runs were not as staged, failed or were interrupted.")
    return tuple(sentences)


def _never(hazards: HazardEvidence) -> str:
    """How often the harm may come all the same, after the fewest and the most runs in which it never came."""
    counts = [one.telling for one in hazards.verdicts if word_of(one) == HazardVerdict.SAFE and one.telling.none]
    by_runs = {len(count.runs): count for count in counts}
    if not by_runs:
        return ""
    few, many = by_runs[min(by_runs)], by_runs[max(by_runs)]
    words = f"in up to {percent(few.upper)} of runs after {few.runs_words} without it"
    more = "" if few is many else f", in up to {percent(many.upper)} after {len(many.runs)}"
    return f"The harm may still come {words}{more} ({percent(CONFIDENCE)} confidence, one-sided). "
