"""The runs that a prediction needs, and no others: a whole report takes many seconds to read, this less than one."""

from dataclasses import dataclass, field

from bench.analysis.joining import typical
from bench.analysis.network.cost_model import loopback_of
from bench.analysis.network.hand_off import HandOff, hand_offs, nearest_plans
from bench.analysis.network.samples import Sampled, sampled
from bench.analysis.places import CONTENTION, NETWORK, members
from bench.analysis.runs import run_rows
from bench.errors import LockbenchError
from bench.records.schema import Environment, RunPlan
from bench.records.store import CampaignFolder
from bench.records.workload import UNCONTENDED


@dataclass(frozen=True, slots=True)
class Read:
    """What was measured over networks, and on which machine."""

    campaign_ids: tuple[str, ...]
    environment: Environment
    systems: tuple[Sampled, ...]
    hand_offs: dict[str, HandOff] = field(default_factory=dict)  # by system; empty: not asked for, or not measured


def read(folder: CampaignFolder, clients: int = 1, hold_ms: float = 0.0) -> Read:
    """From a campaign's folder or its topics beside it; hand-offs for so many clients that hold for so long.

    Raises StoreError for a damaged file, LockbenchError where nothing was measured over networks.
    """
    folders = _folders(folder, NETWORK)
    environments = {one.campaign.campaign_id: one.environment for one in folders}
    rows = [row for one in folders for row in run_rows(one, _over_networks)]
    systems = sampled(rows, environment := typical(list(environments.values())), environments)
    if not systems:
        raise LockbenchError(
            f"{folder.path} has no run of one client over a network: `lockbench run network` measures a campaign of "
            "them, and `--campaign reference` has one"
        )
    found = _hand_offs(folder, clients, hold_ms) if clients > 1 else {}
    return Read(tuple(environments), environment, systems, found)


def _folders(folder: CampaignFolder, topic: str) -> tuple[CampaignFolder, ...]:
    """Those of the topic where it lies apart, else the folder's own."""
    return members(CampaignFolder(folder.path / topic)) or members(folder) or (folder,)


def _over_networks(plan: RunPlan) -> bool:
    workload = plan.workload
    return workload.name == UNCONTENDED and (workload.has_network or workload.has_peer_network)


def _hand_offs(folder: CampaignFolder, clients: int, hold_ms: float) -> dict[str, HandOff]:
    folders = _folders(folder, CONTENTION)
    wanted = {
        (plan.campaign_id, plan.run_id)
        for plan in nearest_plans((plan for one in folders for plan in one.campaign.runs), clients, hold_ms)
    }
    rows = [row for one in folders for row in run_rows(one, lambda plan: (plan.campaign_id, plan.run_id) in wanted)]
    return hand_offs(rows, loopback_of(typical([one.environment for one in folders])))
