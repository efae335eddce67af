"""The comparison on a reader's own network: what each system's acquire and release would take there, and what about
that is more than was measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain

from bench.analysis import names
from bench.analysis.cells import NOT_MEASURED, Absent, Value
from bench.analysis.network.cost_model import CostModel, Network, Predicted, cost_model, loopback_of
from bench.analysis.network.hand_off import HandOff, fair_wait_us
from bench.analysis.network.left_out import LeftOut, left_out
from bench.analysis.network.reading import Read
from bench.analysis.network.samples import Sampled

_BEYOND = 1.05  # of the longest measured round trip, or of the shortest: nearer than the error of a delay line
_MARK = 1.2  # a disk so much slower or faster than the measured one is another


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reader says of a network; None: as on the machine that measured."""

    rtt_us: float
    peer_rtt_us: float | None = None  # None: as between client and server
    fdatasync_us: float | None = None
    clients: int = 1
    hold_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """One system; latencies in µs."""

    system: str
    emulator: bool
    acquire: CostModel | None
    release: CostModel | None
    acquire_us: Value
    acquire_us_p99: Value
    release_us: Value
    wait_us: Value  # of each of several clients, by the fair-queue bound
    hand_off: HandOff | None
    left_out: LeftOut | None  # how wrong the model of acquire was on networks that it had not seen
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prediction:
    """All systems on one network; `beyond` says, in sentences, what of it nobody measured."""

    asked: Asked
    network: Network
    machine: Network  # the round trip and the disk of the machine that measured
    campaign_ids: tuple[str, ...]
    lines: tuple[Line, ...]
    beyond: tuple[str, ...] = field(default=())


def predict(read: Read, asked: Asked, systems: Sequence[str] = ()) -> Prediction:
    """For all systems that were measured over networks, or the named ones of them."""
    network, here = networks(read, asked)
    chosen = sorted(
        (one for one in read.systems if not systems or one.system in systems),
        key=lambda one: names.position(one.system),
    )
    lines = tuple(_line(one, network, asked, read.hand_offs.get(one.system)) for one in chosen)
    return Prediction(
        asked, network, here, read.campaign_ids, lines, tuple(_beyond(lines, asked, network, here)),
    )  # fmt: skip


def networks(read: Read, asked: Asked) -> tuple[Network, Network]:
    """The reader's, and that of the machine that measured."""
    here = loopback_of(read.environment)
    return Network(
        asked.rtt_us,
        asked.rtt_us if asked.peer_rtt_us is None else asked.peer_rtt_us,
        here.fdatasync_us if asked.fdatasync_us is None else asked.fdatasync_us,
    ), here


def _line(of: Sampled, network: Network, asked: Asked, hand_off: HandOff | None) -> Line:
    acquire, release = cost_model(of, "acquire"), cost_model(of, "release")
    predicted, freed = (None if model is None else model.at(network) for model in (acquire, release))
    wait: Value = Absent(NOT_MEASURED)
    if asked.clients > 1 and hand_off is not None and release is not None:
        wait = fair_wait_us(hand_off, release, network, asked.clients, asked.hold_ms)
    return Line(
        of.system,
        of.emulator,
        acquire,
        release,
        _p50(predicted),
        Absent("n/a (n too small)") if predicted is None or predicted.p99 is None else predicted.p99,
        _p50(freed),
        wait,
        hand_off,
        left_out(of, "acquire"),
        tuple(sample.run_id for sample in of.samples),
    )


def _p50(predicted: Predicted | None) -> Value:
    return Absent("n/a (too few networks)") if predicted is None else predicted.p50


def _beyond(lines: Sequence[Line], asked: Asked, network: Network, here: Network) -> Iterable[str]:
    """Each cause once, the widest first."""
    models = [model for line in lines for model in (line.acquire, line.release) if model is not None]
    if not models:
        return
    yield from _beyond_rtt(models, network)
    yield from _beyond_peers(models, asked, network)
    writing = _titles(model for model in models if model.durable_writes)
    if writing and not here.fdatasync_us / _MARK <= network.fdatasync_us <= here.fdatasync_us * _MARK:
        yield (
            f"The disk was not varied: a durable write took {_ms(here.fdatasync_us)} on the machine measured, and each "
            f"one of {writing} is taken at {_ms(network.fdatasync_us)}."
        )
    tails = [line for line in lines if not isinstance(line.acquire_us_p99, Absent)]
    if tails:
        yield "p99 is the predicted median with the tail of the machine that measured: your tail is your own."
    if any(not isinstance(line.wait_us, Absent) for line in lines):
        yield (
            "Waits are fair-queue bounds: who is served out of turn makes others wait longer. Hand-offs were measured "
            "over loopback and lengthened by their round trips."
        )
    if emulated := _titles(model for model in models if model.emulator):
        yield f"{emulated}: an emulator, whose fixed cost says nothing about the real service."
    if bound := _titles(model for model in models if model.bounds):
        yield f"{bound}: at most this, since the load generator or the machine was the limit when it was measured."


def _beyond_rtt(models: Sequence[CostModel], network: Network) -> Iterable[str]:
    low_us = max(model.rtts_us[0] for model in models)
    high_us = min(model.rtts_us[1] for model in models)
    if network.rtt_us > high_us * _BEYOND:
        yield f"Extrapolated: the longest measured round trip is {_ms(high_us)}, and yours is {_ms(network.rtt_us)}."
    elif network.rtt_us < low_us / _BEYOND:
        yield f"Extrapolated: the shortest measured round trip is {_ms(low_us)}, and yours is {_ms(network.rtt_us)}."


def _beyond_peers(models: Sequence[CostModel], asked: Asked, network: Network) -> Iterable[str]:
    declared = [model for model in models if model.peer_round_trips.number and not model.peer_round_trips.measured]
    if declared:
        yield (
            f"Round trips between servers are as the adapters of {_titles(declared)} declare: no network between "
            f"servers was measured."
        )
    if asked.peer_rtt_us is None and any(model.peer_round_trips.number for model in models):
        yield f"The round trip between servers is taken to be the same {_ms(network.peer_rtt_us)}: set --peer-rtt."
    swept = [model for model in models if model.peer_round_trips.measured and model.peer_round_trips.number]
    longest_us = [max(sample.peer_rtt_us for sample in model.samples) for model in swept]
    if longest_us and network.peer_rtt_us > min(longest_us) * _BEYOND:
        yield (
            f"Extrapolated: the longest measured round trip between servers is {_ms(min(longest_us))}, and yours is "
            f"{_ms(network.peer_rtt_us)}."
        )


def _titles(models: Iterable[CostModel]) -> str:
    found = list(dict.fromkeys(names.title(model.system) for model in models))
    return " and ".join(chain([", ".join(found[:-1])] if found[1:] else [], found[-1:]))


def _ms(value_us: float) -> str:
    return f"{value_us / 1_000.0:.3g} ms"
