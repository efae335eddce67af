"""What was judged once is held against many printings."""

from functools import cache

from tests.judge import tables
from tests.judge.claims import findings
from tests.judge.claims.base import Findings
from tests.judge.lines import Line, lines
from tests.judge.records import Run, counted


@cache
def lines_of(runs: tuple[Run, ...]) -> dict[tuple[str, str], Line]:
    return lines(runs)


@cache
def findings_of(runs: tuple[Run, ...]) -> Findings:
    return findings(counted(list(runs)))


@cache
def table_of(runs: tuple[Run, ...], scenario: str, names: tuple[str, ...]) -> dict[tuple[str, ...], tables.TableRow]:
    return tables.table(list(runs), scenario, names)
