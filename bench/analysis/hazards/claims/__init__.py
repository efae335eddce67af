"""Claims about safety, judged from a hazard campaign: which judge answers for which claim."""

from collections.abc import Mapping

from bench.analysis.claims import Claim
from bench.analysis.hazards.claims import clocks, consistency, endings, nodes, pauses, resources, tokens
from bench.analysis.hazards.claims.base import Judge
from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.judgement import Judgement

JUDGES: Mapping[str, Judge] = {
    **dict.fromkeys(("C13", "C14"), tokens.no_token),
    "C15": tokens.built_in(("contended", "server_killed", "entry_deleted")),
    "C16": tokens.built_in(("contended", "server_killed")),
    "C17": tokens.judged_by_variant("postgres-row-xid", "contended"),
    "C18": tokens.built_in(("contended", "expired")),
    **dict.fromkeys(("C19", "C20"), pauses.not_safe),
    **dict.fromkeys(("C21", "C22", "C23", "C24"), pauses.safe_with_fencing),
    "C25": clocks.redlock_tolerance,
    "C26": clocks.less_than_redlock,
    **dict.fromkeys(("C27", "C28", "C29"), clocks.not_sensitive),
    "C30": clocks.by_whose_clock,
    "C31": pauses.hazard_window,
    "C33": pauses.watchdog,
    "C34": endings.sane_default,
    **dict.fromkeys(("C35", "C36", "C37"), nodes.nodes_needed),
    "C38": tokens.naive_fence,
    "C39": resources.rule,
    "C44": consistency.not_consistent,
    **dict.fromkeys(("C45", "C46"), consistency.survives_failover),
    "C47": consistency.server_killed,
    "C53": pauses.page_scenario,
    "C54": tokens.judged_by_variant("zookeeper-sequence-token", "entry_deleted"),
    "C55": tokens.mod_revision,
    "C56": endings.colocated,
    "C57": resources.every_kind,
    "C58": nodes.validity,
    "C59": nodes.per_node_timeout,
    "C60": consistency.replica_promoted,
    **dict.fromkeys(("C63", "C64"), pauses.correct_without_fence),
    "C67": endings.recovers_within_ttl,
    "C68": endings.owner_checked_release,
}


def judge_by_hazards(claim: Claim, hazards: HazardEvidence) -> tuple[Judgement, ...]:
    """Every judgement of a claim about safety; none where the claim is about something else."""
    judge = JUDGES.get(claim.id)
    return tuple(judge(claim, hazards)) if judge is not None else ()
