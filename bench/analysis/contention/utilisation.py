"""Waiting by how busy the key is: the queue wait in services, which one line describes for all systems."""

from bench.analysis.cells import Absent, Cell, Value
from bench.analysis.intervals import across_campaigns
from bench.analysis.runs import RunRow


def wait_in_services(cell: Cell) -> Value:
    """The mean queue wait of an open loop, divided by the time for which a grant keeps the key from the others."""
    waited = cell.value("queue_wait_us_mean")
    if isinstance(waited, Absent):
        return waited
    found: dict[str, list[float]] = {}
    for run in cell.used:
        wait_us, service_us = run.metrics["queue_wait_us_mean"], _service_us(run)
        if wait_us and service_us:
            found.setdefault(run.campaign_id, []).append(wait_us / service_us)
    return across_campaigns(list(found.values())) if found else Absent("n/a (nobody waited)")


def _service_us(run: RunRow) -> float | None:
    utilisation = run.metrics["key_utilisation"]
    return utilisation * run.workload.measure_s * 1e6 / run.operations if utilisation and run.operations else None
