"""Reads the first table of comparison.md, and holds what it says of hazards against the judge's own."""

import re
from collections.abc import Mapping, Sequence

from tests.judge import tables
from tests.judge.comparison import Comparison
from tests.judge.counts import Count, total
from tests.judge.lines import FENCED, NOT_MEASURED, NOT_SEEN, Line
from tests.judge.page import sentence, tables_of
from tests.judge.records import Run, Trial, counted
from tests.judge.searches import searches
from tests.judge.settled import lines_of

PAUSE = "pause of the holder"
CLOCKS = ("server clock jump", "wrong client clock")


def compare_glance(text: str, runs: Sequence[Run], titles: Mapping[str, str], seen: Comparison) -> None:
    """The rows of comparison.md's first table that come from hazards, and what it says of the campaign."""
    header, rows = next((header, rows) for _, header, rows in tables_of(text) if header[0] == "")
    every, judged = counted(list(runs)), lines_of(tuple(runs))
    used = sum(not run.void for run in runs)
    for told in sentence(r"Under faults:.* (\d+) of (\d+) runs counted, with ([\d,]+) trials", text, seen):
        seen.same("comparison.md, runs and trials", told, (str(used), str(len(runs)), f"{len(every):,}"))
    places = {row[0]: place for place, row in enumerate(rows)}
    for name, compare in (
        ("Fencing token", _token_cell),
        ("Safe when the holder pauses", _pause_cell),
        ("Sensitive to clocks", _clock_cell),
        ("Consensus required", _quorum_cell),
    ):
        place = next(place for told, place in places.items() if told.startswith(name))
        for row in seen.each([rows[place + 1]], lambda row: row.number):
            for title, cell in zip(header[1:], row[1:], strict=True):
                system = titles[max((one for one in titles if title.startswith(one)), key=len)]
                plain = re.sub(r" \[\d+\]", "", cell).replace("\u00a0", " ").strip("* ")
                compare(f"comparison.md, {name}, {title}", plain, system, judged, every, seen)


def _pause_cell(
    where: str,
    cell: str,
    system: str,
    judged: Mapping[tuple[str, str], Line],
    every: Sequence[Trial],
    seen: Comparison,
) -> None:
    line = judged.get((system, PAUSE))
    if line is None or line.tally.word == NOT_MEASURED:
        seen.counts(where, cell, [])
        return
    word, _, told = cell.partition(":")
    falls = any(
        tables.token_word([one for one in of_event if tables.event_of(one) == event]) == "does not rise"
        for of_event in [[one for one in every if one.system == system and one.scenario in tables.TOKENS]]
        for event in {tables.event_of(one) for one in of_event}
    )
    survives = ", while the counter survives" if line.tally.word == FENCED and falls else ""
    seen.same(where, word, f"{line.tally.shown_word}{survives}")
    seen.counts(where, told, [line.behind])
    pinned = re.search(r"pinned for up to (\S+) s", told)
    waits = [one.measured("wait_ms") or 0.0 for one in line.tally.exposed if not one.has_lease]
    seen.same(f"{where}, does it pin", pinned is not None, bool(waits))
    if pinned and waits:
        seen.near(f"{where}, pinned", pinned.group(1), max(waits) / 1e3)


FELL = {
    "entry_deleted": "its entry was deleted",
    "server_killed": "a server kill",
    "server_restarted_empty": "a restart without data",
}


def _token_cell(
    where: str,
    cell: str,
    system: str,
    judged: Mapping[tuple[str, str], Line],
    every: Sequence[Trial],
    seen: Comparison,
) -> None:
    """Of a campaign of load and this one: how many grants it rose over is not told apart, when it fell is."""
    sources = [one for one in every if one.system == system and one.scenario in tables.TOKENS]
    by_event = {event: [one for one in sources if tables.event_of(one) == event] for event in FELL}
    fell = [words for event, words in FELL.items() if tables.token_word(by_event[event]) == "does not rise"]
    told = cell.partition("fell after ")[2]
    seen.same(f"{where}, fell", told.split(", ") if told else [], fell)
    seen.same(f"{where}, no token", cell == "no token", bool(sources) and tables.token_word(sources) == "no token")


def _quorum_cell(
    where: str,
    cell: str,
    system: str,
    judged: Mapping[tuple[str, str], Line],
    every: Sequence[Trial],
    seen: Comparison,
) -> None:
    """A run knows how many servers there were, and how many had to answer."""
    adapters = {(int(one.number("quorum")), int(one.number("nodes"))) for one in every if one.system == system}
    several = [Count(*one) for one in adapters if one[1] > 1]
    seen.counts(where, cell, several)


def _clock_cell(
    where: str,
    cell: str,
    system: str,
    judged: Mapping[tuple[str, str], Line],
    every: Sequence[Trial],
    seen: Comparison,
) -> None:
    if "once clocks jump by" in cell:
        broke = [one for key, one in searches(every).items() if key[0] == system and one.breaking]
        seen.same(where, cell.startswith("yes: two holders"), bool(broke))
        return
    of_system = [one for (name, fault), one in judged.items() if name == system and _is_clock(fault)]
    found = [one for one in of_system if one.tally.word != NOT_MEASURED]
    harmed = [one for one in found if one.tally.harmed]
    if not found:
        seen.counts(where, cell, [])
        return
    # Jumps that could only keep everybody from the lock are no trials of two holders.
    count = total(one.behind for one in harmed) if harmed else total(one.tally.shown for one in found)
    word = "yes" if harmed else NOT_SEEN if count.too_few else "no"
    seen.same(where, cell.partition(":")[0], word)
    seen.counts(where, cell, [count])
    runs = re.search(r", (\d+) runs?$", cell)
    if not harmed:
        seen.same(f"{where}, runs", runs and int(runs.group(1)), len(count.runs))


def _is_clock(fault: str) -> bool:
    return any(fault == one or fault.startswith(f"{one} (") for one in CLOCKS)
