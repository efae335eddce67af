"""True sub-millisecond values in Locust's own statistics.

Locust rounds every response time to whole milliseconds before it counts it (`locust.stats.bucket_response_time`), so an
acquire of 0.31 ms is shown as 0. The function may be replaced, and float keys pass through everything that reads them:
the merge of worker reports, the web page's table and charts, the HTML report. Three places still round by themselves
and cannot be taught: the console's tables, the percentile columns of `--csv`, and the Min and Max columns of the web
page's table.
"""

from math import floor, log10

import locust.html
import locust.stats

_DIGITS = 3
_QUANTILES = (0.5, 0.9, 0.99, 0.999)


def three_digits_ms(response_time_ms: float) -> float:
    """A response time in ms, rounded to three significant digits: 900 keys a decade, 0.5 % at worst."""
    if response_time_ms <= 0:
        return 0.0
    return round(response_time_ms, _DIGITS - 1 - floor(log10(response_time_ms)))


def install_precision() -> None:
    """Replace Locust's rounding in this process, and show p50 to p99.9. Master and workers each need it."""
    locust.stats.bucket_response_time = three_digits_ms  # type: ignore[assignment]
    locust.stats.PERCENTILES_TO_CHART = list(_QUANTILES[:3])
    locust.stats.PERCENTILES_TO_STATISTICS = list(_QUANTILES)  # its own median column shows two decimals only
    locust.html.PERCENTILES_FOR_HTML_REPORT = list(_QUANTILES)
