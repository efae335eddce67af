"""One lab for all scenarios of the session, with every server set; each test plays on it and leaves it whole."""

import itertools
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from bench.hazards.checker import check_history
from bench.hazards.lab.lab import Lab, open_lab
from bench.hazards.run import carry_out
from bench.hazards.scenario import ActorPart, load_scenario
from bench.records.hazards import HazardChecked, HazardHistory, HazardPlan, Scalar
from bench.systems.registry import SYSTEMS, server_sets

Play = Callable[..., tuple[HazardHistory, HazardChecked]]
ATTEMPTS = 60  # at each step of a search, of about a second each


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    home = tmp_path_factory.mktemp("lab-home")
    with open_lab(home, server_sets(tuple(SYSTEMS.values()))) as opened:
        yield opened


@pytest.fixture
def play(lab: Lab, tmp_path: Path) -> Iterator[Play]:
    """`play(scenario, system, **parameters)` plays one run and checks it; afterwards no server may be left broken."""

    numbers = itertools.count(1)

    def played(
        name: str,
        system: str,
        *,
        full: bool = False,
        actors: Mapping[str, ActorPart] = MappingProxyType({}),
        changed: Mapping[str, object] = MappingProxyType({}),
        as_staged: bool = True,
        **parameters: Scalar,
    ) -> tuple[HazardHistory, HazardChecked]:
        """`actors` take the place of the scenario's own, for a control; `changed` of any part of it, for less of it.

        A run that was not as staged, since the machine is busy with other tests, shows nothing: it is played once more,
        and a warning says so. Without `as_staged` it is what the test wants to see.
        """
        scenario = load_scenario(name)
        scenario = scenario.model_copy(update={"actors": {**scenario.actors, **actors}, **changed})
        if scenario.search is not None:  # the tests beside this one keep the machine busier than a campaign's runs do
            patient = scenario.search.model_copy(update={"again": ATTEMPTS})
            scenario = scenario.model_copy(update={"search": patient})
        assert system in scenario.systems, f"{name} is not about {system}"
        values = {**scenario.parameters, **scenario.per_system.get(system, {}), **parameters}
        plan = HazardPlan(
            campaign_id="test",
            run_id=f"{name}-{system}-{next(numbers)}",
            position=0,
            scenario=name,
            system=system,
            parameters=values,
            repetition=1,
            seed=1,
        )
        with (tmp_path / "log.txt").open("a") as log:
            history = carry_out(plan, scenario, full, lab, log, threading.Event())
        if as_staged and history.staging:
            warnings.warn(f"played once more: {'; '.join(history.staging)}", stacklevel=2)
            again = plan.model_copy(update={"run_id": f"{plan.run_id}-again"})
            with (tmp_path / "log.txt").open("a") as log:
                history = carry_out(again, scenario, full, lab, log, threading.Event())
        return history, check_history(history, history.staging)

    yield played
    assert lab.broken() == []
