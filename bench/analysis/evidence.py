"""Everything that a report is made from, loaded once: a campaign's rows and cells, the claims, and their verdicts."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar, cast

from bench.analysis import names
from bench.analysis.cells import Cell, cells_named, cells_of
from bench.analysis.claims import Claim, SeedCell, load_claims, load_seed_table
from bench.analysis.contention.sweeps import alone, with_any_hold
from bench.analysis.deferred import Deferred
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.joining import together, typical
from bench.analysis.network.cost_model import CostModel, cost_models
from bench.analysis.network.samples import sampled
from bench.analysis.places import APART, CONTENTION, NETWORK, members, project_root
from bench.analysis.runs import RunRow, run_rows
from bench.analysis.verdicts import Judgement, adjudicate
from bench.records.schema import Campaign, Environment, Resumed
from bench.records.store import CampaignFolder, HazardFolder

_Made = TypeVar("_Made")


@dataclass(frozen=True)
class Evidence:
    """One campaign beside the claims, or several of one commit. Immutable; derived parts are computed when asked for.

    Of several, `campaign` has all names and all runs, and `environment` is the first one's with the medians of all; the
    id of a run is preceded by its campaign's folder, and a run knows its campaign. Campaigns about one topic may lie
    beside it, in folders of their own (`places.APART`): of other code, so never pooled with it.
    """

    campaign: Campaign
    environment: Environment
    rows: tuple[RunRow, ...]
    claims: tuple[Claim, ...]
    seed_table: tuple[SeedCell, ...]
    resumptions: tuple[Resumed, ...] = ()  # each time that the campaign went on after an interruption
    attempts_aside: tuple[str, ...] = ()  # folders of interrupted and failed attempts, kept beside the runs
    environments: Mapping[str, Environment] = field(default_factory=dict)  # by campaign, where there are several
    hazards: HazardEvidence | None = None  # a hazard campaign, where there is one: what claims about safety rest on
    apart: Mapping[str, "Evidence"] = field(default_factory=dict)  # by topic, of `places.APART`
    chosen: tuple[str, ...] = ()  # the systems that somebody chose, in table order; empty: nobody did
    _made: dict[object, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def load(cls, folder: CampaignFolder, root: Path | None = None, hazards: HazardFolder | None = None) -> "Evidence":
        """Read a campaign's folder (or one of several: `places.members`), a hazard campaign's, and the claims; and what
        lies in the folder's own `places.APART`, each when it is first asked for.

        Raises StoreError or ClaimsError for a damaged file, and for campaigns that are no body of evidence together.
        """
        folders = members(folder) or (folder,)
        topics = {topic: CampaignFolder(folder.path / topic) for topic in APART}
        data = (root or project_root()) / "data"
        claims = load_claims(data / "claims.csv")
        return cls(
            campaign=together([one.campaign for one in folders], folder.path),
            environment=typical([one.environment for one in folders]),
            rows=tuple(row for one in folders for row in _rows(one, within=folder)),
            claims=claims,
            seed_table=load_seed_table(data / "seed_table.csv", claims),
            resumptions=tuple(found for one in folders for found in one.resumptions()),
            attempts_aside=tuple(found for one in folders for found in one.attempts_aside()),
            environments={one.campaign.campaign_id: one.environment for one in folders} if len(folders) > 1 else {},
            hazards=HazardEvidence.load(hazards) if hazards is not None else None,
            apart=Deferred({name: partial(cls.load, found, root) for name, found in topics.items() if members(found)}),
        )

    @property
    def contention(self) -> "Evidence | None":
        """What claims about waiting rest on, where it was measured apart."""
        return self.apart.get(CONTENTION)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        return cells_of(self.rows)

    @cached_property
    def judgements(self) -> tuple[Judgement, ...]:
        return adjudicate(self.claims, self.cells, self.hazards, self.about_waiting.cells, self.over_networks)

    @cached_property
    def over_networks(self) -> tuple[CostModel, ...]:
        """What an acquire and a release cost over a network, of each system that was measured over several."""
        of = self.about_networks
        return cost_models(sampled(of.rows, of.environment, of.environments))

    @cached_property
    def headline(self) -> tuple[str, ...]:
        """The headline systems that the campaign is about, measured or not: of a chosen few, only those."""
        if self.chosen:
            return self.chosen
        planned = {run.system for run in self.campaign.runs}
        return tuple(name for name in names.headline() if name in planned)

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The systems that the campaign ran, in registry order."""
        return tuple(dict.fromkeys(cell.system for cell in self.cells))

    def once(self, make: Callable[["Evidence"], _Made]) -> _Made:
        """What is made of this evidence elsewhere: made when it is first asked for, and kept."""
        if make not in self._made:
            self._made[make] = make(self)
        return cast(_Made, self._made[make])

    def cells_for(self, system: str, workload: str) -> tuple[Cell, ...]:
        """The cells of one system and workload: none, one, or several where runs were too unlike to pool."""
        return cells_named(self.cells, system, workload)

    @property
    def about_waiting(self) -> "Evidence":
        """The campaigns about waiting, where these were measured apart; else itself."""
        return self.about(CONTENTION)

    @property
    def about_networks(self) -> "Evidence":
        """The campaigns over networks, where these were measured apart; else itself."""
        return self.about(NETWORK)

    def about(self, topic: str) -> "Evidence":
        """What was measured apart about a topic (`places.APART`); where nothing was, itself."""
        return self.apart.get(topic, self)

    def of_waiting(self, contended: Cell, single: Cell | None = None) -> tuple[Cell, Cell | None]:
        """The cell that says what it costs to wait where these clients meet, and the one of a single client beside it.

        From the campaigns about waiting, where they have it: the hold may be another there. Else those given.
        """
        if self.contention is not None and len(found := with_any_hold(self.contention.cells, contended)) == 1:
            return found[0], alone(self.contention.cells, contended)
        return contended, single


def _rows(folder: CampaignFolder, *, within: CampaignFolder) -> Iterable[RunRow]:
    """Each campaign has a redis-uncontended-01: beside others its folder's name says which."""
    for row in run_rows(folder):
        yield row if folder.path == within.path else replace(row, run_id=f"{folder.path.name}/{row.run_id}")
