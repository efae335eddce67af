"""The comparison on a reader's own network, as a document: what was predicted, how far to trust it, and beyond what."""

from collections.abc import Iterable, Mapping, Sequence

from bench.analysis import names
from bench.analysis.cells import Absent, Value
from bench.analysis.network.cost_model import Network
from bench.analysis.network.left_out import LeftOut
from bench.analysis.network.prediction import Line, Prediction
from bench.records.numbers import percent
from bench.report import formats, left_out_table
from bench.report.formats import NO_BREAK, NOTHING
from bench.report.model import Block, Bullets, Column, Document, FactList, Fit, Heading, Table, Text

TITLE = "On your network"


def prediction_document(found: Prediction) -> Document:
    """The table with how to read it."""
    return Document(TITLE, tuple(prediction_blocks(found)))


def prediction_blocks(found: Prediction) -> Iterable[Block]:
    """What was asked, the table, what is beyond what was measured, and how it was made."""
    yield FactList(tuple(_facts(found)))
    yield Table(_columns(found), found.lines, empty="No system that was asked for was measured over networks.")
    if found.beyond:
        yield Heading("Beyond what was measured", 3)
        yield Bullets(found.beyond)
    yield Heading("How to read this", 3)
    yield Bullets(tuple(_reading(found)))


def prediction_rows(found: Prediction) -> list[Mapping[str, object]]:
    """One row a system, plain numbers: for CSV."""
    return [_flat(found, line) for line in found.lines]


def round_trip_fact(network: Network) -> tuple[str, str]:
    """The reader's round trips, as asked for."""
    between, among = three_digits_ms(network.rtt_us), three_digits_ms(network.peer_rtt_us)
    return "Round trip", f"{between} between client and servers, {among} between servers"


def system_text(system: str, *, emulator: bool) -> Text:
    """The title of a system in a first column."""
    return Text(names.title(system), measured=None, tags=("emulator",) if emulator else ())


def three_digits_ms(value_us: float) -> str:
    """A time in ms, with its unit."""
    return f"{value_us / 1_000.0:.3g}{NO_BREAK}ms"


def _facts(found: Prediction) -> Iterable[tuple[str, str]]:
    network, asked = found.network, found.asked
    yield round_trip_fact(network)
    yield (
        "Durable write",
        f"{three_digits_ms(network.fdatasync_us)}{'' if asked.fdatasync_us else ', as on the machine measured'}",
    )
    if asked.clients > 1:
        yield "Contention", f"{asked.clients} clients at one key, each holding it for {asked.hold_ms:g}{NO_BREAK}ms"
    yield "Predicted from", ", ".join(found.campaign_ids)


def _reading(found: Prediction) -> Iterable[str]:
    yield (
        "An acquire or release takes its round trips, its durable writes and a fixed cost of the machine that "
        "measured: processor time, kernel, the rest of the server. On another processor the fixed cost differs."
    )
    yield "Brackets: where the median of one more run would lie, 95 %, from runs carried to this network."
    yield (
        "Error: each measured network left out and predicted from the others; the median and the worst relative error "
        "of the acquire."
    )
    if any(line.acquire is not None and line.acquire.peer_round_trips.number for line in found.lines):
        yield "Round trips: between client and servers + between servers; (d) as declared, not counted by the clock."


def _columns(found: Prediction) -> Sequence[Column[Line]]:
    waits: Sequence[Column[Line]] = (
        Column(
            "Wait",
            lambda line: _text(_wait(line), line.wait_us, line.hand_off.runs if line.hand_off else ()),
            unit="ms",
            note="of each client in a fair queue: a bound",
            fit=Fit(header="Wait, ms", width=14),
        ),
    )
    return (
        Column("System", lambda line: system_text(line.system, emulator=line.emulator), fit=Fit(width=18)),
        Column("Acquire p50", lambda line: _latency(line, line.acquire_us), unit="ms", fit=Fit(header="Acquire, ms")),
        Column("p99", lambda line: _p99(line), unit="ms", fit=Fit(header="p99, ms", width=9)),
        Column("Release p50", lambda line: _latency(line, line.release_us), unit="ms", fit=Fit(header="Release, ms")),
        *(waits if found.asked.clients > 1 else ()),
        Column(
            "Round trips",
            lambda line: left_out_table.trips_words(line.acquire) if line.acquire else NOTHING,
            fit=Fit(header="Trips", width=9),
        ),
        Column("Durable writes", lambda line: str(line.acquire.durable_writes) if line.acquire else NOTHING),
        Column(
            "Fixed cost", lambda line: left_out_table.fixed_words(line.acquire) if line.acquire else NOTHING, unit="ms"
        ),
        Column("Error", lambda line: _error(line.left_out), fit=Fit(width=10)),
    )


def _text(words: str, value: Value, runs: Sequence[str]) -> Text:
    return Text(words, measured=not isinstance(value, Absent), runs=tuple(runs))


def _latency(line: Line, value: Value) -> Text:
    binds = line.acquire.bounds if line.acquire is not None else ()
    if isinstance(value, Absent):
        return _text(value.reason, value, line.runs)
    return _text(
        f"≤{NO_BREAK}{formats.ms(value.high)}" if binds else formats.ms_value(value, digits=2), value, line.runs
    )


def _p99(line: Line) -> Text:
    value = line.acquire_us_p99
    return _text(value.reason if isinstance(value, Absent) else formats.ms(value.value), value, line.runs)


def _wait(line: Line) -> str:
    value = line.wait_us
    if isinstance(value, Absent):
        return value.reason
    return f"≥{NO_BREAK}{formats.ms(value.low)}"


def _error(found: LeftOut | None) -> str:
    return NOTHING if found is None else f"{percent(found.median_error)}, {percent(abs(found.worst.error))}"


def _flat(found: Prediction, line: Line) -> Mapping[str, object]:
    network, model, missed = found.network, line.acquire, line.left_out
    flat: dict[str, object] = {
        "system": line.system,
        "emulator": line.emulator,
        "rtt_ms": network.rtt_us / 1e3,
        "peer_rtt_ms": network.peer_rtt_us / 1e3,
        "fdatasync_ms": network.fdatasync_us / 1e3,
    }
    for name, value in (
        ("acquire_ms_p50", line.acquire_us),
        ("acquire_ms_p99", line.acquire_us_p99),
        ("release_ms_p50", line.release_us),
    ):
        flat |= _bounds(name, value)
    if found.asked.clients > 1:
        flat |= {"clients": found.asked.clients, "hold_ms": found.asked.hold_ms}
        flat |= _bounds("fair_wait_ms", line.wait_us)
    flat["round_trips"] = model.round_trips.number if model else None
    flat["peer_round_trips"] = model.peer_round_trips.number if model else None
    flat["peer_round_trips_measured"] = model.peer_round_trips.measured if model else None
    flat["durable_writes"] = model.durable_writes if model else None
    flat["fixed_ms"] = model.fixed.value / 1e3 if model else None
    flat["left_out_error_median"] = missed.median_error if missed else None
    flat["left_out_error_worst"] = missed.worst.error if missed else None
    flat["left_out_worst_network"] = missed.worst.network if missed else ""
    flat["left_out_inside_share"] = missed.inside_share if missed else None
    return flat


def _bounds(name: str, value: Value) -> Mapping[str, object]:
    known = None if isinstance(value, Absent) else value
    return {
        name: known.value / 1e3 if known else None,
        f"{name}_low": known.low / 1e3 if known else None,
        f"{name}_high": known.high / 1e3 if known else None,
    }
