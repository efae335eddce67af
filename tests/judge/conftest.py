"""What lockbench prints of the reference, and the runs that the judge reads: made once for all tests of it."""

from collections.abc import Sequence

import pytest

from bench.analysis.places import project_root
from tests.judge.records import Run
from tests.judge.renderings import Rendered, judged

REFERENCE = project_root() / "data" / "reference"
HAZARDS = REFERENCE / "hazards"


@pytest.fixture(scope="session")
def rendered() -> Rendered:
    return Rendered.of(HAZARDS, REFERENCE)


@pytest.fixture(scope="session")
def runs() -> Sequence[Run]:
    return judged(HAZARDS)
