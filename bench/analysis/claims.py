"""What others claim about distributed locks: data/claims.csv and data/seed_table.csv, read strictly.

Every claimed figure in a table or a plot comes from these two files; none is typed in code.
"""

import csv
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.analysis.places import project_root
from bench.errors import LockbenchError

ALL_SYSTEMS = "all"  # in the `system` column: the claim is about every system
_CLAIM_COLUMNS = ("id", "source", "system", "metric", "low", "high", "unit", "claim", "how_to_test")
_SEED_COLUMNS = ("system", "property", "claimed", "claim_id", "source")
_ID = re.compile(r"C\d{2,3}")


class ClaimsError(LockbenchError):
    """A data file of claims is malformed; the message names the file, the line and what is wrong."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement. `low` and `high` bound a figure in `unit`; None: open on that side, or no figure at all."""

    id: str
    source: str  # the page that makes it, by its title
    system: str
    metric: str
    low: float | None
    high: float | None
    unit: str
    claim: str
    how_to_test: str

    @property
    def has_range(self) -> bool:
        return self.low is not None or self.high is not None

    @property
    def ends(self) -> tuple[float, float]:
        """The same as numbers: from 0 where it is open below, to infinity where it is open above."""
        return self.low or 0.0, float("inf") if self.high is None else self.high


@dataclass(frozen=True, slots=True)
class SeedCell:
    """One cell, in words, of the first page's comparison; figures are in the claims, not here."""

    system: str
    property: str
    claimed: str
    claim_id: str | None
    source: str


def load_claims(path: Path | None = None) -> tuple[Claim, ...]:
    """Read the claims, in file order. Raises ClaimsError for the first malformed row."""
    path = path or project_root() / "data" / "claims.csv"
    claims: dict[str, Claim] = {}
    for line, row in _rows(path, _CLAIM_COLUMNS):
        claim = _claim(path, line, row)
        if claim.id in claims:
            raise ClaimsError(f"{path}, line {line}: {claim.id} was used before")
        claims[claim.id] = claim
    return tuple(claims.values())


def load_seed_table(path: Path | None = None, claims: Iterable[Claim] | None = None) -> tuple[SeedCell, ...]:
    """Read the comparison in words, in file order. Raises ClaimsError for a malformed row or an unknown claim."""
    path = path or project_root() / "data" / "seed_table.csv"
    known = {claim.id: claim for claim in (load_claims() if claims is None else claims)}
    cells: dict[tuple[str, str], SeedCell] = {}
    for line, row in _rows(path, _SEED_COLUMNS):
        for column in ("system", "property", "claimed", "source"):
            if not row[column]:
                raise ClaimsError(f"{path}, line {line}: {column} is empty")
        claim_id = row["claim_id"] or None
        if claim_id is not None and (claim_id not in known or known[claim_id].system != row["system"]):
            raise ClaimsError(f"{path}, line {line}: {claim_id} is not a claim about {row['system']}")
        key = (row["system"], row["property"])
        if key in cells:
            raise ClaimsError(f"{path}, line {line}: {' '.join(key)} was given before")
        cells[key] = SeedCell(row["system"], row["property"], row["claimed"], claim_id, row["source"])
    return tuple(cells.values())


def sources(claims: Iterable[Claim]) -> tuple[str, ...]:
    """The titles of the pages that make these claims, in the order in which the file of claims has them."""
    return tuple(dict.fromkeys(claim.source for claim in claims))


def _rows(path: Path, columns: tuple[str, ...]) -> Iterable[tuple[int, dict[str, str]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as refused:
        raise ClaimsError(f"cannot read {path}: {refused.strerror}") from refused
    reader = csv.reader(text.splitlines(), strict=True)
    try:
        header = tuple(next(reader, ()))
        if header != columns:
            raise ClaimsError(f"{path}, line 1: the columns are {', '.join(header)}; expected {', '.join(columns)}")
        for fields in reader:
            if len(fields) != len(columns):
                raise ClaimsError(f"{path}, line {reader.line_num}: {len(fields)} fields instead of {len(columns)}")
            yield reader.line_num, {name: field.strip() for name, field in zip(columns, fields, strict=True)}
    except csv.Error as broken:
        raise ClaimsError(f"{path}, line {reader.line_num}: {broken}") from broken


def _claim(path: Path, line: int, row: dict[str, str]) -> Claim:
    if not _ID.fullmatch(row["id"]):
        raise ClaimsError(f"{path}, line {line}: id is {row['id']!r}; expected C and two or three digits")
    for column in ("source", "system", "metric", "claim", "how_to_test"):
        if not row[column]:
            raise ClaimsError(f"{path}, line {line}: {column} is empty")
    low, high = (_number(path, line, column, row[column]) for column in ("low", "high"))
    if low is not None and high is not None and low > high:
        raise ClaimsError(f"{path}, line {line}: low is {low:g} and high is {high:g}: the wrong way round")
    if (low is not None or high is not None) != bool(row["unit"]):
        raise ClaimsError(f"{path}, line {line}: a figure needs a unit, and a unit a figure")
    return Claim(
        id=row["id"],
        source=row["source"],
        system=row["system"],
        metric=row["metric"],
        low=low,
        high=high,
        unit=row["unit"],
        claim=row["claim"],
        how_to_test=row["how_to_test"],
    )


def _number(path: Path, line: int, column: str, text: str) -> float | None:
    if not text:
        return None
    try:
        number = float(text)
    except ValueError as broken:
        raise ClaimsError(f"{path}, line {line}: {column} is {text!r}: not a number") from broken
    if not 0.0 <= number < float("inf"):
        raise ClaimsError(f"{path}, line {line}: {column} is {text!r}: expected a number from 0 up")
    return number
