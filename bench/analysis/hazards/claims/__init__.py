"""Claims about safety, judged from a hazard campaign: a scenario's file names its claims, and the judge of each."""

from collections.abc import Callable, Mapping
from functools import cache

from bench.analysis.claims import Claim
from bench.analysis.hazards.claims import clocks, consistency, endings, nodes, pauses, resources, tokens
from bench.analysis.hazards.claims.base import Judge
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.hazards.meanings import function, meanings
from bench.analysis.judgement import Judgement
from bench.errors import LockbenchError

PLAIN: Mapping[str, Judge] = {
    judge.__name__: judge
    for judge in (
        *(clocks.redlock_tolerance, clocks.less_than_redlock, clocks.not_sensitive, clocks.by_whose_clock),
        *(consistency.not_consistent, consistency.survives_failover, consistency.replica_promoted),
        *(consistency.server_killed, endings.recovers_within_ttl, endings.sane_default),
        *(endings.owner_checked_release, endings.colocated),
        *(nodes.nodes_needed, nodes.per_node_timeout, nodes.validity),
        *(pauses.not_safe, pauses.safe_with_fencing, pauses.correct_without_fence, pauses.hazard_window),
        *(pauses.watchdog, pauses.page_scenario, resources.every_kind, resources.rule),
        *(tokens.no_token, tokens.naive_fence, tokens.mod_revision),
    )
}
MADE: Mapping[str, Callable[..., Judge]] = {
    maker.__name__: maker for maker in (tokens.built_in, tokens.judged_by_variant)
}


@cache
def judges() -> Mapping[str, tuple[Judge, str]]:
    """By claim: its judge, and the scenario that names it. Raises LockbenchError where two scenarios name one."""
    found: dict[str, tuple[Judge, str]] = {}
    for scenario, meaning in meanings().items():
        for claim, named in meaning.claims.items():
            if claim in found:
                raise LockbenchError(f"{claim} stands in the files of two scenarios, {found[claim][1]} and {scenario}")
            found[claim] = function(scenario, named, PLAIN, MADE), scenario
    return found


def judge_by_hazards(claim: Claim, hazards: HazardEvidence) -> tuple[Judgement, ...]:
    """Every judgement of a claim about safety; none where the claim is about something else."""
    if claim.id not in judges():
        return ()
    judge, scenario = judges()[claim.id]
    return tuple(judge(claim, hazards, scenario))
