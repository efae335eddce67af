"""What is said of the machine, for servers of every origin: nothing that nobody told."""

import itertools
from pathlib import Path

import pytest

from bench.analysis.evidence import Evidence
from bench.records.processors import NO_LIMIT, NOT_KNOWN, Limit
from bench.records.schema import Measured
from bench.report.comparison import build_comparison
from bench.report.documents.claims import claims_document
from bench.report.documents.results import results_document
from bench.report.figures import ALL
from bench.report.limits import limits
from bench.report.machine import cores
from bench.report.writers.markdown import markdown
from tests import campaigns

SYSTEMS = ("redis", "etcd")
SOURCES = ("native", "compose", "url")


def of_sources(folder: Path, sources: tuple[str, ...]) -> Evidence:
    """One run of each workload and system, the systems' servers from these sources."""
    plans = campaigns.plans(SYSTEMS, ("uncontended", "contended", "saturation"), 1)
    campaign = campaigns.start(folder, plans)
    for plan in plans:
        made = campaigns.measured(plan, campaigns.SHAPES[plan.system])
        assert isinstance(made, Measured)
        source = sources[SYSTEMS.index(plan.system)]
        campaigns.add_run(campaign, plan, made.model_copy(update={"source": source}))
    return Evidence.load(campaign)


@pytest.mark.parametrize("sources", list(itertools.product(SOURCES, repeat=len(SYSTEMS))), ids="-".join)
def test_servers_of_others_are_not_said_to_be_here(tmp_path: Path, sources: tuple[str, ...]) -> None:
    found = of_sources(tmp_path, sources)
    captions = {drawing.name: drawing.caption for drawing in (draw(found) for draw in ALL)}
    told = captions | {
        "method": " ".join(build_comparison(found).method),
        "facts": str(build_comparison(found).facts),
        "limits": " ".join(limits(found)),
        "results": markdown(results_document(found, "figures")),
        "claims": markdown(claims_document(found)),
    }
    foreign, ours = "url" in sources, set(sources) != {"url"}
    for name, words in told.items():
        if foreign and not (ours and name in ("results", "claims")):  # a claim about our own servers may say it
            assert "generator and servers share" not in words.lower(), name
            assert "shared by the load generator and all servers" not in words, name
            assert "clients and servers share one machine" not in words or ours, name
    for name in captions:
        assert ("not known" in captions[name].replace("limits not known", "")) == foreign, name
        assert ("loopback round trip" in captions[name]) == ours, name
        assert ("share it" in captions[name]) == ours, name
    assert ("not known" in told["method"]) == foreign
    assert ("loopback" in told["method"]) == ours
    assert ("Machine of the generator" in told["facts"]) == foreign


@pytest.mark.parametrize(
    ("count", "limit", "words"),
    [
        (1, NO_LIMIT, "1 core"),
        (2, NO_LIMIT, "2 cores"),
        (2, NOT_KNOWN, "2 cores (limits not known)"),
        (2, 0.5, "2 cores (limited to 0.50)"),
        (8, 1.5, "8 cores (limited to 1.5)"),
        (1, 1.0, "1 core"),
        (2, 16.0, "2 cores"),
    ],
)
def test_processors_are_those_that_were_there_to_use(count: int, limit: Limit, words: str) -> None:
    assert cores(campaigns.environment().model_copy(update={"cpu_count": count, "cpu_limit": limit})) == words
