"""Reads what lockbench printed, and holds every count in it against the judge's own."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tests.judge import tables
from tests.judge.claims import findings, outlived
from tests.judge.counts import Count, total
from tests.judge.fence import fence_faults, without_verdict
from tests.judge.lines import FENCED, NOT_MEASURED, NOT_SEEN, Line, lines
from tests.judge.meanings import nodes_down
from tests.judge.moments import two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.records import Run, Trial, counted
from tests.judge.searches import searches
from tests.judge.waiting import never_served
from tests.judge.windows import beyond
from tests.judge.writes import accepted, late, late_read, lost_updates, refused, stale

NOTHING = "—"
# "3 of 6 pairs in 2 runs, ≤ 78 %"; a part of a time ("1,004 of 2,000 ms") is no count.
COUNT = re.compile(
    r"(?<![\d.,])(\d[\d,]*) of (\d[\d,]*\d|\d)(?![\d,]* ms)(?: pairs(?: of grants)?)?"
    r"(?: in (\d+) runs?, ≤ (\d+) % of runs at 95 %)?"
)
_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")
SAFETY = frozenset(
    f"C{number}"
    for first, last in ((13, 31), (33, 39), (44, 47), (53, 60), (63, 64), (67, 68))
    for number in range(first, last + 1)
)


@dataclass
class Comparison:
    """What was held against each other."""

    cells: int = 0
    wrong: list[str] = field(default_factory=list)

    def same(self, where: str, printed: object, judged: object) -> None:
        self.cells += 1
        if printed != judged:
            self.wrong.append(f"{where}: printed {printed!r}, judged {judged!r}")

    def near(self, where: str, printed: str, judged: float) -> None:
        """A number as it was rounded for print."""
        digits = printed.replace(",", "").replace("−", "-").lstrip("<+")
        places = len(digits.partition(".")[2])
        # Three digits count at least: what is printed without places may have been rounded to those.
        coarse = max(0.5 * 10.0**-places, 0.005 * abs(judged) if not places and abs(judged) >= 1_000.0 else 0.0)
        self.cells += 1
        if abs(float(digits) - judged) > coarse * 1.001 and not (printed.startswith("<") and judged < float(digits)):
            self.wrong.append(f"{where}: printed {printed}, judged {judged:g}")

    def counts(self, where: str, printed: str, judged: Sequence[Count]) -> None:
        """Every count of a text, in its order."""
        found = list(COUNT.finditer(printed))
        self.same(f"{where}, how many counts", len(found), len(judged))
        for match, one in zip(found, judged, strict=False):
            self._count(where, match, one)

    def among(self, where: str, printed: str, judged: Iterable[Count]) -> None:
        """Every count of a text is one of these."""
        known = list(judged)
        for match in COUNT.finditer(printed):
            fitting = [one for one in known if (one.seen, one.of) == _pair(match)]
            self.cells += 1
            if not any(_bounded(match, one) for one in fitting):
                told = sorted({f"{one.seen} of {one.of}" for one in known})
                self.wrong.append(f"{where}: printed {match.group()!r}, judged {', '.join(told)}")

    def _count(self, where: str, match: re.Match[str], one: Count) -> None:
        self.same(where, _pair(match), (one.seen, one.of))
        if match.group(3):
            self.cells += 1
            if not _bounded(match, one):
                self.wrong.append(f"{where}: printed {match.group()!r}, judged {len(one.runs)} runs, {one.bound:.3f}")


def _pair(match: re.Match[str]) -> tuple[int, int]:
    seen, of = (int(match.group(place).replace(",", "")) for place in (1, 2))
    return seen, of


def _bounded(match: re.Match[str], one: Count) -> bool:
    if not match.group(3):
        return True
    return int(match.group(3)) == len(one.runs) and int(match.group(4)) == round(100.0 * one.bound)


# -- CSV -------------------------------------------------------------------------------------------------------------


def compare_verdicts(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """hazard_verdicts.csv: one row a system and fault."""
    judged = lines(runs)
    printed = {(row["system"], row["fault"]): row for row in csv.DictReader(io.StringIO(text))}
    seen.same("hazard_verdicts.csv, its rows", set(printed), set(judged))
    for key in (one for one in printed if one in judged):
        row, line = printed[key], judged[key]
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
        }
        seen.same(f"{where}, evidence_runs", set(row["evidence_runs"].split()), set(line.evidence))
        seen.same(f"{where}, void_runs", row["void_runs"].split(), line.void)
        for name, value in exact.items():
            seen.same(f"{where}, {name}", row[name], str(value))
        for name, value in (("upper_bound_of_runs", line.behind.bound), ("overlap_s_max", tally.longest_ms / 1e3)):
            seen.same(f"{where}, {name}", f"{float(row[name]):.5g}", f"{float(f'{value:.6g}'):.5g}")
        seen.among(f"{where}, reason", row["reason"], _of_reason(line))


def _of_reason(line: Line) -> list[Count]:
    """All that a reason may count."""
    tally = line.tally
    told = [tally.shown, tally.outside, tally.nobody, tally.late_accepted(False), tally.late_accepted(True)]
    told += outlived(tally.exposed)
    if any(one.scenario == "nodes-down" for one in tally.exposed):
        nodes = int(tally.exposed[0].number("nodes"))
        told.append(Count(max(map(nodes_down, tally.exposed)), nodes))
    return told


def compare_trials(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """hazards.csv: one row a trial."""
    judged = {(one.run.run_id, one.name): one for run in runs for one in run.trials}
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["trial"]]
    seen.same("hazards.csv, its trials", len(rows), len(judged))
    for row in rows:
        one = judged[row["run_id"], row["trial"]]
        pairs, falls = pairs_and_falls(one)
        exact = {
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
        where = f"hazards.csv, {row['run_id']}, trial {one.name}, overlap_s"
        seen.same(where, f"{float(row['overlap_s']):.5g}", f"{float(f'{two_at_once_ns(one) / 1e9:.6g}'):.5g}")


def compare_claims(text: str, runs: Sequence[Run], seen: Comparison) -> None:
    """claims.csv: what was found of each claim about safety, and every count of its reason."""
    judged = findings(counted(list(runs)))
    told = set()
    for row in csv.DictReader(io.StringIO(text)):
        if row["id"] not in SAFETY:
            continue
        key, where = (row["id"], row["system"]), f"claims.csv, {row['id']} of {row['system']}"
        told.add(key)
        one, found = judged.get(key), row.get("found", "")
        if one is None:
            seen.counts(where, found, [])
            continue
        seen.counts(where, found, one.counts)
        seen.among(f"{where}, why", row["why"], one.beside)
        numbers = _NUMBER.findall(COUNT.sub("", found).replace("p95", ""))
        for pattern, value in one.told.items():
            for printed in re.findall(pattern, f"{found}; {row['why']}"):
                seen.near(f"{where}, {pattern}", printed, value)
        if one.numbers:
            seen.same(f"{where}, how many numbers", len(numbers), len(one.numbers))
            for printed, value in zip(numbers, one.numbers, strict=False):
                seen.near(where, printed, value)
            if row["id"] != "C57":
                seen.same(f"{where}, told again in the reason", found in row["why"], True)
    seen.same("claims.csv, claims with a finding that are not there", set(judged) - told, set())


# -- Markdown --------------------------------------------------------------------------------------------------------


def _tables_of(text: str) -> list[tuple[str, list[str], list[list[str]]]]:
    """Each table with the heading above it, its header and its lines."""
    found: list[tuple[str, list[str], list[list[str]]]] = []
    heading, open_table = "", False
    for line in text.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        cells = [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not line.startswith("|"):
            open_table = False
        elif not open_table:
            found.append((heading, cells, []))
            open_table = True
        elif not set(line) <= set("|-: "):
            found[-1][2].append(cells)
    return found


def compare_page(text: str, runs: Sequence[Run], titles: Mapping[str, str], seen: Comparison) -> None:
    """hazards.md. `titles` are the systems by the names that people read."""
    text = text.replace("\u00a0", " ")
    judged, every = lines(runs), counted(list(runs))
    (told,) = re.findall(r"(\d+) started, (\d+) counted, with (\d+) trials", text)
    used = sum(not run.void for run in runs)
    seen.same("hazards.md, runs and trials", tuple(map(int, told)), (len(runs), used, len(every)))
    void = [_pair(match) for match in COUNT.finditer("".join(re.findall(r"Void: (.*) were not as staged", text)))]
    seen.same("hazards.md, void runs", void, [(len(runs) - used, len(runs))] if used < len(runs) else [])
    scenarios = set()
    for heading, header, rows in _tables_of(text):
        if header[0] == "Fault" and "Why" not in header:
            for row in rows:
                for name, cell in zip(header[1:], row[1:], strict=True):
                    _verdict_cell(cell, judged.get((titles[name], row[0])), f"hazards.md, {name} under {row[0]}", seen)
        elif header[0] == "Fault":
            seen.same("hazards.md, reasons", len(rows), len(judged))
            for row in rows:
                _reason_row(header, row, judged[titles[row[1]], row[0]], seen)
        elif "Pauses beyond the TTL" in header:
            for row in rows:
                paused = [one for one in every if one.scenario == "gc-pause" and one.system == titles[row[0]]]
                seen.same(f"hazards.md, window of {row[0]}", row[1], str(len(beyond(paused))))
        else:
            scenario = heading.partition(":")[0]
            scenarios.add(scenario)
            _scenario(scenario, header, rows, runs, titles, seen)
    seen.same("hazards.md, its scenarios", scenarios, {run.scenario for run in runs})


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
    seen.among(f"{where}, reason", told["Why"], _of_reason(line))
    for pattern, value in (
        (r"(\d+) of these came before the resource", line.tally.ahead),
        (r"(\d+) more came before the new holder's first read", line.tally.read),
    ):
        for printed in re.findall(pattern, told["Why"]):
            seen.same(f"{where}, {pattern}", int(printed), value)
    seen.same(f"{where}, runs", _run_ids(told["Runs"]), set(line.evidence))


def _run_ids(cell: str) -> set[str]:
    """gc-pause-redis-01, -02 are two runs."""
    found: list[str] = []
    for part in cell.split(", "):
        found.append(f"{found[-1].rpartition('-')[0]}{part}" if part.startswith("-") else part)
    return set(found) - {NOTHING}


def _scenario(
    scenario: str,
    header: list[str],
    rows: list[list[str]],
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
    for row in rows:
        told = dict(zip(header, row, strict=True))
        if told["n"] == NOTHING:
            void = told["Verdict"].removeprefix("void: ").partition(":")[0]
            seen.same(f"hazards.md, {scenario}, void", void in {run.run_id for run in runs if run.void}, True)
            continue
        values = (tables.plain(None if told[name] == NOTHING else told[name]) for name in columns)
        printed[titles[row[0]], *values] = told
    seen.same(f"hazards.md, {scenario}, its rows", set(printed), set(judged))
    for key in (one for one in printed if one in judged):
        _row(f"hazards.md, {scenario}, {' '.join(key)}", printed[key], judged[key], chosen, header, seen)


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
            seen.near(f"{where}, two holders", told["two holders, s"].split(" ")[0], _middle(row.overlaps_s))
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
    """How often it was so, or the median, and how often it never came."""
    if cell == NOTHING:
        return
    never = sum(value == -1.0 for value in values)
    if "never in" in cell:
        seen.counts(where, cell, [Count(never, len(values))])
    elif cell == "never":
        seen.same(where, never, len(values))
    elif COUNT.fullmatch(cell):
        seen.counts(where, cell, [Count(sum(value == 1.0 for value in values), len(values))])
    if cell[0].isdigit() and not COUNT.fullmatch(cell):
        seen.near(where, cell.split(" ")[0], _middle([value for value in values if value != -1.0] or values))


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
    """The two rows about safety of comparison.md's first table."""
    header, rows = next((header, rows) for _, header, rows in _tables_of(text) if header[0] == "")
    every, judged = counted(list(runs)), lines(runs)
    places = {row[0]: place for place, row in enumerate(rows)}
    for name, compare in (("Safe when the holder pauses", _pause_cell), ("Sensitive to clocks", _clock_cell)):
        place = next(place for told, place in places.items() if told.startswith(name))
        for title, cell in zip(header[1:], rows[place + 1][1:], strict=True):
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
