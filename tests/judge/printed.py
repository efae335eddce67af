"""Reads what lockbench printed, and holds every count in it against the judge's own."""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence

from tests.judge import tables
from tests.judge.claims import findings
from tests.judge.claims.base import Finding
from tests.judge.comparison import COUNT, Comparison
from tests.judge.counts import Count, total
from tests.judge.fence import fence_faults, without_verdict
from tests.judge.lines import FENCED, NOT_MEASURED, NOT_SEEN, Line, lines
from tests.judge.moments import two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.reasons import clauses_of, told_of
from tests.judge.records import Run, Trial, counted
from tests.judge.searches import searches
from tests.judge.waiting import never_served
from tests.judge.windows import beyond, fit, off_the_line
from tests.judge.writes import accepted, late, late_read, lost_updates, refused, stale

NOTHING = "—"
_NUMBER = re.compile(r"[+\-−]?\d[\d,]*(?:\.\d+)?")
SAFETY = frozenset(
    f"C{number}"
    for first, last in ((13, 31), (33, 39), (44, 47), (53, 60), (63, 64), (67, 68))
    for number in range(first, last + 1)
)


# -- CSV -------------------------------------------------------------------------------------------------------------


def compare_verdicts(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """hazard_verdicts.csv: one row a system and fault."""
    judged = lines(runs)
    every = enumerate(csv.DictReader(io.StringIO(text)))
    rows = {(row["system"], row["fault"]): (number, row) for number, row in every}
    seen.same("hazard_verdicts.csv, its rows", set(rows), set(judged))
    for key in seen.each([one for one in rows if one in judged], lambda key: rows[key][0]):
        row, line = rows[key][1], judged[key]
        tally, where = line.tally, f"hazard_verdicts.csv, {' under '.join(key)}"
        off, on = tally.late_accepted(False), tally.late_accepted(True)
        exact = {
            "hazard": line.counted_hazard,
            "verdict": tally.word,
            "shown": line.behind.seen,
            "of_trials": line.behind.of,
            "of_runs": len(line.behind.runs),
            "shown_outside": tally.outside.seen,
            "of_outside": tally.outside.of,
            "late_accepted_fence_off": off.seen,
            "late_judged_fence_off": off.of,
            "late_accepted_fence_on": on.seen,
            "late_judged_fence_on": on.of,
            "unavailable": tally.nobody.seen,
            "of_exposed_to_that": tally.nobody.of,
            "has_token": tally.has_token,
            "emulator": any("emulator" in one.run.history.get("tags", []) for one in tally.trials),
        }
        seen.same(f"{where}, evidence_runs", set(row["evidence_runs"].split()), set(line.evidence))
        seen.same(f"{where}, void_runs", row["void_runs"].split(), line.void)
        for name, value in exact.items():
            seen.same(f"{where}, {name}", row[name], str(value))
        for name, value in (("upper_bound_of_runs", line.behind.bound), ("overlap_s_max", tally.longest_ms / 1e3)):
            seen.same(f"{where}, {name}", row[name], f"{value:.6g}")
        _reason(f"{where}, reason", row["reason"], line, seen)


def _reason(where: str, text: str, line: Line, seen: Comparison) -> None:
    seen.told(where, text, told_of(line))
    seen.clauses(where, text, clauses_of(line))


def compare_trials(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """hazards.csv: one row a trial."""
    judged = {(one.run.run_id, one.name): one for run in runs for one in run.trials}
    rows = list(enumerate(csv.DictReader(io.StringIO(text))))
    without = [row["run_id"] for _, row in rows if not row["trial"]]
    seen.same("hazards.csv, runs without a trial", set(without), {run.run_id for run in runs if not run.trials})
    rows = [(number, row) for number, row in rows if row["trial"]]
    seen.same("hazards.csv, its trials", len(rows), len(judged))
    for _, row in seen.each(rows, lambda one: one[0]):
        one = judged[row["run_id"], row["trial"]]
        pairs, falls = pairs_and_falls(one)
        exact = {
            "repetition": one.run.plan["repetition"],
            "ttl_ms": int(one.ttl_ms),
            "grants": len(one.beliefs),
            "writes": len(one.writes),
            "late_accepted": accepted(late(one)) - late_read(one),
            "late_refused": refused(late(one)),
            "late_read": late_read(one),
            "overtaken": len(late(one)) - len(stale(one)),
            "lost_updates": lost_updates(one),
            "token_pairs": pairs,
            "token_faults": falls,
            "fence_faults": fence_faults(one),
            "never_served": never_served(one),
            "unknown": without_verdict(one),
        }
        for name, value in exact.items():
            seen.same(f"hazards.csv, {row['run_id']}, trial {one.name}, {name}", int(float(row[name])), value)
        where = f"hazards.csv, {row['run_id']}, trial {one.name}"
        seen.same(f"{where}, overlap_s", row["overlap_s"], f"{two_at_once_ns(one) / 1e9:.6g}")
        for column, cell in row.items():
            kind, _, name = column.partition("_")
            told = {"parameter": one.setting, "measured": one.measured}.get(kind)
            value = told(name) if told else None
            if kind == "parameter" and (cell or value is not None):
                seen.same(f"{where}, {column}", _parameter(cell), tables.plain(value))
            elif kind == "measured" and (cell or value is not None):
                seen.same(f"{where}, {column}", cell, "" if value is None else f"{value:.6g}")


def _parameter(cell: str) -> str:
    return {"True": "on", "False": "off"}.get(cell, tables.plain(cell))


def compare_claims(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """claims.csv: what was found of each claim about safety, and every count of its reason."""
    judged = findings(counted(list(runs)))
    told = set()
    for _, row in seen.each(enumerate(csv.DictReader(io.StringIO(text))), lambda one: one[0]):
        if row["id"] not in SAFETY:
            continue
        key, where = (row["id"], row["system"]), f"claims.csv, {row['id']} of {row['system']}"
        told.add(key)
        one, found = judged.get(key, Finding()), row.get("found", "")
        seen.counts(where, found, one.counts)
        seen.told(f"{where}, why", row["why"], one.why)
        seen.clauses(where, f"{found}; {row['why']}", one.clauses)
        numbers = _NUMBER.findall(COUNT.sub("", found).replace("p95", ""))
        if one.numbers:
            seen.same(f"{where}, how many numbers", len(numbers), len(one.numbers))
            for printed, value in zip(numbers, one.numbers, strict=False):
                seen.near(where, printed, value)
            if row["id"] != "C57":
                seen.same(f"{where}, told again in the reason", found in row["why"], True)
    seen.same("claims.csv, claims with a finding that are not there", set(judged) - told, set())


# -- Markdown --------------------------------------------------------------------------------------------------------


class Row(list[str]):
    """The cells of a line of a table, with the line's number in its file."""

    def __init__(self, cells: list[str], number: int) -> None:
        super().__init__(cells)
        self.number = number


def tables_of(text: str) -> list[tuple[str, Row, list[Row]]]:
    """Each table with the heading above it, its header and its lines."""
    found: list[tuple[str, Row, list[Row]]] = []
    heading, open_table = "", False
    for number, line in enumerate(text.splitlines()):
        if line.startswith("#"):
            heading = line.lstrip("# ")
        cells = Row([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]], number)
        if not line.startswith("|"):
            open_table = False
        elif not open_table:
            found.append((heading, cells, []))
            open_table = True
        elif not set(line) <= set("|-: "):
            found[-1][2].append(cells)
    return found


def _sentence(pattern: str, text: str, seen: Comparison) -> Iterator[tuple[str, ...]]:
    """The numbers of a sentence that must be there once."""
    (found,) = re.finditer(pattern, text)
    yield from seen.each([found.groups()], lambda _: text.count("\n", 0, found.start()))


def compare_page(text: str, runs: Sequence[Run], titles: Mapping[str, str], seen: Comparison) -> None:
    """hazards.md. `titles` are the systems by the names that people read."""
    text = text.replace("\u00a0", " ")
    judged, every = lines(runs), counted(list(runs))
    used = sum(not run.void for run in runs)
    for counted_runs in _sentence(r"(\d+) started, (\d+) counted, with (\d+) trials", text, seen):
        seen.same("hazards.md, runs and trials", counted_runs, (str(len(runs)), str(used), str(len(every))))
    void = [(str(len(runs) - used), str(len(runs)))] if used < len(runs) else []
    seen.same("hazards.md, void runs", re.findall(r"Void: (\d+) of (\d+) runs were not as staged", text), void)
    scenarios = set()
    for heading, header, rows in tables_of(text):
        if header[0] == "Fault" and "Why" not in header:
            for row in seen.each(rows, _number):
                for name, cell in zip(header[1:], row[1:], strict=True):
                    _verdict_cell(cell, judged.get((titles[name], row[0])), f"hazards.md, {name} under {row[0]}", seen)
        elif header[0] == "Fault":
            told_of_all = [(titles[row[1]], row[0]) for row in rows]
            seen.same("hazards.md, reasons", sorted(told_of_all), sorted(judged))
            for row in seen.each(rows, _number):
                _reason_row(header, row, judged[titles[row[1]], row[0]], seen)
        elif "Pauses beyond the TTL" in header:
            for row in seen.each(rows, _number):
                paused = [one for one in every if one.scenario == "gc-pause" and one.system == titles[row[0]]]
                _window(row, paused, seen)
        else:
            scenario = heading.partition(":")[0]
            scenarios.add(scenario)
            _scenario(scenario, header, rows, runs, titles, seen)
    seen.same("hazards.md, its scenarios", scenarios, {run.scenario for run in runs if run.trials or run.void})


def _number(row: Row) -> int:
    return row.number


def _window(row: Row, paused: list[Trial], seen: Comparison) -> None:
    where = f"hazards.md, window of {row[0]}"
    seen.same(where, row[1], str(len(beyond(paused))))
    line, (off_ms, off_ttls) = fit(paused) or [0.0], off_the_line(paused)
    seen.same(f"{where}, is there a slope", row[2] != NOTHING, len(line) > 1)
    if len(line) > 1:
        seen.near(f"{where}, slope", row[2], line[0])
    seen.near(f"{where}, off the line", row[3], off_ms)
    seen.near(f"{where}, off the line in TTLs", row[4].removesuffix(" %"), 100.0 * off_ttls)


def _verdict_cell(cell: str, line: Line | None, where: str, seen: Comparison) -> None:
    if line is None:
        seen.same(where, cell, NOTHING)
        return
    word, _, count = cell.partition("** ")
    seen.same(where, word.strip("*"), line.tally.shown_word)
    seen.counts(where, count, [] if line.tally.word == NOT_MEASURED else [line.behind])


def _reason_row(header: Sequence[str], row: Sequence[str], line: Line, seen: Comparison) -> None:
    told, where = dict(zip(header, row, strict=True)), f"hazards.md, why {row[1]} under {row[0]}"
    seen.same(where, told["Verdict"], line.tally.shown_word)
    off, on = line.tally.late_accepted(False), line.tally.late_accepted(True)
    seen.counts(f"{where}, shown", told["Shown"], [] if line.tally.word == NOT_MEASURED else [line.behind])
    seen.counts(f"{where}, fence off", told["Late accepted, fence off"], [off] if off.of else [])
    seen.counts(f"{where}, fence on", told["Fence on"], [on] if on.of else [])
    _reason(f"{where}, reason", told["Why"], line, seen)
    seen.same(f"{where}, runs", _run_ids(told["Runs"]), set(line.evidence))


def _run_ids(cell: str) -> set[str]:
    """gc-pause-redis-01, -02 are two runs."""
    found: list[str] = []
    for part in cell.split(", "):
        found.append(f"{found[-1].rpartition('-')[0]}{part}" if part.startswith("-") else part)
    return set(found) - {NOTHING}


def _scenario(
    scenario: str,
    header: Row,
    rows: list[Row],
    runs: Sequence[Run],
    titles: Mapping[str, str],
    seen: Comparison,
) -> None:
    of_scenario = [run for run in runs if run.scenario == scenario]
    names = set(tables.SEARCHED) if scenario == tables.SEARCH else tables.varying(of_scenario)
    columns = header[1 : header.index("n")]
    by_label = {name.replace("_", " "): name for name in names}
    chosen = tuple(by_label.get(_label(column), column) for column in columns)
    seen.same(f"hazards.md, {scenario}, its parameters", set(chosen), names)
    judged = tables.table(of_scenario, scenario, chosen)
    printed = {}
    for row in seen.each(rows, _number):
        told = dict(zip(header, row, strict=True))
        if told["n"] == NOTHING:
            void = told["Verdict"].removeprefix("void: ").partition(":")[0]
            seen.same(f"hazards.md, {scenario}, void", void in {run.run_id for run in runs if run.void}, True)
            continue
        values = (tables.plain(None if told[name] == NOTHING else told[name]) for name in columns)
        printed[titles[row[0]], *values] = (row.number, told)
    seen.same(f"hazards.md, {scenario}, its rows", set(printed), set(judged))
    for key in seen.each([one for one in printed if one in judged], lambda key: printed[key][0]):
        _row(f"hazards.md, {scenario}, {' '.join(key)}", printed[key][1], judged[key], chosen, header, seen)


def _label(column: str) -> str:
    return re.sub(r", ttl$", " ttls", column.lower()).replace(",", "")


def _row(
    where: str,
    told: Mapping[str, str],
    row: tables.TableRow,
    parameters: Sequence[str],
    header: Sequence[str],
    seen: Comparison,
) -> None:
    seen.same(f"{where}, n", told["n"], str(len(row.trials)))
    seen.same(f"{where}, runs", _run_ids(told["Runs"]), set(row.run_ids))
    seen.same(f"{where}, verdict", told["Verdict"], row.word or NOTHING)
    searched = row.trials[0].scenario == tables.SEARCH
    if not searched:
        for column, value in (
            ("late writes accepted", row.late_accepted),
            ("refused", row.late_refused),
            ("lost updates", row.lost_updates),
        ):
            # A column that is not there says that there were none in the whole table.
            seen.same(f"{where}, {column}", told.get(column, "0"), str(value))
        if "token faults" in told:
            seen.counts(
                f"{where}, token faults",
                told["token faults"],
                [Count(row.token_falls, row.token_pairs)] if row.token_pairs else [],
            )
        else:
            seen.same(f"{where}, token faults", 0, row.token_falls)
        if "two holders, s" in told and told["two holders, s"] != NOTHING:
            _spread(f"{where}, two holders", told["two holders, s"], row.overlaps_s, seen)
    start = header.index("n") + 1
    for column in header[start:-2]:
        if column in ("two holders, s", "late writes accepted", "refused", "lost updates", "token faults"):
            continue
        if searched:
            _search_cell(f"{where}, {column}", column, told[column], row, seen)
        else:
            _measure_cell(f"{where}, {column}", told[column], _measured(row, column), seen)


def _measured(row: tables.TableRow, column: str) -> list[float]:
    names = {name for one in row.trials for name in one.told.get("measures", {})}
    (name,) = [one for one in names if one.replace("_", " ") == _label(column)] or [column]
    return row.measured(name)


def _measure_cell(where: str, cell: str, values: list[float], seen: Comparison) -> None:
    """How often it was so, or the median and the range, and how often it never came."""
    came = [value for value in values if value != -1.0]
    never = len(values) - len(came)
    if cell == NOTHING:
        seen.same(where, values, [])
    elif cell == "never":
        seen.same(where, never, len(values))
    elif COUNT.fullmatch(cell):
        seen.counts(where, cell, [Count(sum(value == 1.0 for value in values), len(values))])
    else:
        told = cell.partition(", never in ")
        seen.counts(f"{where}, never", cell, [Count(never, len(values))] if never else [])
        _spread(where, f"{told[0]})" if told[1] and " (" in told[0] else told[0], came, seen)


def _spread(where: str, cell: str, values: list[float], seen: Comparison) -> None:
    """1002 (988–1022): the median, and the least and the greatest where they read otherwise."""
    middle, _, spread = cell.removesuffix(")").partition(" (")
    seen.near(where, middle, _middle(values))
    least, _, most = spread.partition("–") if spread else (middle, "", middle)
    seen.near(f"{where}, least", least, min(values))
    seen.near(f"{where}, greatest", most, max(values))


def _search_cell(where: str, column: str, cell: str, row: tables.TableRow, seen: Comparison) -> None:
    ((_, found),) = searches(row.trials).items()
    seen.cells += 1
    value = {"smallest breaking, ms": found.smallest_ms, "largest harmless, ms": found.harmless_ms}.get(
        column, found.aside_ms
    )
    if value is None and column.startswith("smallest"):
        seen.near(where, cell.removeprefix("none up to "), found.largest_ms)
    elif value is None:
        seen.same(where, cell, NOTHING)
    else:
        seen.near(where, cell, value)


def _middle(values: list[float]) -> float:
    return tables.middle_and_range(values)[0]


# -- the glance ------------------------------------------------------------------------------------------------------

PAUSE = "pause of the holder"
CLOCKS = ("clock jump of the servers", "clock of a client wrong")


def compare_glance(text: str, runs: Sequence[Run], titles: Mapping[str, str], seen: Comparison) -> None:
    """The rows of comparison.md's first table that come from hazards, and what it says of the campaign."""
    header, rows = next((header, rows) for _, header, rows in tables_of(text) if header[0] == "")
    every, judged = counted(list(runs)), lines(runs)
    used = sum(not run.void for run in runs)
    for told in _sentence(r"Under faults:.* (\d+) of (\d+) runs counted, with (\d+) trials", text, seen):
        seen.same("comparison.md, runs and trials", told, (str(used), str(len(runs)), str(len(every))))
    places = {row[0]: place for place, row in enumerate(rows)}
    for name, compare in (
        ("Fencing token", _token_cell),
        ("Safe when the holder pauses", _pause_cell),
        ("Sensitive to clocks", _clock_cell),
        ("Consensus required", _quorum_cell),
    ):
        place = next(place for told, place in places.items() if told.startswith(name))
        row = rows[place + 1]
        for title, cell in seen.each(zip(header[1:], row[1:], strict=True), lambda _, row=row: row.number):
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
