"""What is measured apart from a campaign of load, each with a page of its own: the one list of their titles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.evidence import Evidence
from bench.analysis.places import AVAILABILITY, CONTENTION, JOBS, NETWORK, STRANGERS
from bench.report.figures import OF_TOPIC, Drawing


@dataclass(frozen=True, slots=True)
class Topic:
    """One topic. `place`: its folder beside a campaign, and the name of its files."""

    place: str  # of `places.APART`
    heading: str  # on the pages of the campaign that it lies beside
    title: str  # of its own page
    judged: bool = False  # do claims rest on it that its page shows

    @property
    def page(self) -> Path:
        """Where the reference's page is, from the project's folder."""
        return Path("docs") / f"{_PAGES.get(self.place, self.place)}.md"

    def drawings(self, evidence: Evidence) -> list[Drawing]:
        """Its figures, of those that have something to show."""
        return [drawing for drawing in (draw(evidence) for draw in OF_TOPIC[self.place]) if drawing.runs]


_PAGES = {NETWORK: "round_trips"}  # docs/network.md explains how a network is made
TOPICS = (
    Topic(CONTENTION, "Under contention", "What waiting for a lock costs", judged=True),
    Topic(AVAILABILITY, "Faults while clients wait", "What waiters get while servers or a holder are lost"),
    Topic(JOBS, "Lock or no lock", "The same job with a lock and without one"),
    Topic(STRANGERS, "Strangers beside a hot key", "Whether a hot key slows clients of other keys"),
    Topic(NETWORK, "Over a network", "Round trips, counted by the clock", judged=True),
)


def apart(evidence: Evidence) -> Sequence[tuple[Topic, Evidence]]:
    """The topics that lie beside a campaign, in the order of the pages."""
    return [(topic, evidence.apart[topic.place]) for topic in TOPICS if topic.place in evidence.apart]


def drawn_apart(evidence: Evidence) -> Mapping[str, Sequence[Drawing]]:
    """Their figures, by place."""
    return {topic.place: topic.drawings(found) for topic, found in apart(evidence)}
