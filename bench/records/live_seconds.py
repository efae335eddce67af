"""seconds.csv of a live session: what its page showed, a line a second for each system.

`at_s` counts from when the session began; `at_ns` is the same instant on the clock of the events and faults. What so
few operations do not tell is empty. Percentiles are of the seconds before, as on the page.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = "live"  # in the campaign's folder: the files that the page hands out
SECONDS_FILE = "seconds.csv"
_OF_ALL = ("holders", "waiters", "generator_cpu_share", "machine_cpu_share")
_OF_SYSTEM = (
    "pairs_per_s",
    "acquire_us_p50",
    "acquire_us_p99",
    "acquire_us_p999",
    "queue_wait_us_p50",
    "queue_wait_us_p99",
    "hand_off_us_p50",
    "hand_off_us_p99",
    "longest_streak",
    "double_holds",
    "failed",
)
COLUMNS = ("at_s", "at_ns", "system", *_OF_SYSTEM, *_OF_ALL)
HEAD = ",".join(COLUMNS) + "\n"


def lines_of(moment: Mapping[str, Any], at_ns: int) -> str:
    """The lines of one moment, as the page shows it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for system, facts in moment["systems"].items():
        shown = [facts.get(name) for name in _OF_SYSTEM]
        writer.writerow([moment["at_s"], at_ns, system, *shown, *(moment[name] for name in _OF_ALL)])
    return text.getvalue()


def read_seconds(path: Path) -> Iterator[Mapping[str, str]]:
    """Each line by the names of the columns; empty texts where nothing is known. Raises OSError."""
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
