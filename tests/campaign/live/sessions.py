"""Made-up live sessions, whose truth is known: what load processes report, second by second."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from bench.load.recorder import count_rows
from bench.load.rows import PACK_ROW, as_rows
from bench.records.workload import Behaviour
from bench.servers.process import clock_id
from tests.campaign.live.test_console import Row

NS = 1_000_000_000
OPENS_NS = 100 * NS
NEVER_NS = (1 << 63) - 1
SIDE_BY_SIDE = {
    "overlap_rounds": 20.0,
    "overlap_rounds_overlapping": 20.0,
    "overlap_speedup": 2.0,
    "overlap_blocked_share": 0.0,
}


def begin(systems: Iterable[str] = ("memory",), nodes: Iterable[str] = ("local",), **does: Any) -> dict[str, Any]:
    """As `Forwarder.begin` says it, of the form's own values."""
    form = {"name": "contended", "keys": 0, "wait": "auto", "hold_ms": 2.0, "rate_per_s": 100.0, "zipf_exponent": 0.99}
    behaviour = Behaviour(**{**form, "measure_s": 0.0, **does})
    return {
        "session": 1,
        "workload": behaviour.name,
        "meet": True,
        "does": behaviour.model_dump(mode="json"),
        "seed": 7,
        "systems": list(systems),
        "waits": dict.fromkeys(systems, "block"),
        "nodes": list(nodes),
        "network": "none",
    }


class Process:
    """One load process: what it says of each second, with everything that it has counted so far."""

    def __init__(self, node: str = "local", systems: Iterable[str] = ("memory",)) -> None:
        self.node = node
        self.counts: dict[str, Counter[str]] = {name: Counter() for name in systems}
        self.seconds = 0

    def second(
        self,
        rows: Mapping[str, Iterable[Row]],
        stopped: bool = False,
        clients: int = 4,
        around: Iterable[Row] = (),
        **more: Any,
    ) -> tuple[dict[str, Any], bytes]:
        """Of one more second, and the rows packed."""
        packed = {name: b"".join(PACK_ROW(*row) for row in rows.get(name, ())) for name in self.counts}
        for name, part in packed.items():
            self.counts[name] += count_rows(as_rows(part))
        self.seconds += 1
        at_ns = OPENS_NS + self.seconds * NS
        counted = {
            name: {"counts": dict(counts), "errors": {}, "aborted": 0, "unsent": 0}
            for name, counts in self.counts.items()
        }
        acquires = {
            name: sum(count for phase, count in counts.items() if phase.startswith("acquire/"))
            for name, counts in self.counts.items()
        }
        content: dict[str, Any] = {
            "session": 1,
            "node": self.node,
            "waiters": 0,
            "holders": 0,
            "at_ns": at_ns,
            "cpu_ns": self.seconds * NS // 10,
            "clock": clock_id(),
            "stopped": stopped,
            "clients": {} if stopped else dict.fromkeys(self.counts, clients),
            "opens_ns": OPENS_NS,
            "closes_ns": at_ns if stopped else NEVER_NS,
            "counted": counted,
            "lost_updates": {},
            "arrivals": 0,
            "lag": {"30000": 1},
            "observations": dict.fromkeys(self.counts, SIDE_BY_SIDE),
            "locust_requests": acquires,
            "asked_clients": clients,
            "lengths": {name: len(part) for name, part in packed.items()},
        }
        before = b"".join(PACK_ROW(*row) for row in around)  # of the first system
        content["around_lengths"] = {next(iter(self.counts)): len(before)}
        return {**content, **more}, b"".join((*packed.values(), before))
