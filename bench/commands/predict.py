"""`lockbench predict | ttl`: what was measured, carried to the reader's own network. No server is needed.

What computes is imported when it is needed, and of a campaign only the runs that a prediction rests on are read.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bench.analysis.places import find_networks, hazards_beside
from bench.commands.documents import print_document, refuse_both
from bench.commands.durations import duration_option
from bench.commands.terminal import steps
from bench.errors import LockbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.analysis.network.samples import Sampled

_RTT_MS = (0.0, 1_000.0)
_FSYNC_MS = (0.0, 1_000.0)
_HOLD_MS = (0.0, 3_600_000.0)
_CLIENTS_AT_MOST = 10_000

_RTT = typer.Option(..., "--rtt", metavar="DURATION", help="Round trip between clients and servers, such as 0.8ms.")
_PEER_RTT = typer.Option(
    None, "--peer-rtt", metavar="DURATION", help="Round trip between servers. Default: as between clients and servers."
)
_FSYNC = typer.Option(
    None, "--fsync", metavar="DURATION", help="One durable write of your disks. Default: of the machine measured."
)
_SYSTEMS = typer.Option(
    [], "--system", "-s", help="Only this system; may be repeated. Default: all that were measured."
)
_CAMPAIGN = typer.Option(
    None,
    "--campaign",
    "-c",
    help="A campaign measured over networks: under data/runs, or a folder. Default: the reference.",
)
_MARKDOWN = typer.Option(False, "--markdown", help="Print Markdown instead of tables for a terminal.")
_CSV = typer.Option(False, "--csv", help="Print one row per system, with plain numbers.")


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    app.command()(predict)
    app.command()(ttl)


def predict(
    rtt: str = _RTT,
    peer_rtt: str | None = _PEER_RTT,
    fsync: str | None = _FSYNC,
    hold: str = typer.Option("0ms", "--hold", metavar="DURATION", help="How long each of --clients holds the key."),
    clients: int = typer.Option(
        1, "--clients", min=1, max=_CLIENTS_AT_MOST, help="How many clients want the same key. Default: no contention."
    ),
    systems: list[str] = _SYSTEMS,
    campaign: str | None = _CAMPAIGN,
    markdown: bool = _MARKDOWN,
    csv: bool = _CSV,
) -> None:
    """Predict acquire and release on your network, from the round trips and durable writes that were measured.

    Examples: lockbench predict --rtt 0.8ms; lockbench predict --rtt 0.8ms --peer-rtt 1.2ms --fsync 0.9ms;
    lockbench predict --rtt 0.5ms --clients 8 --hold 5ms -s redis -s etcd
    """
    refuse_both(markdown, csv)
    rtt_ms, peer_ms, fsync_ms = _network(rtt, peer_rtt, fsync)
    hold_ms = duration_option("--hold", hold, "ms", *_HOLD_MS)
    if hold_ms and clients == 1:
        raise LockbenchError("--hold matters to other clients: name how many want the key, with --clients 8")
    with steps("reading the runs"):
        from bench.analysis.network.prediction import Asked
        from bench.analysis.network.prediction import predict as carry
        from bench.analysis.network.reading import read
        from bench.report.documents.prediction import prediction_document, prediction_rows

        asked = Asked(rtt_ms * 1e3, _us(peer_ms), _us(fsync_ms), clients, hold_ms)
        found = read(find_networks(campaign), clients, hold_ms)
        _require_measured(systems, found.systems)
        prediction = carry(found, asked, systems)
    print_document(prediction_document(prediction), prediction_rows(prediction), markdown=markdown, csv=csv)


def ttl(
    pauses: Path = typer.Option(
        ..., "--pauses", metavar="FILE", help="What `lockbench pauses` recorded on the machine that is to hold locks."
    ),
    rtt: str = _RTT,
    peer_rtt: str | None = _PEER_RTT,
    fsync: str | None = _FSYNC,
    lost: float = typer.Option(1e-4, "--lost", help="Which share of renewals may be too late, such as 1e-6."),
    systems: list[str] = _SYSTEMS,
    campaign: str | None = _CAMPAIGN,
    hazards: str | None = typer.Option(
        None, "--hazards", help="A hazard campaign with crashes of holders. Default: the one beside the campaign."
    ),
    markdown: bool = _MARKDOWN,
    csv: bool = _CSV,
) -> None:
    """Give the smallest TTL that your machine and network allow, and what it costs after a crash.

    Example: lockbench ttl --pauses pauses.json --rtt 0.8ms --lost 1e-4
    """
    refuse_both(markdown, csv)
    rtt_ms, peer_ms, fsync_ms = _network(rtt, peer_rtt, fsync)
    if not 0.0 < lost < 0.5:
        raise LockbenchError(f"--lost: {lost:g} is no share of renewals between 0 and 0.5, such as 1e-4")
    with steps("reading the runs"):
        from bench.analysis.hazards.recovery import crashes
        from bench.analysis.network.lateness import Late, Lateness
        from bench.analysis.network.prediction import Asked, networks
        from bench.analysis.network.reading import read
        from bench.analysis.network.ttl import advice
        from bench.records.pauses import read_pauses
        from bench.report.documents.ttl import ttl_document, ttl_rows

        lateness = Lateness(read_pauses(pauses))
        folder = find_networks(campaign)
        found = read(folder)
        _require_measured(systems, found.systems)
        network, here = networks(found, Asked(rtt_ms * 1e3, _us(peer_ms), _us(fsync_ms)))
        lab = hazards_beside(folder, hazards)
        late = lateness.at(lost)
        chosen = [one for one in found.systems if not systems or one.system in systems]
        lines = advice(
            chosen, network, here, late if isinstance(late, Late) else None, crashes(lab) if lab is not None else {}
        )
    document = ttl_document(lines, network, lateness, late, ", ".join(found.campaign_ids))
    print_document(document, ttl_rows(lines, late, network), markdown=markdown, csv=csv)


def _network(rtt: str, peer_rtt: str | None, fsync: str | None) -> tuple[float, float | None, float | None]:
    """In ms."""
    return (
        duration_option("--rtt", rtt, "ms", *_RTT_MS),
        None if peer_rtt is None else duration_option("--peer-rtt", peer_rtt, "ms", *_RTT_MS),
        None if fsync is None else duration_option("--fsync", fsync, "ms", *_FSYNC_MS),
    )


def _us(value_ms: float | None) -> float | None:
    return None if value_ms is None else value_ms * 1e3


def _require_measured(asked: "Sequence[str]", there: "Sequence[Sampled]") -> None:
    measured = [one.system for one in there]
    if missing := [name for name in asked if name not in measured]:
        raise LockbenchError(f"{', '.join(missing)}: not measured over networks; there is {', '.join(measured)}")
