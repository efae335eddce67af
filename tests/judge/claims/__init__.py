"""The counts behind what lockbench prints of each claim about safety."""

from collections.abc import Iterable

from tests.judge.claims.base import Findings, Played
from tests.judge.claims.clocks import clocks
from tests.judge.claims.endings import endings
from tests.judge.claims.pauses import pauses
from tests.judge.claims.resources import resource_rules
from tests.judge.claims.servers import servers
from tests.judge.claims.tokens import tokens
from tests.judge.records import Trial


def findings(trials: Iterable[Trial]) -> Findings:
    """By claim and system; a claim of which no trial was exposed, or played, has none."""
    played = Played(trials)
    found: Findings = {}
    for part in (tokens, pauses, clocks, endings, servers, resource_rules):
        found |= part(played)
    return found
