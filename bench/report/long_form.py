"""The long form: one row a system in one setting, with everything that its numbers depend on."""

from collections.abc import Iterable, Mapping

from bench.analysis import names
from bench.analysis.cells import Absent, Cell, amplification
from bench.analysis.evidence import Evidence
from bench.analysis.runs import Setting, durability_text
from bench.report import formats
from bench.report.cell_texts import (
    amplification_words,
    claimed_amplification,
    claimed_number,
    ms_text,
    rate_text,
    whole_text,
)
from bench.report.costs import costs_of
from bench.report.formats import NOTHING
from bench.report.group_marks import GroupMarks
from bench.report.model import Text
from bench.report.table_model import ABSENT, Footnotes, LongRow


def long_rows(evidence: Evidence, notes: Footnotes) -> Iterable[LongRow]:
    """A row for every headline system, measured or not, and for everything else that the campaign ran."""
    systems = sorted({*evidence.headline, *evidence.systems}, key=lambda name: (names.position(name), name))
    marks = GroupMarks(evidence)
    found = [row for system in systems for row in _rows_of(evidence, system, notes, marks)]
    # Emulators last and together, after everything that may be looked at side by side.
    yield from sorted(found, key=lambda row: names.EMULATOR_TAG in row.tags)


def _rows_of(evidence: Evidence, system: str, notes: Footnotes, marks: GroupMarks) -> Iterable[LongRow]:
    by_setting: dict[Setting | None, list[Cell]] = {}
    for cell in evidence.cells:
        if cell.system == system:
            by_setting.setdefault(cell.setting, []).append(cell)
    if len(by_setting) == 2 and None in by_setting:
        # Cells whose runs all failed say nothing of the server: they belong to the one setting that was seen.
        orphans = by_setting.pop(None)
        next(iter(by_setting.values())).extend(orphans)
    if not by_setting:
        yield _long_row(evidence, system, None, {}, notes, marks)
    for setting, cells in by_setting.items():
        for number, row_cells in enumerate(_one_of_each(cells)):
            yield _long_row(evidence, system, setting, row_cells, notes, marks, unlike=number > 0)


def _one_of_each(cells: list[Cell]) -> list[dict[str, Cell]]:
    """Rows that hold each workload once: one of the same title with other parameters opens a further row."""
    rows: list[dict[str, Cell]] = []
    for cell in cells:
        name = cell.workload.title
        row = next((row for row in rows if name not in row), None)
        if row is None:
            row = {}
            rows.append(row)
        row[name] = cell
    return rows


def _long_row(
    evidence: Evidence,
    system: str,
    setting: Setting | None,
    cells: Mapping[str, Cell],
    notes: Footnotes,
    marks: GroupMarks,
    *,
    unlike: bool = False,
) -> LongRow:
    title = names.title(system, setting.engine if setting else "")
    if unlike:
        which = ", ".join(f"{name} {cell.workload.digest}" for name, cell in cells.items())
        title = f"{title}, other parameters: {which}"
    uncontended, contended, saturation = (cells.get(name) for name in ("uncontended", "contended", "saturation"))
    amplified = _amplified(evidence, contended, uncontended, notes)
    used = sum(len(cell.used) for cell in cells.values())
    own = {title: cell for title, cell in cells.items() if cell.workload.label}
    in_columns = [cell for title, cell in cells.items() if title not in own] or own.values()
    total = sum(len(cell.runs) for cell in cells.values())
    return LongRow(
        system=system,
        title=title,
        tags=setting.tags if setting else names.tags(system),
        **describe(setting, contended),
        runs=f"{used} of {total}" if total else "0",
        runs_per_cell=formats.spread(len(cell.used) for cell in in_columns) or "0",
        claimed_latency_ms=claimed_number(evidence, system, "acquire_latency"),
        acquire_ms_p50=_ms(uncontended, "acquire_us_p50", notes, marks),
        acquire_ms_p99=_ms(uncontended, "acquire_us_p99", notes, marks),
        acquire_ms_p999=_ms(uncontended, "acquire_us_p999", notes, marks),
        costs=costs_of(uncontended, evidence),
        claimed_throughput_per_s=claimed_number(evidence, system, "throughput"),
        throughput_pairs_per_s=_rate(saturation, notes, marks),
        claimed_amplification=claimed_amplification(evidence),
        contention_amplification=amplified,
        client_cpu_us_per_pair=whole_text(uncontended, "client_cpu_us_per_pair") if uncontended else ABSENT,
        cells=cells,
        own_marks={title: notes.of(cell) for title, cell in own.items()},
    )


def describe(setting: Setting | None, contended: Cell | None) -> dict[str, str]:
    """What a row's numbers depend on, by the field names of `LongRow`."""
    return {
        "wait": contended.workload.wait if contended else NOTHING,
        "durability": (durability_text(setting.durability) if setting else "") or NOTHING,
        "nodes": (formats.NOT_REPORTED if setting.nodes is None else str(setting.nodes)) if setting else NOTHING,
        "source": setting.source if setting else NOTHING,
        "version": setting.server_version if setting else NOTHING,
    }


def _ms(cell: Cell | None, metric: str, notes: Footnotes, groups: GroupMarks) -> Text:
    if cell is None:
        return ABSENT
    # The footnotes of a cell stand at its first number; three times the same marks would be noise.
    marks = notes.of(cell) if metric.endswith("_p50") else ()
    return groups.marked(ms_text(cell, metric, marks), cell, metric, notes)


def _amplified(evidence: Evidence, contended: Cell | None, uncontended: Cell | None, notes: Footnotes) -> Text:
    if contended is None:
        return ABSENT
    waiting, single = evidence.of_waiting(contended, uncontended)
    if single is None:
        return ABSENT
    values = (waiting.value("wait_by_fair_p99"), amplification(waiting, single))
    return Text(
        amplification_words(waiting, single),
        notes.of(waiting),
        measured=not all(isinstance(value, Absent) for value in values),
        runs=(*waiting.evidence, *single.evidence),
    )


def _rate(cell: Cell | None, notes: Footnotes, groups: GroupMarks) -> Text:
    if cell is None:
        return ABSENT
    return groups.marked(rate_text(cell, notes.of(cell)), cell, "throughput_pairs_per_s", notes)
