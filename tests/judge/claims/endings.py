"""How a lock ends: C34, C56, C67, C68."""

import math
from collections.abc import Iterable
from statistics import median

from tests.judge.claims.base import Finding, Findings, Played
from tests.judge.counts import Count, count
from tests.judge.records import Trial
from tests.judge.sentences import Told, clause
from tests.judge.writes import accepted, stale

RUNS_THAT_IT_TAKES = 6  # until their range contains the median of all with 97 %: 1 - 2 x 0.5^6


def endings(played: Played) -> Findings:
    found: Findings = {}
    for system in played.systems("crash-recovery"):
        crashes = played.of("crash-recovery", system)
        took = [(one, told) for one in crashes if (told := one.measured("recovery_ms")) is not None and told >= 0.0]
        never = len(crashes) - len(took)
        if never:
            missed = Count(never, len(crashes))
            found["C67", system] = Finding([missed], why=[Told("nobody got the lock in @ crashes", missed)])
            continue
        excess = sorted(told - one.ttl_ms for one, told in took)
        high = excess[math.ceil(0.95 * len(excess)) - 1] if _bears(len(excess), 0.95) else excess[-1]
        medians = _run_medians(took)
        found["C67", system] = Finding(
            numbers=[median(excess), high, len(excess)],
            why=[Told("@ runs needed", Count(len(medians), RUNS_THAT_IT_TAKES), needed=False)],
            clauses=[clause(r"range from (\S+) to (\S+) ms", min(medians), max(medians))],
        )
        if system == "redis":
            found["C34", system] = Finding(
                numbers=[median(told / one.ttl_ms for one, told in took)],
                clauses=[clause(r"median of (\d+)", len(took))],
            )
    checked, plain = (played.tally("late-release", system).shown for system in ("redis", "redis-plain-delete"))
    if checked.of:
        why = [Told("freed another client's lock in @", checked), Told("a plain DEL in @", plain, plain.of > 0)]
        found["C68", "redis"] = Finding([checked, *([plain] if plain.of else [])], why=why)
    within = played.tally("idle-in-transaction", "postgres-row").weighed
    if within:
        late = count(within, lambda one: accepted(stale(one)) > 0)
        why = [Told("writes accepted after the next grant @", late)]
        for setting in {one.setting("idle_timeout") for one in within}:
            through = count([one for one in within if one.setting("idle_timeout") == setting], _went_through)
            words = {True: "on", False: "off"}.get(setting, setting) if isinstance(setting, bool) else setting
            why.append(Told(f"idle timeout {words}: the write went through in @", through))
        found["C56", "postgres-row"] = Finding([late], why=why)
    return found


def _went_through(trial: Trial) -> bool:
    return bool(trial.measured("late_write_accepted"))


def _run_medians(took: Iterable[tuple[Trial, float]]) -> list[float]:
    by_run: dict[str, list[float]] = {}
    for one, told in took:
        by_run.setdefault(one.run.run_id, []).append(told - one.ttl_ms)
    return [median(values) for values in by_run.values()]


def _bears(size: int, share: float) -> bool:
    """Lies the greatest value of such a sample below this percentile in one of forty at most? p99 needs 368."""
    return share**size <= 0.025
