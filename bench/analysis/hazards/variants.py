"""What sets lines of one fault apart: each variant has a stable id, which is a key, and words, which are printed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bench.analysis.hazards.nodes import KILL, how_of, nodes_down_of
from bench.analysis.hazards.rows import TrialRow
from bench.analysis.hazards.tolerance import nodes_held


@dataclass(frozen=True, slots=True)
class Variant:
    """One line among those of a fault. Both empty: nothing sets it apart."""

    id: str = ""
    words: str = field(default="", compare=False)


ALIKE = Variant()
VariantOf = Callable[[TrialRow], Variant | None]  # None: a control, which belongs to no line


def alike(_: TrialRow) -> Variant:
    """Nothing sets trials apart."""
    return ALIKE


def value_of(name: str) -> VariantOf:
    """By a parameter, as it reads."""

    def variant(row: TrialRow) -> Variant:
        value = str(row.parameter(name, ""))
        return Variant(value.replace(" ", "-").lower(), value)

    return variant


def jumped(row: TrialRow) -> Variant | None:
    """None for a control, in which no clock was stepped."""
    return ALIKE if any(fault.amount for fault in row.faults) else None


def shown_at_write(row: TrialRow) -> bool:
    """Did the resource see a token only with its holder's first write, by choice of the protocol?"""
    return bool(row.fence) and row.parameter("presented") == "at_write"


def protocol(row: TrialRow) -> Variant:
    """When a new holder shows its token; with its first read, unless the plan says otherwise."""
    return Variant("at-write", "token first shown by a write") if shown_at_write(row) else ALIKE


def either_protocol(row: TrialRow) -> Variant:
    """The same where both are the subject."""
    shown = protocol(row)
    return Variant("before-read", "token presented before the first read") if shown == ALIKE else shown


def stalled(row: TrialRow) -> Variant:
    """Was the watchdog stopped with its worker?"""
    if row.parameter("stalled") == "worker":
        return Variant("watchdog-alive", "watchdog alive")
    return Variant("watchdog-stopped", "watchdog stopped too")


def asks_first(row: TrialRow) -> Variant:
    """Does the holder ask its client before it writes?"""
    return ALIKE if row.parameter("asks_first", True) else Variant("does-not-ask", "holder does not check first")


def meanwhile(row: TrialRow) -> Variant:
    """What lets the next client in while the write is on its way."""
    words = {"cut_off": "holder cut off meanwhile", "releases": "holder gives up and releases meanwhile"}
    what = str(row.parameter("meanwhile"))
    return Variant(what.replace("_", "-"), words[what]) if what in words else ALIKE


def held_up(row: TrialRow) -> Variant:
    """Is the clean-up of the late request held up as well?"""
    return Variant("all", "clean-up delayed too") if row.parameter("held_up") == "all" else ALIKE


def durability(row: TrialRow) -> Variant:
    """The setting of the servers' disks; not where it is the system's own."""
    setting = row.parameter("durability")
    return ALIKE if setting in (None, "own") else Variant(f"durability-{setting}", f"durability {setting}")


def idle_timeout(row: TrialRow) -> Variant:
    """May the server end an idle transaction?"""
    setting = row.parameter("idle_timeout")
    if isinstance(setting, bool):
        setting = "on" if setting else "off"
    return ALIKE if setting is None else Variant(f"idle-timeout-{setting}", f"idle timeout {setting}")


def replicated(row: TrialRow) -> Variant:
    """Had the grant reached the successor?"""
    if row.capability_ms("quorum") > 1:  # it answers a majority's word only: there is nothing else to tell apart
        return ALIKE
    if row.parameter("replicated"):
        return Variant("replicated", "after replication")
    return Variant("not-replicated", "before replication")


def direction(row: TrialRow) -> Variant | None:
    """Where the clocks went."""
    if jumped(row) is None:
        return None
    where = "back" if any((fault.amount or 0.0) < 0.0 for fault in row.faults) else "ahead"
    return Variant(where, where)


def whose_clock(row: TrialRow) -> Variant | None:
    """Whose clock is wrong, and in which direction."""
    where = direction(row)
    if where is None:
        return None
    whose, wrong = row.parameter("whose", "client"), "behind" if where.id == "back" else where.words
    return Variant(f"{whose}-{wrong}", f"{whose} {wrong}")


def nodes_jumped(row: TrialRow) -> Variant:
    """Of how many nodes the clocks jumped."""
    if row.capability_ms("nodes") == 1:
        return Variant("ahead", "ahead")
    jumped_of, held = row.parameter("nodes_jumped", 0), nodes_held(row)
    return Variant(f"{jumped_of}-of-{held}-ahead", f"{jumped_of} of {held} held nodes ahead")


def rate_of_drift(row: TrialRow) -> Variant:
    """How fast the clocks run, and of how many nodes."""
    rate, held = row.parameter("rate_percent", 0), nodes_held(row)
    fast = Variant(f"fast-{rate}-percent", f"fast by {rate} %")
    if row.capability_ms("nodes") == 1:
        return fast
    drifting = row.parameter("nodes_drifting", 0)
    return Variant(f"{drifting}-of-{held}-{fast.id}", f"{drifting} of {held} held nodes {fast.words}")


def share_stopped(row: TrialRow) -> Variant | None:
    """Are enough servers left for a quorum, and how were the others stopped? None for a control."""
    if not nodes_down_of(row):
        return None
    left = row.capability_ms("nodes") - nodes_down_of(row)
    share = "minority" if left >= row.capability_ms("quorum") else "majority"
    how = "killed" if how_of(row) == KILL else "hanging"
    return Variant(f"{share}-{how}", f"{share} {how}")


PLAIN: Mapping[str, VariantOf] = {
    one.__name__: one
    for one in (
        *(alike, jumped, protocol, either_protocol, stalled, asks_first, meanwhile, held_up, durability, idle_timeout),
        *(replicated, direction, whose_clock, nodes_jumped, rate_of_drift, share_stopped),
    )
}
MADE: Mapping[str, Callable[..., VariantOf]] = {"value_of": value_of}
