"""Every fault by the name that scenarios call it."""

from collections.abc import Mapping

from bench.hazards.faults import on_actors
from bench.hazards.faults.base import Strike

FAULTS: Mapping[str, Strike] = {
    "pause": on_actors.pause,
    "kill": on_actors.kill,
    "partition": on_actors.partition,
    "slow_link": on_actors.slow_link,
    "swallow_reply": on_actors.swallow_reply,
    "client_clock": on_actors.client_clock,
}
