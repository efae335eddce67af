"""What all load processes counted, added up where Locust's master is (or in the only process), and written down at the
end.

The end of a test is not Locust's: its `test_stop` fires while reports are still on their way. A worker says itself that
its window is over, together with its own counts, and the master stops the test when all have said so. That word travels
inside Locust's own worker reports, so Locust's counts and ours for the same operations arrive in one message or not at
all. The operations themselves lie in files, see rows.py.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import gevent
from locust.env import Environment
from locust.rpc import Message
from locust.runners import STATE_MISSING, MasterRunner

from bench.load.locust_count import acquires_by_system
from bench.load.options import LoadSettings
from bench.load.process import TOP, WINDOW
from bench.load.result import write_failure, write_result
from bench.load.schedule import count_between, offsets_ns
from bench.load.totals import add_up
from bench.records.ladder import SETTLING_SHARE, best_step

_LOST_WORKER_INTERVAL_S = 1.0
_EXIT_CODE = 1

_log = logging.getLogger("lockbench")


class Collector:
    """The sum over all load processes of one test, and the decision when it ends."""

    def __init__(self, environment: Environment, settings: LoadSettings | None) -> None:
        self.environment = environment
        self.settings = settings
        self.failure: str | None = None
        self._ready: dict[str, int] = {}  # connected clients by process
        self._expected: frozenset[str] = frozenset()  # the processes that measure, once the window is announced
        self._ends: dict[str, Mapping[str, Any]] = {}
        self._climbs: dict[str, Sequence[Mapping[str, int]]] = {}  # the steps by process
        self._ladder: list[dict[str, Any]] = []
        self._window_clients: int | None = None
        self._stopping = False

    # -- the window ----------------------------------------------------------------------------------------------

    def on_ready(self, message: Message) -> None:
        """A process has so many connected clients. When all clients of the test are, the warm-up begins everywhere."""
        self._ready[message.node_id] = message.data["ready"]
        runner = self._runner
        if not self._expected and sum(self._ready.values()) >= runner.target_user_count > 0:
            self._expected = frozenset(self._ready)
            _log.info("all %d clients are connected; the warm-up begins", runner.target_user_count)
            # Who has how many clients: each process takes its part of the arrivals and of the climb accordingly.
            runner.send_message(WINDOW, {"clients": dict(self._ready)})
            if isinstance(runner, MasterRunner):
                gevent.spawn(self._watch_workers, runner)

    def on_climbed(self, message: Message) -> None:
        """A process has been on every step. When all have, the window is measured with the clients of the best one."""
        self._climbs[message.node_id] = message.data["steps"]
        if self.settings is None or not self._expected <= self._climbs.keys():
            return
        window_s = self.settings.workload.step_s * (1 - SETTLING_SHARE)
        for parts in zip(*self._climbs.values(), strict=True):
            clients, pairs = (sum(part[name] for part in parts) for name in ("clients", "pairs"))
            self._ladder.append({"clients": clients, "window_s": window_s, "pairs": pairs})
        best = best_step([step["pairs"] for step in self._ladder])
        self._window_clients = self._ladder[best]["clients"]
        self._runner.send_message(TOP, {"step": best})

    def _watch_workers(self, runner: MasterRunner) -> None:
        while not self._stopping:
            gevent.sleep(_LOST_WORKER_INTERVAL_S)  # pace: Locust itself notices a silent worker after 3-4 s
            alive = {node.id for node in runner.clients.all if node.state != STATE_MISSING}
            if self._expected - alive and not self._stopping:
                self.fail("a load worker was lost in the middle of the test; its operations cannot be counted")

    def add(self, node: str, report: Mapping[str, Any]) -> None:
        """Keep what one process counted, once its window is over. Before that its reports are empty."""
        if report and node not in self._ends:
            self._ends[node] = report
            if self._expected and self._expected <= self._ends.keys():
                self._stop()

    # -- the end -------------------------------------------------------------------------------------------------

    def fail(self, reason: str) -> None:
        """End the test for one reason, reported once: in the log, and among the exceptions of the web page."""
        if self.failure is not None or self._stopping:
            return
        self.failure = reason
        _log.error("the test was stopped: %s", reason)
        self._runner.log_exception("lockbench", reason, "")
        if self._headless:
            self.environment.process_exit_code = _EXIT_CODE
        self._stop()

    def _stop(self) -> None:
        self._stopping = True
        # In a greenlet of its own: stopping kills the greenlets of the runner, and this call is made from one of them.
        gevent.spawn(self._runner.quit if self._headless else self._runner.stop)

    def finish(self) -> None:
        """Write the result, or why there is none, if a folder was named. Called when Locust quits."""
        folder = self.settings.record_into if self.settings else None
        if folder is None:
            return
        if self.failure is None and not (self._expected and self._expected <= self._ends.keys()):
            self.failure = "the load generator was stopped before its window was over"
        if self.failure is not None:
            write_failure(folder, self.failure)
        else:
            write_result(folder, self._result())

    def _result(self) -> dict[str, Any]:
        ends = [self._ends[node] for node in sorted(self._expected)]
        return {
            **add_up(ends),
            "arrivals": self._arrivals(),
            "ladder": self._ladder,
            "window_clients": self._window_clients,
            "machine": next((end["machine"] for end in ends if None not in end["machine"]), []),
            "locust_requests": acquires_by_system(self._runner.stats).total(),
            "rows": [end["rows"] for end in ends],
            "around": [end["around"] for end in ends if end["around"] is not None],
            "climbs": [[end["climb_rows"], end["climb_began_ns"]] for end in ends if end["climb_rows"] is not None],
        }

    def _arrivals(self) -> int:
        """How many arrivals the window has by the schedule alone, whatever became of them."""
        settings = self.settings
        if settings is None or not settings.workload.open_loop:
            return 0
        does = settings.workload
        opens_ns = round(does.warmup_s * 1e9)
        schedule = offsets_ns(does.arrivals, does.rate_per_s, settings.seed)
        return count_between(schedule, opens_ns, opens_ns + round(does.measure_s * 1e9))

    @property
    def _runner(self) -> Any:
        return self.environment.runner

    @property
    def _headless(self) -> bool:
        return bool(self.environment.parsed_options and self.environment.parsed_options.headless)
