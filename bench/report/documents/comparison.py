"""The comparison as a document: claimed beside measured at a glance, then every row with its intervals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.analysis.evidence import Evidence
from bench.report import (
    availability_table,
    capacity_table,
    contention_table,
    costs,
    curve_table,
    jobs_table,
    left_out_table,
    networks_table,
    round_trips_table,
    strangers_table,
    traffic_table,
    workloads_table,
)
from bench.report.comparison import build_comparison
from bench.report.model import (
    Block,
    Bullets,
    Column,
    Document,
    FactList,
    Fit,
    Heading,
    Notes,
    Paragraph,
    RowKind,
    Table,
    Text,
)
from bench.report.table_model import Comparison, LongRow, Property, SystemColumn, system_column, tried, tried_in

TITLE = "Distributed locks: claimed and measured"


def comparison_document(evidence: Evidence, inserted: Sequence[Block] = (), summary: Sequence[Block] = ()) -> Document:
    """The whole comparison; a page has a `summary` on top, and more `inserted` after what an acquire needs."""
    return Document(TITLE, (*summary, *comparison_blocks(evidence, inserted)))


def comparison_blocks(evidence: Evidence, inserted: Sequence[Block] = ()) -> tuple[Block, ...]:
    """The blocks of the comparison, as part of a document."""
    comparison = build_comparison(evidence)
    of_the_mode = (
        () if comparison.only_own else (*_glance(comparison), *_numbers(comparison), *costs.blocks(comparison))
    )
    return (
        FactList(comparison.facts),
        *of_the_mode,
        *inserted,
        *workloads_table.blocks(comparison),
        *round_trips_table.blocks(comparison),
        *left_out_table.blocks(evidence),
        *networks_table.blocks(comparison),
        *capacity_table.blocks(comparison),
        *traffic_table.blocks(comparison),
        *jobs_table.blocks(comparison),
        *contention_table.blocks(comparison),
        *strangers_table.blocks(comparison),
        *availability_table.blocks(comparison),
        *curve_table.blocks(comparison),
        *_settings(comparison),
        *_reading(comparison),
        *_notes(comparison),
    )


def glance_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """The table of the first page, the numbers with their intervals, and their notes: what a notebook shows."""
    comparison = build_comparison(evidence)
    glance = () if comparison.only_own else tuple(_glance(comparison))
    return (*glance, *numbers_blocks(evidence))


def terminal_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """The same with how to read it: what the command shows."""
    return (*glance_blocks(evidence), *_reading(build_comparison(evidence)))


def numbers_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """The numbers alone with their notes, for the end of a campaign; every cell where there are others than these."""
    comparison = build_comparison(evidence)
    numbers = () if comparison.only_own else tuple(_numbers(comparison))
    every = workloads_table.blocks(comparison) if comparison.has_own or not numbers else ()
    special = (
        *round_trips_table.blocks(comparison),
        *left_out_table.blocks(evidence),
        *jobs_table.blocks(comparison),
        *strangers_table.blocks(comparison),
    )
    return (*numbers, *every, *special, *_notes(comparison))


def appendix_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """The notes of all cells of a page about chosen systems, and the fuller tables behind it."""
    comparison = build_comparison(evidence)
    return (
        *_notes(comparison),
        *_numbers(comparison),
        *costs.blocks(comparison),
        *round_trips_table.blocks(comparison),
        *_settings(comparison),
    )


def costs_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """What an acquire needs, and what the servers report."""
    return costs.blocks(build_comparison(evidence))


def waiting_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """Waiting under contention, with the notes of its cells."""
    comparison = build_comparison(evidence)
    return (*contention_table.blocks(comparison), *_notes(comparison))


def settings_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """What was measured on what, and how to read it."""
    comparison = build_comparison(evidence)
    return (FactList(comparison.facts), *_settings(comparison), *_reading(comparison))


@dataclass(frozen=True, slots=True)
class _GlanceRow:
    """One line of the glance, across the systems."""

    kind: RowKind
    heading: str
    texts: Mapping[str, Text] | Mapping[str, str]  # by system


def _glance(comparison: Comparison) -> Iterable[Block]:
    if not tried(pair.measured for one in comparison.properties if one.of_runs for pair in one.pairs.values()):
        return
    yield Heading("At a glance")
    yield Paragraph(comparison.twice)
    systems = [Column(one.title, _of_system(one.system), tags=one.tags, fit=Fit()) for one in comparison.columns]
    heading: Column[_GlanceRow] = Column("", lambda row: row.heading, fit=Fit(width=13))
    yield Table(
        [heading, *systems],
        list(_glance_rows(comparison)),
        kind="glance",
        row_kind=lambda row: row.kind,
        narrow=tuple(_narrow(comparison)),
    )


def _of_system(system: str) -> Callable[[_GlanceRow], Text | str]:
    return lambda row: row.texts[system]


def _glance_rows(comparison: Comparison) -> Iterable[_GlanceRow]:
    for one in comparison.properties:
        claimed = {system: pair.claimed for system, pair in one.pairs.items()}
        yield _GlanceRow("claimed", f"{one.title}, claimed", claimed)
        measured = {system: pair.measured for system, pair in one.pairs.items()}
        yield _GlanceRow("measured", f"measured: {one.detail}" if one.detail else "measured", measured)
    for context in comparison.contexts:
        yield _GlanceRow("context", context.title, context.texts)


def _narrow(comparison: Comparison) -> Iterable[Block]:
    """Property by property, with the claim beside the measurement: for a phone."""
    for one in comparison.properties:
        yield Heading(one.title, 3, one.detail)
        yield Table(_narrow_columns(one), comparison.columns)


def _narrow_columns(one: Property) -> Sequence[Column[SystemColumn]]:
    return (
        Column("System", lambda column: Text(column.title, measured=None, tags=column.tags)),
        Column("Claimed", lambda column: one.pairs[column.system].claimed),
        Column("Measured", lambda column: one.pairs[column.system].measured),
    )


_NUMBERS: Sequence[Column[LongRow]] = (
    system_column(lambda row: row),
    Column("Claimed", lambda row: row.claimed_latency_ms, unit="ms"),
    Column("p50", lambda row: row.acquire_ms_p50, unit="ms", fit=Fit()),
    Column("p99", lambda row: row.acquire_ms_p99, unit="ms", fit=Fit()),
    Column("p99.9", lambda row: row.acquire_ms_p999, unit="ms"),
    Column("Floor", lambda row: row.costs.floor_ms, unit="ms", strong=False),
    Column("p50 / floor", lambda row: row.costs.p50_by_floor, fit=Fit(width=7, right=True, brief=True)),
    Column("Claimed", lambda row: row.claimed_throughput_per_s, unit="per s"),
    Column("Pairs/s", lambda row: row.throughput_pairs_per_s, fit=Fit()),
    Column("Claimed contention", lambda row: row.claimed_amplification),
    Column(
        "Contention",
        lambda row: row.contention_amplification,
        unit="p99 ÷",
        note="the 99th percentile of the wait by that of a fair queue; of the acquire by that without contention",
        fit=Fit(header="Contention"),
    ),
    Column(
        "Client CPU",
        lambda row: row.client_cpu_us_per_pair,
        unit="µs/pair",
        note="of the load generator, per pair of acquire and release",
        strong=False,
        fit=Fit(header="CPU µs", width=6, right=True, brief=True),
    ),
    Column("Runs of each", lambda row: row.runs_per_cell, fit=Fit(header="Runs", width=5)),
)
_SETTINGS: Sequence[Column[LongRow]] = (
    system_column(lambda row: row),
    Column("Tags", lambda row: ", ".join(row.tags)),
    Column("Durability, as the server says", lambda row: row.durability, fit=Fit()),
    Column("Servers", lambda row: row.nodes, fit=Fit(width=7)),
    Column("Wait when contended", lambda row: row.wait, fit=Fit(width=13)),
    Column("Source", lambda row: row.source, fit=Fit(width=7)),
    Column("Version", lambda row: row.version, fit=Fit(width=9)),
    Column("Runs", lambda row: f"{row.runs} counted", fit=Fit(width=10)),
)


def _numbers(comparison: Comparison) -> Iterable[Block]:
    table = Table(_NUMBERS, comparison.rows)
    if tried_in(table):
        yield Heading("Claimed and measured, with intervals")
        yield table


def _settings(comparison: Comparison) -> Iterable[Block]:
    yield Heading("What each row was measured on")
    yield Table(_SETTINGS, comparison.rows)


def _reading(comparison: Comparison) -> Iterable[Block]:
    yield Heading("How to read this")
    yield Bullets(comparison.method)


def _notes(comparison: Comparison) -> Iterable[Block]:
    if comparison.footnotes:
        yield Heading("Notes")
        yield Notes(comparison.footnotes)
