"""Several campaigns of one commit as one body of evidence: what varies between them, no one of them can show."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from bench.records.schema import Campaign, Environment
from bench.records.store import StoreError


def together(campaigns: Sequence[Campaign], where: Path) -> Campaign:
    """One record with all names and all runs. Raises StoreError for the same campaign twice, and for unlike code."""
    if len(campaigns) == 1:
        return campaigns[0]
    names = [one.campaign_id for one in campaigns]
    if len(set(names)) < len(names):
        raise StoreError(f"{where} has one campaign twice ({', '.join(names)}): keep one of each name")
    code = {one.measuring_code or one.git_commit for one in campaigns}
    if len(code) > 1:
        commits = ", ".join(f"{one.campaign_id} {one.git_commit}" for one in campaigns)
        raise StoreError(f"{where} has campaigns of different code ({commits}): keep those of one commit together")
    return campaigns[0].model_copy(
        update={
            "campaign_id": ", ".join(names),
            "runs": tuple(run for one in campaigns for run in one.runs),
        }
    )


def typical(environments: Sequence[Environment]) -> Environment:
    """The first one, with the medians over all of what was measured anew for each campaign."""
    first = environments[0]
    return first.model_copy(
        update={
            "fdatasync_us_p50": statistics.median(one.fdatasync_us_p50 for one in environments),
            "loopback_rtt_us_p50": statistics.median(one.loopback_rtt_us_p50 for one in environments),
            "loopback_rtt_us_bursts": tuple(burst for one in environments for burst in one.loopback_rtt_us_bursts),
        }
    )
