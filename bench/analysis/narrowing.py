"""Evidence of chosen systems alone: their runs as they are, and nothing of the others beside them."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from bench.analysis import names
from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.errors import LockbenchError


class NotMeasured(LockbenchError):
    """A system was chosen of which there is no run; the message lists those that were measured."""


def of_systems(evidence: Evidence, systems: Iterable[str]) -> Evidence:
    """The runs of some systems, in the order of tables, whether measured under load, under faults or both.

    Claims are those of all: judge them with the whole evidence, since some compare systems. Raises NotMeasured.
    """
    asked = dict.fromkeys(systems)
    there = systems_of(evidence)
    missing = [name for name in asked if name not in there]
    if missing or not asked:
        which = f"no run of {', '.join(missing)} here" if missing else "no system was chosen"
        raise NotMeasured(f"{which}: choose from {', '.join(there)}")
    return _narrowed(evidence, tuple(sorted(asked, key=lambda name: (names.position(name), name))))


def systems_of(evidence: Evidence) -> tuple[str, ...]:
    """Every system with a run of load or of faults, in the order of tables."""
    played = () if evidence.hazards is None else (run.system for run in evidence.hazards.runs)
    return tuple(sorted({*evidence.systems, *played}, key=lambda name: (names.position(name), name)))


def _narrowed(evidence: Evidence, chosen: tuple[str, ...]) -> Evidence:
    planned = tuple(run for run in evidence.campaign.runs if run.system in chosen)
    apart = {topic: _narrowed(found, chosen) for topic, found in evidence.apart.items()}
    return replace(
        evidence,
        campaign=evidence.campaign.model_copy(update={"runs": planned}),
        rows=tuple(row for row in evidence.rows if row.system in chosen),
        hazards=None if evidence.hazards is None else _of_lab(evidence.hazards, chosen),
        apart={topic: found for topic, found in apart.items() if found.rows},
        chosen=chosen,
    )


def _of_lab(hazards: HazardEvidence, chosen: Collection[str]) -> HazardEvidence:
    planned = tuple(run for run in hazards.campaign.runs if run.system in chosen)
    return replace(
        hazards,
        campaign=hazards.campaign.model_copy(update={"runs": planned}),
        runs=tuple(run for run in hazards.runs if run.system in chosen),
    )
