"""Reads hazards.md, and holds every number of its tables against the judge's own."""

import re
from collections.abc import Iterator, Mapping, Sequence

from tests.judge import tables
from tests.judge.comparison import COUNT, Comparison
from tests.judge.counts import Count
from tests.judge.lines import NOT_MEASURED, Line
from tests.judge.printed import reason
from tests.judge.records import Run, Trial, counted
from tests.judge.searches import searches
from tests.judge.settled import lines_of, table_of
from tests.judge.windows import beyond, fit, off_the_line

NOTHING = "—"
_CELL = re.compile(r"^(\S+)(?: \((\S+–\S+?)?(?:, )?(never in \d+ of \d+)?\))?$")  # 1,002 (988–1,022, never in 1 of 6)


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


def sentence(pattern: str, text: str, seen: Comparison) -> Iterator[tuple[str, ...]]:
    """The numbers of a sentence that must be there once."""
    (found,) = re.finditer(pattern, text)
    yield from seen.each([found.groups()], lambda _: text.count("\n", 0, found.start()))


def compare_page(text: str, runs: Sequence[Run], titles: Mapping[str, str], seen: Comparison) -> None:
    """hazards.md. `titles` are the systems by the names that people read."""
    text = re.sub(r"\u2212(?=\d)", "-", text.replace("\u00a0", " "))  # parameters are as scenarios have them
    judged, every = lines_of(tuple(runs)), counted(list(runs))
    used = sum(not run.void for run in runs)
    for counted_runs in sentence(r"(\d+) started, (\d+) counted, with ([\d,]+) trials", text, seen):
        seen.same("hazards.md, runs and trials", counted_runs, (str(len(runs)), str(used), f"{len(every):,}"))
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
    if line := fit(paused):
        seen.same(f"{where}, is there a slope", row[2] != NOTHING, len(line) > 1)
        if len(line) > 1:
            seen.near(f"{where}, slope", row[2], line[0])
    off_ms, off_ttls = off_the_line(paused)
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
    reason(f"{where}, reason", told["Why"], line, seen)
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
    judged = table_of(tuple(of_scenario), scenario, chosen)
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


_STORED = {"notified ms": "told ms"}  # what a table calls otherwise than the records do


def _measured(row: tables.TableRow, column: str) -> list[float]:
    names = {name for one in row.trials for name in one.told.get("measures", {})}
    stored = _STORED.get(_label(column), _label(column))
    (name,) = [one for one in names if one.replace("_", " ") == stored] or [column]
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
        ((middle, spread, told),) = _CELL.findall(cell)
        seen.counts(f"{where}, never", told, [Count(never, len(values))] if never else [])
        _spread(where, f"{middle} ({spread})" if spread else middle, came, seen)


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
