"""The cost model of each system, and how wrong it is on networks that it has not seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.analysis import names
from bench.analysis.evidence import Evidence
from bench.analysis.network.cost_model import CostModel, cost_models
from bench.analysis.network.left_out import LeftOut, Miss, left_out
from bench.analysis.network.samples import sampled
from bench.records.numbers import percent
from bench.report import formats
from bench.report.formats import NO_BREAK, NOTHING
from bench.report.model import Block, Column, Fit, Heading, Paragraph, Table, Text
from bench.report.writers.csv import csv

TITLE = "The cost model, on networks that it has not seen"
_EXPLANATION = (
    "Median latency = round trips × RTT + round trips between servers × their RTT + durable writes × fdatasync + fixed "
    "cost of this machine. Each network is left out once and predicted from the runs over the others: the median and "
    "the worst relative error, and how many left-out runs lay within their 95 % interval. (d) as the adapter declares, "
    "not counted by the clock. `lockbench predict` carries the model to a network of yours."
)


@dataclass(frozen=True, slots=True)
class _Line:
    """One operation of one system."""

    model: CostModel
    left_out: LeftOut | None


def blocks(evidence: Evidence) -> tuple[Block, ...]:
    """The section; none where no client was measured over several networks."""
    lines = evidence.once(_lines)
    return (Heading(TITLE), Paragraph(_EXPLANATION), Table(_COLUMNS, lines)) if lines else ()


def left_out_csv(evidence: Evidence) -> str:
    """One row a left-out network of an operation of a system; empty where there is none."""
    rows = [_flat(line.model, miss) for line in evidence.once(_lines) for miss in _misses(line)]
    return csv(rows) if rows else ""


def trips_words(model: CostModel) -> str:
    """Round trips of both kinds: 2 + 1; (d) behind those that no network was measured for."""
    counts = [model.round_trips, *([model.peer_round_trips] if model.peer_round_trips.number else [])]
    return " + ".join(
        f"{one.number:.0f}{'' if one.measured else f'{NO_BREAK}(d)'}"
        if one.number == round(one.number)
        else f"{one.number:.2f}"
        for one in counts
    )


def fixed_words(model: CostModel) -> str:
    """The fixed cost in ms, with its interval."""
    fixed = model.fixed
    return f"{formats.ms(fixed.value)} [{formats.ms(fixed.low)} to {formats.ms(fixed.high)}]"


def _lines(evidence: Evidence) -> tuple[_Line, ...]:
    systems = sampled(evidence.rows, evidence.environment, evidence.environments)
    models = sorted(cost_models(systems), key=lambda model: names.position(model.system))
    by_name = {one.system: one for one in systems}
    return tuple(_Line(model, left_out(by_name[model.system], model.operation)) for model in models)


def _flat(model: CostModel, miss: Miss) -> Mapping[str, object]:
    return {
        "system": model.system,
        "operation": model.operation,
        "network": miss.network,
        "peer_network": miss.peer_network,
        "predicted_us": miss.predicted_us,
        "measured_us": miss.measured_us,
        "error": miss.error,
        "runs_inside": miss.inside,
        "runs": miss.runs,
    }


def _text(words: str, line: _Line) -> Text:
    return Text(words, runs=tuple(sample.run_id for sample in line.model.samples))


def _worst(line: _Line) -> str:
    if line.left_out is None:
        return NOTHING
    worst = line.left_out.worst
    return f"{percent(worst.error, signed=True)} ({worst.network})"


def _misses(line: _Line) -> Sequence[Miss]:
    return line.left_out.misses if line.left_out else ()


def _inside(line: _Line) -> str:
    counts = [(one.inside, one.runs) for one in _misses(line)]
    return f"{sum(one for one, _ in counts)} of {sum(one for _, one in counts)}" if counts else NOTHING


_COLUMNS: Sequence[Column[_Line]] = (
    Column("System", lambda line: Text(names.title(line.model.system), measured=None), fit=Fit(width=18)),
    Column("Operation", lambda line: line.model.operation, fit=Fit(width=9)),
    Column("Round trips", lambda line: _text(trips_words(line.model), line), fit=Fit()),
    Column("Durable writes", lambda line: str(line.model.durable_writes), fit=Fit(header="Writes", right=True)),
    Column("Fixed cost", lambda line: _text(fixed_words(line.model), line), unit="ms", fit=Fit()),
    Column(
        "Median error",
        lambda line: _text(percent(line.left_out.median_error, 1), line) if line.left_out else NOTHING,
        fit=Fit(header="Error"),
    ),
    Column("Worst error", _worst, fit=Fit(header="Worst")),
    Column("Runs inside", _inside, fit=Fit(header="Inside")),
)
