"""One synthetic campaign for all tests of the report: made once, only read."""

from pathlib import Path

import pytest

from bench.analysis.evidence import Evidence
from bench.records.store import CampaignFolder
from tests import campaigns


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole made-up campaign with three repetitions."""
    return campaigns.whole_campaign(tmp_path_factory.mktemp("synthetic")).path


@pytest.fixture(scope="session")
def evidence(synthetic: Path) -> Evidence:
    """The same campaign, loaded beside the committed claims."""
    return Evidence.load(CampaignFolder(synthetic))


@pytest.fixture(scope="session")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """One run of something that takes a microsecond: the widest tick labels, and a cell of a single run."""
    plans = campaigns.plans(("null",), ("uncontended",), 1)
    folder = campaigns.start(tmp_path_factory.mktemp("swift"), plans)
    shape = campaigns.Shape(0.9, 1.2, 1_000.0, 0, "none", {})
    campaigns.add_run(folder, plans[0], campaigns.measured(plans[0], shape, operations=50_000))
    return Evidence.load(folder)


@pytest.fixture(scope="session")
def barren(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """A campaign in which nothing was measured: one failed run, an interrupted one, and one that never began."""
    plans = campaigns.plans(("redis", "etcd", "dynamodb"), ("uncontended",), 1)
    folder = campaigns.start(tmp_path_factory.mktemp("barren"), plans)
    campaigns.add_run(folder, plans[0], campaigns.Failed(phase="<i>servers", reason="<b>port</b> 1 | is taken"))
    campaigns.add_run(folder, plans[1], None)
    return Evidence.load(folder)
