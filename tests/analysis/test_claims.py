"""The two data files of claims: the committed ones load; a malformed row gives one clear error."""

from pathlib import Path

import pytest

from bench.analysis.claims import ClaimsError, load_claims, load_seed_table, sources
from bench.analysis.names import headline
from bench.errors import LockbenchError

HEADER = "id,source,system,metric,low,high,unit,claim,how_to_test\n"
GOOD = "C01,page.txt,redis,acquire_latency,0.5,2,ms,it is quick,measure it\n"
SEED_HEADER = "system,property,claimed,claim_id,source\n"


def test_the_committed_claims_load() -> None:
    claims = load_claims()
    assert [claim.id for claim in claims] == [f"C{number:02d}" for number in range(1, len(claims) + 1)]
    assert len(sources(claims)) == 5
    latency = next(claim for claim in claims if claim.id == "C42")
    assert (latency.low, latency.high, latency.unit) == (0.0, 1.0, "ms")
    assert next(claim for claim in claims if claim.id == "C43").high is None


def test_the_seed_table_has_every_property_of_every_headline_system_once() -> None:
    cells = load_seed_table()
    properties = {cell.property for cell in cells}
    assert properties == {"fencing", "pause_safety", "clock_skew", "consensus", "operational_cost"}
    assert {(cell.system, cell.property) for cell in cells} == {
        (system, one) for system in headline() for one in properties
    }
    assert len({cell.source for cell in cells}) == 1, "the table of one page"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (GOOD.replace("0.5", "fast"), "line 2: low is 'fast': not a number"),
        (GOOD.replace("0.5", "-1"), "line 2: low is '-1'"),
        (GOOD.replace("0.5", "inf"), "line 2: low is 'inf'"),
        (GOOD.replace("0.5", "nan"), "line 2: low is 'nan'"),
        (GOOD.replace("0.5", "3"), "the wrong way round"),
        (GOOD.replace(",ms,", ",,"), "a figure needs a unit"),
        (GOOD.replace("0.5,2", ","), "a unit a figure"),
        (GOOD.replace("C01", "1"), "line 2: id is '1'"),
        (GOOD.replace("redis", ""), "line 2: system is empty"),
        (GOOD.replace("measure it", ""), "line 2: how_to_test is empty"),
        (GOOD + GOOD, "line 3: C01 was used before"),
        (GOOD.replace(",measure it", ""), "line 2: 8 fields instead of 9"),
        (GOOD.replace("it is quick", '"it is'), "line 2: unexpected end of data"),
    ],
)
def test_a_malformed_row_gives_one_error_that_names_file_line_and_fault(tmp_path: Path, rows: str, told: str) -> None:
    path = tmp_path / "claims.csv"
    path.write_text(HEADER + rows)
    with pytest.raises(ClaimsError) as raised:
        load_claims(path)
    assert told in str(raised.value)
    assert str(path) in str(raised.value)
    assert isinstance(raised.value, LockbenchError)


def test_wrong_columns_and_a_missing_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "claims.csv"
    with pytest.raises(ClaimsError, match="cannot read"):
        load_claims(path)
    path.write_text("id,text\n")
    with pytest.raises(ClaimsError, match=r"line 1: the columns are id, text; expected id, source"):
        load_claims(path)
    path.write_text("")
    with pytest.raises(ClaimsError, match="line 1"):
        load_claims(path)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("redis,fencing,no,C99,page.txt\n", "C99 is not a claim about redis"),
        ("etcd,fencing,no,C01,page.txt\n", "C01 is not a claim about etcd"),
        ("redis,fencing,,C01,page.txt\n", "claimed is empty"),
        ("redis,fencing,no,C01,page.txt\nredis,fencing,no,C01,page.txt\n", "redis fencing was given before"),
    ],
)
def test_a_malformed_row_of_the_seed_table_is_told(tmp_path: Path, row: str, told: str) -> None:
    claims = tmp_path / "claims.csv"
    claims.write_text(HEADER + GOOD)
    path = tmp_path / "seed_table.csv"
    path.write_text(SEED_HEADER + row)
    with pytest.raises(ClaimsError, match=told):
        load_seed_table(path, load_claims(claims))
