"""The ratio of contended to uncontended is one number, wherever it is printed, and says where it is a limit or none."""

import csv
import io
from collections.abc import Mapping
from dataclasses import replace

import pytest

from bench.analysis.evidence import Evidence
from bench.analysis.runs import RunRow
from bench.report import contention_table
from bench.report.cell_texts import amplification_words
from bench.report.comparison import build_comparison
from bench.report.model import Table
from bench.report.table_model import CellRow
from bench.report.tidy import comparison_csv
from tests.report.contention_campaigns import swept

COLUMN = "p99 contended ÷ uncontended"
CONTENDED = "contenders, 8 poll-5ms-j20"


@pytest.fixture(scope="module")
def sweeps(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    return Evidence.load(swept(tmp_path_factory.mktemp("sweep")))


def made(sweeps: Evidence, alone: Mapping[str, object], contended: Mapping[str, object]) -> Evidence:
    """The same, with other fields in the runs of Redis that the ratio rests on."""

    def of(row: RunRow) -> RunRow:
        if row.system != "redis":
            return row
        more = alone if row.workload.label == "alone" else contended if row.workload.label == CONTENDED else {}
        return replace(row, **{**more, "metrics": {**row.metrics, **dict(more.get("metrics", {}))}})  # type: ignore

    return replace(sweeps, rows=tuple(map(of, sweeps.rows)))


def column(evidence: Evidence) -> tuple[str, str]:
    """What the table says, and what the glance would say of the same cells."""
    tables = [one for one in contention_table.blocks(build_comparison(evidence)) if isinstance(one, Table)]
    table = next(one for one in tables if any(column.header == COLUMN for column in one.columns))
    (words,) = (one for one in table.columns if one.header == COLUMN)
    row: CellRow = next(one for one in table.rows if (one.cell.system, one.cell.workload.label) == ("redis", CONTENDED))
    alone = next(cell for cell in evidence.cells if (cell.system, cell.workload.label) == ("redis", "alone"))
    return words.text(row).words, amplification_words(row.cell, alone)


BOUND = {"bounds": ("client",)}
STALLED = {"metrics": {"stalls_p99": 1.0}}


@pytest.mark.parametrize(
    ("alone", "contended", "begins", "told"),
    [
        ({}, BOUND, "≤\u00a0", "× uncontended"),
        (BOUND, {}, "≥\u00a0", "× uncontended"),
        (BOUND, BOUND, "n/a (limits on both sides)", "uncontended: limits on both sides"),
        (STALLED, {}, "n/a (1 stall without contention)", "uncontended: 1 stall without contention"),
        ({}, STALLED, "n/a (2 stalls)", "uncontended: 2 stalls;"),  # of both runs
    ],
)
def test_a_ratio_of_limits_is_called_one(
    sweeps: Evidence, alone: Mapping[str, object], contended: Mapping[str, object], begins: str, told: str
) -> None:
    words, glance = column(made(sweeps, alone, contended))
    assert words.startswith(begins)
    assert told in glance
    if "×" in words:
        assert words in glance


def test_without_a_limit_it_has_its_range(sweeps: Evidence) -> None:
    words, glance = column(sweeps)
    assert "[" in words
    assert words in glance


def of_the_modes(evidence: Evidence) -> Evidence:
    """The same cells under the names of the modes' own, which `comparison.csv` has."""
    titles = {"alone": "", CONTENDED: ""}
    rows = [
        replace(row, workload=row.workload.model_copy(update={"label": titles[row.workload.label]}))
        for row in evidence.rows
        if row.workload.label in titles
    ]
    return replace(evidence, rows=tuple(rows))


@pytest.mark.parametrize(
    ("alone", "contended", "sign", "binds"),
    [
        ({}, {}, "", ""),
        ({}, BOUND, "≤", "client"),
        (BOUND, {}, "≥", "client"),
        (BOUND, BOUND, "", ""),  # no number, of which it could be a limit
    ],
)
def test_the_csv_says_which_limit_a_ratio_is(
    sweeps: Evidence, alone: Mapping[str, object], contended: Mapping[str, object], sign: str, binds: str
) -> None:
    evidence = of_the_modes(made(sweeps, alone, contended))
    (redis,) = (one for one in csv.DictReader(io.StringIO(comparison_csv(evidence))) if one["system"] == "redis")
    assert (redis["contention_amplification_limit"], redis["contention_amplification_bound_by"]) == (sign, binds)
    assert bool(redis["contention_amplification_x"]) is not (alone is contended is BOUND)
    words, _ = column(made(sweeps, alone, contended))
    assert words.startswith(sign or "n/a") or "[" in words
    hand_off = ("≤", "client") if contended is BOUND else ("", "")
    assert (redis["hand_off_limit"], redis["hand_off_bound_by"]) == hand_off
