"""Resources: C39, C57."""

from tests.judge.claims.base import Finding, Findings, Played
from tests.judge.counts import count, total
from tests.judge.lines import late_accepted
from tests.judge.records import Trial
from tests.judge.sentences import Told
from tests.judge.tables import resources


def resource_rules(played: Played) -> Findings:
    found: Findings = {}
    twice = [one for one in played.of("second-write") if one.has_token]
    strict, below = (
        count([one for one in twice if one.setting("rule") == rule], _second_refused) for rule in ("at_most", "below")
    )
    if strict.of:
        why = [
            Told("refused the holder's own second write in @", strict),
            Told("refusing one below it in @", below, below.of > 0),
        ]
        found["C39", "all"] = Finding([strict], why=why)
    kinds = resources(played.trials)
    if kinds:
        on = {kind: late_accepted(trials, True) for kind, trials in kinds.items()}
        off = total(late_accepted(trials, False) for trials in kinds.values())
        why = [
            *(Told(f"with the fence on: (?:[^;]*, )?{kind} @", one) for kind, one in on.items()),
            Told("with it off @", off, off.of > 0),
        ]
        found["C57", "all"] = Finding([total(on.values())], [float(len(kinds))], why=why)
    return found


def _second_refused(trial: Trial) -> bool:
    """Was any write but the first of a grant refused?"""
    for grant in {write["grant"] for write in trial.writes}:
        of_grant = sorted((one for one in trial.writes if one["grant"] == grant), key=lambda one: one["sent_ns"])
        if any(one["accepted"] is False for one in of_grant[1:]):
            return True
    return False
