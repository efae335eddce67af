"""The model against recorded runs: is what it plays in the order in which it happened, and with the same findings?

Two instants of different processes have an order only if they lie apart: by more than `APART_NS` in the record, where a
busy machine delays what the model does at once, and by more than `TOGETHER_NS` in the model.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.records.hazards import Belief, EndOfBelief, Presentation, Trial, TrialChecked, Write
from bench.simulator.world import NS_PER_MS

APART_NS = 80 * NS_PER_MS
TOGETHER_NS = 5 * NS_PER_MS
_KNOWS = (EndOfBelief.LOST, EndOfBelief.REFUSED)  # which of the two comes first is luck
_FAILED = ("error", "unknown")  # which of the two, is how a client finds out, which the model has more simply
_STOPS = ("pause", "suspend")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that tells what happened; `what` is the same in the record and in the model."""

    what: str
    at_ns: int


def events_of(trial: Trial) -> list[Event]:
    """All that tells: grants and their ends, verdicts of the resource, faults."""
    seen: dict[str, int] = {}

    def numbered(what: str, at_ns: int) -> Event:
        seen[what] = seen.get(what, 0) + 1
        return Event(f"{what} {seen[what]}", at_ns)

    return [numbered(what, at_ns) for what, at_ns in sorted(_found(trial), key=lambda found: found[1])]


def _found(trial: Trial) -> Iterator[tuple[str, int]]:
    for ask in trial.asks:
        if ask.answered_ns is not None and ask.outcome != "acquired":
            failed = ask.outcome in _FAILED
            yield f"{ask.actor} {'gets no grant' if failed else f'is answered {ask.outcome}'}", ask.answered_ns
    for belief in trial.beliefs:
        yield f"{belief.actor} holds", belief.from_ns
        if belief.until_ns is not None:
            yield f"{belief.actor} {_how(trial, belief)}", belief.until_ns
    attempts: tuple[Write | Presentation, ...] = (*trial.writes, *trial.presentations)
    for one in attempts:
        did = "write" if isinstance(one, Write) else "token"
        verdict = "unanswered" if one.accepted is None else "accepted" if one.accepted else "refused"
        yield f"{one.actor} {did} {verdict}", one.judged_ns or one.answered_ns or one.sent_ns
    for fault in trial.faults:
        yield f"{fault.kind} begins", fault.began_ns
        if fault.ended_ns is not None:
            yield f"{fault.kind} ends", fault.ended_ns


def _how(trial: Trial, belief: Belief) -> str:
    """How a belief ended. A client that wakes does at once all that it was asked for, and looks at its lease."""
    assert belief.until_ns is not None
    wakes_ns = [one.ended_ns for one in trial.faults if one.kind in _STOPS and one.target == belief.actor]
    if any(0 <= belief.until_ns - at_ns < APART_NS for at_ns in wakes_ns if at_ns is not None):
        return "ends as it wakes"
    return "knows of its loss" if belief.ended_by in _KNOWS else str(belief.ended_by)


def differences(real: Trial, real_findings: TrialChecked, model: Trial, findings: TrialChecked) -> list[str]:
    """In words; empty where the two agree."""
    return [*_in_order(real, model), *_in_findings(real_findings, findings)]


def _in_order(recorded: Trial, modelled: Trial) -> Iterator[str]:
    real, model = events_of(recorded), events_of(modelled)
    in_model = {event.what: event.at_ns for event in model}
    in_record = {event.what for event in real}
    for words, events, others, trial in (
        ("only recorded", real, in_model, recorded),
        ("only in the model", model, in_record, modelled),
    ):
        yield from (f"{words}: {event.what}" for event in events if event.what not in others and _seen(event, trial))
    both = [event for event in real if event.what in in_model]
    for number, first in enumerate(both):
        for second in both[number + 1 :]:
            apart = second.at_ns - first.at_ns > APART_NS
            if apart and in_model[first.what] - in_model[second.what] > TOGETHER_NS:
                yield f"recorded first: {first.what}, then {second.what}"


def _seen(event: Event, trial: Trial) -> bool:
    """Would the end of a lease be in the record of a stage that ended its trial a little sooner?"""
    return "knows of its loss" not in event.what or trial.ended_ns - event.at_ns > APART_NS


def _in_findings(real: TrialChecked, model: TrialChecked) -> Iterator[str]:
    if min(real.overlap_ns, model.overlap_ns) == 0 and max(real.overlap_ns, model.overlap_ns) > APART_NS:
        yield f"two holders: recorded {real.overlap_ns > 0}, model {model.overlap_ns > 0}"
    for name in ("stale_accepted", "stale_refused", "lost_updates", "fence_faults", "never_served"):
        counted, modelled = int(getattr(real, name)), int(getattr(model, name))
        if counted != modelled:
            yield f"{name}: recorded {counted}, model {modelled}"
    if bool(real.token_faults) != bool(model.token_faults):
        yield f"token_faults: recorded {len(real.token_faults)}, model {len(model.token_faults)}"
