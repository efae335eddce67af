"""What the reason beside a verdict tells: its counts, each with the words around it, and its other numbers."""

from collections.abc import Iterable

from tests.judge.counts import Count
from tests.judge.lines import SAFE, UNAVAILABLE, Line, Tally
from tests.judge.meanings import a_lease_and_the_asking_ms, meaning, nodes_down, refused_without_a_fence
from tests.judge.moments import MS, two_at_once_ns
from tests.judge.order import pairs_and_falls
from tests.judge.records import Trial
from tests.judge.sentences import START, Clause, Told, clause

TWO_HOLDERS, NOBODY = "two holders(?: that could both write)?", "nobody got the lock"
WORDS = {
    "late write": "a write arrived after the next grant",
    "went on": "the woken holder carried on alongside the next one",
    "freed for another": "another client's lock was freed",
    "dead waiter": "a waiter whose lease had ended got the lock",
    "late grant": "a grant with no validity left",
    "availability": NOBODY,
    "blocked": "the key was blocked for longer than a lease",
}
OUTLIVED = "the lock survived @ trials"
KNEW = "and its holder was notified of @ losses"


def told_of(line: Line) -> list[Told]:
    """All that a reason may count, and what it must."""
    tally = line.tally
    harm = TWO_HOLDERS if line.about_getting_it else WORDS.get(line.hazard, TWO_HOLDERS)
    getting = WORDS[line.hazard] if line.about_getting_it else NOBODY
    harmless = tally.word == SAFE and tally.shown.of > 0 and not line.about_getting_it
    told = [
        Told(f"^{harm} in @", tally.shown, tally.shown.seen > 0 or harmless),
        Told(f"{START}{harm} also in @ unexposed trials", tally.outside, tally.outside.seen > 0),
    ]
    unserved = tally.word == UNAVAILABLE or (tally.word == SAFE and (line.about_getting_it or not tally.shown.of))
    outside = tally.nobody_outside
    told += [
        Told(f"{START}{getting} in @", tally.nobody, unserved and tally.nobody.of > 0),
        Told(f"{START}{getting} also in @ unexposed trials", outside, tally.word == UNAVAILABLE and outside.seen > 0),
    ]
    off, on = tally.late_accepted(False), tally.late_accepted(True)
    before = "late writes accepted: without the fence "
    told += [
        Told(f"{START}{before}@", off, bool(tally.harmed) and tally.has_token and off.of > 0),
        Told(
            f"(?:{START}{before}[^;]*, with it|{START}(?:no token[^;]*: )?late writes accepted with the fence on:) @",
            on,
            bool(tally.harmed) and on.of > 0,
        ),
    ]
    if kept := outlived(tally.exposed):
        told += [Told(OUTLIVED, kept[0], not tally.harmed), Told(KNEW, kept[1], not tally.harmed and kept[1].of > 0)]
    if down := _down(tally.exposed):
        nodes = int(tally.exposed[0].number("nodes"))
        told.append(Told(rf"{START}(?:\d+ to )?@ servers stopped", Count(max(down), nodes), tally.word == UNAVAILABLE))
    return told


def clauses_of(line: Line) -> list[Clause]:
    """Its other numbers."""
    tally = line.tally
    fenced = tally.harmed and tally.has_token
    ahead, read = (float(number) for number in (tally.ahead, tally.read))
    told = [
        clause(r"(\d+) of these arrived before the resource", ahead, needed=bool(fenced and ahead)),
        clause(r"(\d+) more arrived before the new holder's first read", read, needed=bool(fenced and read)),
    ]
    told += gone_with_their_transaction(tally)
    falls = sum(pairs_and_falls(one)[1] for one in tally.trials)
    told.append(clause(r"the later grant had no greater token in (\d+) pairs", falls, needed=False))
    jumps = [float(one.setting("jump_ms")) for one in tally.harmed if meaning(one.scenario).search]
    if jumps:
        told.append(clause(r"from a jump of (\S+) ms on", min(jumps)))
    took = [ms for one in tally.exposed if (ms := one.measured("recovery_ms")) is not None and ms >= 0.0]
    if took:
        told.append(clause(r"the next client got the lock after (\S+)(?: to (\S+))? ms", *_range(took), needed=False))
    waited = [ms for one in tally.exposed if (ms := one.measured("blocked_ms")) is not None and ms >= 0.0]
    if waited:
        most = max(map(a_lease_and_the_asking_ms, tally.trials))
        told.append(clause(r"waited at most (\S+) ms of the (\S+) ms", max(waited), most, needed=False))
    if down := _down(tally.exposed):
        quorum = tally.exposed[0].number("quorum")
        told.append(clause(r"(\d+) to \d+ of \d+ servers stopped", min(down), needed=False))
        told.append(clause(r"servers stopped, (\d+) must answer", quorum, needed=False))
    return told


def gone_with_their_transaction(tally: Tally) -> list[Clause]:
    """Holders that believed on, and whose late write went with its transaction: in how many trials, and how long."""
    believed = [one for one in tally.exposed if refused_without_a_fence(one) and two_at_once_ns(one)]
    if not believed:
        return []
    words = r"in (\d+) of these the stopped holder believed it held the lock for up to (\S+) ms"
    longest_ms = max(map(two_at_once_ns, believed)) / MS
    return [clause(words, len(believed), longest_ms, needed=tally.word == SAFE)]


def outlived(trials: Iterable[Trial]) -> list[Count]:
    """In how many trials the lock outlived its servers' trouble, of those asked; and in how many of the others its
    holder was told of the loss."""
    asked = []
    for one in trials:
        if one.scenario in ("restart", "stalled-leader"):
            told = [one.measured(name) for name in ("still_held", "survived")]
            asked += [(one, bool(value)) for value in told if value is not None]
    lost = [one for one, held in asked if not held]
    knew = sum(any(belief["ended_by"] == "lost" for belief in _of_the_holder(one)) for one in lost)
    return [Count(len(asked) - len(lost), len(asked)), Count(knew, len(lost))] if asked else []


def _of_the_holder(trial: Trial) -> list[dict[str, object]]:
    """Whoever held the lock when the servers were struck: the first that was told."""
    first = min(trial.beliefs, key=lambda one: one["from_ns"], default=None)
    return [] if first is None else [one for one in trial.beliefs if one["actor"] == first["actor"]]


def _down(trials: list[Trial]) -> list[int]:
    return [nodes_down(one) for one in trials if one.scenario == "nodes-down"]


def _range(values: list[float]) -> tuple[float, ...]:
    least, most = min(values), max(values)
    return (least,) if f"{least:,.0f}" == f"{most:,.0f}" else (least, most)
