"""What `lockbench live` keeps of each test, and how: the store, the figure, and the line that it prints."""

import os
from collections.abc import Mapping

from bench.campaign.live.keeper import Keeper
from bench.campaign.live.servers import Served
from bench.commands.terminal import OUT
from bench.records.environment import capture_environment
from bench.records.store import CampaignFolder, Store
from bench.systems.registry import SYSTEMS, packages_of


def keeper_of(served: Served) -> Keeper:
    """Keeps into the store of the user's own campaigns. Takes a second: the machine is measured."""
    machine = capture_environment(served.own.home, packages_of(SYSTEMS))
    return Keeper(served.supervisor_of, Store.default(), machine, _say, _draw)


def _say(line: str) -> None:
    OUT.print(line, highlight=False, soft_wrap=True)


def _draw(folder: CampaignFolder) -> Mapping[str, bytes]:
    os.environ["MPLBACKEND"] = "agg"  # as for reports: a window system that somebody named may not be there
    from bench.report.figures.live_session import live_session

    drawing = live_session(folder)
    return {ending: drawing.rendered(ending) for ending in ("svg", "png")}
