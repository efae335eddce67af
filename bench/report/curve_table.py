"""Saturation by number of clients, as a table: what more clients bring, and what they cost."""

from bench.analysis.cells import Absent, Value
from bench.analysis.curves import curve
from bench.report import formats
from bench.report.table_model import Comparison, LongRow, Text

HEADER = ("System", "Clients", "Pairs/s", "p50, ms", "p99, ms")
TITLE = "Saturation by number of clients"
EXPLANATION = (
    "Each step of the climb by itself: latencies of unlike numbers of clients are never pooled. Where throughput rises "
    "no more, further clients only wait. The window after the climb has as many clients as the best step had."
)


def rows(comparison: Comparison) -> list[tuple[LongRow, tuple[str, Text, Text, Text]]]:
    """The cells of `HEADER` after its first, with the row of the comparison that they belong to."""
    found = []
    for row in comparison.rows:
        for point in curve(row.cells["saturation"]) if "saturation" in row.cells else ():
            rate, latencies = Text(formats.whole_value(point.pairs_per_s)), point.acquire_us
            found.append((row, (str(point.clients), rate, _ms(latencies["p50"]), _ms(latencies["p99"]))))
    return found


def _ms(value: Value) -> Text:
    return Text(formats.ms_value(value), measured=not isinstance(value, Absent))
