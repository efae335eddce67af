"""The smallest TTL for a network and a machine as a document."""

from collections.abc import Iterable, Mapping, Sequence

from bench.analysis.cells import Absent
from bench.analysis.network.cost_model import Network
from bench.analysis.network.lateness import Late, Lateness, NotCarried
from bench.analysis.network.ttl import RENEWS_EVERY, Advice
from bench.records.durations import duration_text
from bench.report import formats
from bench.report.documents.prediction import round_trip_fact, system_text, three_digits_ms
from bench.report.formats import NO_BREAK, NOTHING
from bench.report.model import Block, Bullets, Column, Document, FactList, Fit, Heading, Table, Text

TITLE = "The smallest TTL on your machine and network"


def ttl_document(
    lines: Sequence[Advice], network: Network, lateness: Lateness, found: Late | NotCarried, campaigns: str
) -> Document:
    """The table, what it rests on, and what it leaves out."""
    blocks: list[Block] = [
        FactList(tuple(_facts(network, lateness, found, campaigns))),
        Table(_COLUMNS, lines, empty="No system that was asked for was measured over networks."),
    ]
    if isinstance(found, NotCarried):
        blocks += [Heading("Not carried", 3), Bullets(tuple(_not_carried(found, lateness)))]
    blocks += [Heading("How to read this", 3), Bullets(tuple(_reading(lines)))]
    return Document(TITLE, tuple(blocks))


def ttl_rows(lines: Sequence[Advice], found: Late | NotCarried, network: Network) -> list[Mapping[str, object]]:
    """One row a system, plain numbers: for CSV."""
    late_ms = found.by_ns / 1e6 if isinstance(found, Late) else None
    return [
        {
            "system": line.system,
            "emulator": line.emulator,
            "rtt_ms": network.rtt_us / 1e3,
            "peer_rtt_ms": network.peer_rtt_us / 1e3,
            "lost": found.probability,
            "late_ms": late_ms,
            "renewal_ms": _known(line.renewal_ms),
            "renewal_is_p99": line.renewal_is_p99,
            "ttl_ms": _known(line.ttl_ms),
            "ttl_is_the_servers_least": line.by_server,
            "recovery_ms": _known(line.recovery_ms),
            "recovery_ms_high": line.recovery_ms_high,
            "crashes": line.crashes,
        }
        for line in lines
    ]


def _facts(network: Network, lateness: Lateness, found: Late | NotCarried, campaigns: str) -> Iterable[tuple[str, str]]:
    yield round_trip_fact(network)
    yield (
        "Pauses",
        f"{lateness.instants:,} instants in {duration_text(round(lateness.observed_s, 1), 's')}; the longest pause "
        f"took {three_digits_ms(lateness.longest_ns / 1e3)}",
    )
    words = f"a share of {found.probability:g} of renewals"
    if isinstance(found, Late):
        words += f": they are due {three_digits_ms(found.by_ns / 1e3)} late or more ({found.pauses:,} pauses as long)"
    yield "Lost leases", words
    yield "Predicted from", campaigns


def _not_carried(found: NotCarried, lateness: Lateness) -> Iterable[str]:
    words = f"The record says nothing about a share of {found.probability:g}: {found.why}."
    if found.record_for_s is not None:
        words += f" Record for {duration_text(float(round(found.record_for_s / 60.0 + 0.5)), 'min')} or more."
    else:
        words += " Record for longer: rare pauses have to be seen more than once."
    yield words
    least = lateness.least_carried()
    if least is not None:
        yield f"It carries shares down to about {least.probability:.2g}: try --lost {least.probability:.1e}."
    yield "Nothing is extrapolated: pauses follow no law that would allow it."


def _reading(lines: Sequence[Advice]) -> Iterable[str]:
    yield (
        f"A holder renews {RENEWS_EVERY} times in a TTL. A lease is lost where a renewal comes two thirds of the TTL "
        "late, by a pause of the holder's machine and by its own way to the servers. The share is of renewals."
    )
    yield "Renewal: a release of the same system on this network, the upper end of its p99 where the runs carry one."
    yield (
        "Not in it: pauses of the servers, lost connections, and the garbage collector of your program, which stops "
        "your program only. Add its longest pause to the TTL, times 3/2."
    )
    if any(line.by_server for line in lines):
        yield "* the smallest TTL that the servers honour as asked; pauses and network would allow less."
    yield "After a crash: how long until the next client has the lock, at most; with the median to the p95 overhead."


def _ttl(line: Advice) -> Text:
    if isinstance(line.ttl_ms, Absent):
        return Text(line.ttl_ms.reason, measured=False)
    return Text(f"{duration_text(float(line.ttl_ms), 'ms')}{'*' if line.by_server else ''}".replace(" ", NO_BREAK))


def _recovery(line: Advice) -> Text:
    if isinstance(line.recovery_ms, Absent):
        return Text(line.recovery_ms.reason, measured=False)
    high = "" if line.recovery_ms_high is None else f" to {formats.whole(line.recovery_ms_high)}"
    return Text(f"{formats.whole(line.recovery_ms)}{high}")


def _renewal(line: Advice) -> Text:
    if isinstance(line.renewal_ms, Absent):
        return Text(line.renewal_ms.reason, measured=False)
    return Text(f"{formats.significant(line.renewal_ms)}{'' if line.renewal_is_p99 else ' (median)'}")


_COLUMNS: Sequence[Column[Advice]] = (
    Column(
        "System",
        lambda line: system_text(line.system, emulator=line.emulator),
        fit=Fit(width=18),
    ),
    Column("Smallest TTL", _ttl, fit=Fit()),
    Column("Renewal", _renewal, unit="ms", strong=False, fit=Fit()),
    Column(
        "Renewals",
        lambda line: NOTHING if line.renewals_per_s is None else formats.significant(line.renewals_per_s),
        unit="per s",
        note="of each holder",
        fit=Fit(),
    ),
    Column("After a crash", _recovery, unit="ms", fit=Fit()),
    Column("Crashes", lambda line: str(line.crashes) if line.crashes else NOTHING, fit=Fit(right=True)),
)


def _known(value: float | Absent) -> float | None:
    return None if isinstance(value, Absent) else value
