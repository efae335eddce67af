"""What a reader has and needs, and what a system showed of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.analysis.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Situation:
    """Answers by question, and numbers; None: not asked for."""

    answers: Mapping[str, str]
    runs: frozenset[str] = frozenset()  # sets of servers that the reader has, by the registry's names
    budget_ms: float | None = None  # for the 99th percentile of an acquire
    round_trip_ms: float | None = None  # between the reader's clients and servers
    recover_within_s: float | None = None  # after a crash of the holder


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked up for one system. `passes` None: it was not measured, or there is nothing to pass."""

    passes: bool | None
    words: str
    runs: tuple[str, ...] = ()  # ids
    shown_by: tuple[tuple[str, str], ...] = ()  # a system and a workload or scenario, for `lockbench show`
    setting: str = ""  # what has to be set for this
    value: float | None = None  # by which systems are ordered, where they are


@dataclass(frozen=True, slots=True)
class Looked:
    """Where a lookup looks: the evidence, the system, and the situation of the reader."""

    evidence: Evidence
    system: str
    situation: Situation
    row: str = field(default="")  # the row of the tables whose speed counts: the system, or its durable sibling
