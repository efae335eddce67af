"""What was kept of each release's reference, as a table."""

from collections.abc import Mapping, Sequence

from bench.analysis import names
from bench.records.history import HistoryEntry
from bench.report import formats
from bench.report.model import Block, Column, Fit, Paragraph, Table


def history_blocks(entries: Sequence[HistoryEntry]) -> tuple[Block, ...]:
    """One line an entry, oldest first."""
    if not entries:
        return (Paragraph("Nothing is kept yet: `lockbench history --keep NAME` keeps the reference."),)
    return (Table(_COLUMNS, entries), Paragraph("`lockbench compare history/NAME reference` shows what changed since."))


def history_rows(entries: Sequence[HistoryEntry]) -> list[Mapping[str, object]]:
    """Plain values, for scripts."""
    return [
        {
            "name": one.name,
            "measured_at": one.created_at,
            "commit": one.git_commit,
            "campaign": one.campaign_id,
            "hazards": one.hazard_campaign_id,
            "python": _python(one),
            "servers": _servers(one),
            "runs": _runs(one),
            "cells": len(one.cells),
            "verdicts": sum(map(len, one.verdicts.values())),
        }
        for one in entries
    ]


def _python(entry: HistoryEntry) -> str:
    return ", ".join(sorted({one.python for one in entry.environments.values()}))


def _servers(entry: HistoryEntry) -> Mapping[str, str]:
    """By system: the versions that answered, where any did."""
    found: dict[str, set[str]] = {}
    for cell in entry.cells:
        if cell.setting is not None and cell.setting.server_version:
            found.setdefault(cell.system, set()).add(cell.setting.server_version)
    return {system: ", ".join(sorted(versions)) for system, versions in found.items()}


def _server_words(entry: HistoryEntry) -> str:
    headline = [(system, version) for system, version in _servers(entry).items() if system in names.headline()]
    return "; ".join(f"{names.title(system)} {version}" for system, version in headline)


def _runs(entry: HistoryEntry) -> int:
    return sum(not run.void for cell in entry.cells for run in cell.runs)


_COLUMNS: Sequence[Column[HistoryEntry]] = (
    Column("Name", lambda one: one.name, fit=Fit(whole=True)),
    Column("Measured", lambda one: one.created_at[:10], fit=Fit(width=10)),
    Column("Commit", lambda one: one.git_commit, fit=Fit(width=12)),
    Column("Python", _python, fit=Fit(width=8)),
    Column("Servers", _server_words, fit=Fit(least=24)),
    Column("Counted", lambda one: formats.counted([_runs(one)], "run"), fit=Fit(width=9)),
)
