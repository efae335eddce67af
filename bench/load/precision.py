"""True values in Locust's own statistics: on its page, in the console, in `--csv` and in its report.

Locust rounds every response time to whole milliseconds before it counts it (`locust.stats.bucket_response_time`), so an
acquire of 0.31 ms is shown as 0. That function may be replaced, and float keys pass through everything that reads them.
Four places round once more by themselves and are replaced too: both tables of the console, the percentile columns of
`--csv`, and Min and Max on the page. What the Aggregated row counts is decided in `shown`.
"""

from math import floor, log10
from typing import Any

import locust.html
import locust.stats
from locust.stats import RequestStats, StatsCSV, StatsEntry

from bench.load.shown import NO_LOCKS, TIMED_LOCK, UNTIMED_LOCKS
from bench.systems.registry import PROBES, SYSTEMS

_DIGITS = 3
_QUANTILES = (0.5, 0.9, 0.99, 0.999)
_AGGREGATED_TYPE = "locks"
_OURS = frozenset({*SYSTEMS, *PROBES})  # the types of our rows; a locustfile of the user's own may have others

_own_to_dict = StatsEntry.to_dict
_own_init, _own_clear_all = RequestStats.__init__, RequestStats.clear_all


def three_digits_ms(response_time_ms: float) -> float:
    """A response time in ms, rounded to three significant digits: 900 keys a decade, 0.5 % at worst."""
    if response_time_ms <= 0:
        return 0.0
    return round(response_time_ms, _DIGITS - 1 - floor(log10(response_time_ms)))


def install_precision() -> None:
    """Teach Locust in this process, and have it show p50 to p99.9. Master and workers each need it."""
    locust.stats.bucket_response_time = three_digits_ms  # type: ignore[assignment]
    locust.stats.PERCENTILES_TO_CHART = list(_QUANTILES[:3])
    locust.stats.PERCENTILES_TO_STATISTICS = list(_QUANTILES)  # its own median column shows two decimals only
    locust.html.PERCENTILES_FOR_HTML_REPORT = list(_QUANTILES)
    replaced: Any = RequestStats
    replaced.__init__, replaced.clear_all = _init, _clear_all
    replaced.log_request, replaced.log_error = _log_request, _log_error
    replaced = StatsEntry
    replaced.to_dict, replaced.to_string, replaced.percentile = _to_dict, _to_string, _percentile
    replaced = StatsCSV
    replaced._percentile_fields = _percentile_fields


def _log_request(self: RequestStats, method: str, name: str, response_time: Any, content_length: int) -> None:
    self.entries[name, method].log(response_time, content_length)
    if method not in _OURS or name == TIMED_LOCK:
        self.total.log(response_time, content_length)
    elif name in UNTIMED_LOCKS:
        self.total.log(None, content_length)  # type: ignore[arg-type]  # Locust's own way to count without a time
    else:
        assert name in NO_LOCKS, name


def _log_error(self: RequestStats, method: str, name: str, error: Any) -> None:
    self.total.log_error(error)
    self.entries[name, method].log_error(error)
    key = locust.stats.StatsError.create_key(method, name, error)
    if key not in self.errors:
        self.errors[key] = locust.stats.StatsError(method, name, error)
    self.errors[key].occurred()


def _init(self: RequestStats, *arguments: Any, **named: Any) -> None:
    _own_init(self, *arguments, **named)
    self.total.method = _AGGREGATED_TYPE


def _clear_all(self: RequestStats) -> None:
    _own_clear_all(self)
    self.total.method = _AGGREGATED_TYPE


def _to_dict(self: StatsEntry, escape_string_values: bool = False) -> dict[str, Any]:
    exact = {"min_response_time": self.min_response_time or 0.0, "max_response_time": self.max_response_time}
    return {**_own_to_dict(self), **{name: three_digits_ms(value) for name, value in exact.items()}}


def _to_string(self: StatsEntry, current: bool = True) -> str:
    rates = (self.current_rps, self.current_fail_per_sec) if current else (self.total_rps, self.total_fail_per_sec)
    times = (self.avg_response_time, self.min_response_time or 0.0, self.max_response_time, self.median_response_time)
    name_width = max(0, locust.stats.STATS_NAME_WIDTH - locust.stats.STATS_TYPE_WIDTH + 4)
    failed = f"{self.num_failures}({self.fail_ratio:.2%})"
    return (
        f"{self.method or '':<{locust.stats.STATS_TYPE_WIDTH}} {self.name:<{name_width}} {self.num_requests:>7} "
        f"{failed:>12} |{'{:>7} {:>7} {:>7}{:>7}'.format(*map(_text_ms, times))} "
        f"| {rates[0] or 0:7.2f} {rates[1] or 0:11.2f}"
    )


def _percentile(self: StatsEntry) -> str:
    quantiles = locust.stats.PERCENTILES_TO_REPORT
    first, *others = (_text_ms(self.get_response_time_percentile(quantile)) for quantile in quantiles)
    shown = f"{first:>8} " + " ".join(f"{one:>6}" for one in (*others, self.num_requests))
    return f"{self.method or '':<{locust.stats.STATS_TYPE_WIDTH}} {self.name:<{locust.stats.STATS_NAME_WIDTH}} {shown}"


def _percentile_fields(self: StatsCSV, stats_entry: StatsEntry, use_current: bool = False) -> list[Any]:
    if not stats_entry.num_requests:
        return list(self.percentiles_na)
    if use_current and stats_entry.use_response_times_cache:
        return [stats_entry.get_current_response_time_percentile(one) or 0 for one in self.percentiles_to_report]
    return [stats_entry.get_response_time_percentile(one) for one in self.percentiles_to_report]


def _text_ms(value: float) -> str:
    return f"{round(three_digits_ms(value), 4):g}"  # six characters, Locust's column, for all from 0.1 µs to 16 minutes
