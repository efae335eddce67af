"""One synthetic campaign for all tests of the analysis: made once, only read."""

from pathlib import Path

import pytest

from tests import campaigns


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a whole made-up campaign with three repetitions."""
    return campaigns.whole_campaign(tmp_path_factory.mktemp("synthetic")).path
