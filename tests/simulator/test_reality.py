"""The model against every recorded trial of the reference. Where they differ is listed, with the reason."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.analysis.hazards.evidence import HazardEvidence
from bench.analysis.places import reference_hazards
from bench.hazards.checker import check_trial
from bench.records.hazards import EndOfBelief, Trial
from bench.records.yaml_text import read_yaml
from tests.simulator.agreement import APART_NS, differences
from tests.simulator.compared import Compared, Pair, compared

LISTED: Mapping[str, Mapping[str, str]] = read_yaml((Path(__file__).parent / "differences.yaml").read_text())


@pytest.fixture(scope="module")
def recorded() -> HazardEvidence:
    folder = reference_hazards()
    assert folder is not None
    return HazardEvidence.load(folder)


@pytest.fixture(scope="module")
def pairs(recorded: HazardEvidence) -> Mapping[Pair, Compared]:
    return compared(recorded.trials)


def test_where_the_model_differs_is_listed(pairs: Mapping[Pair, Compared]) -> None:
    found = {f"{scenario} {system}": one.verdict for (scenario, system), one in pairs.items()}
    listed = {pair: verdict for verdict, of in LISTED.items() for pair in of}
    assert {pair: verdict for pair, verdict in found.items() if verdict != "equal"} == listed


def test_what_is_not_modelled_is_named(pairs: Mapping[Pair, Compared]) -> None:
    for pair, reason in LISTED["not modelled"].items():
        scenario, _, system = pair.partition(" ")
        assert ", ".join(sorted(pairs[scenario, system].unmodelled)) == reason


def test_nothing_is_skipped_in_part(pairs: Mapping[Pair, Compared]) -> None:
    assert all(not one.unmodelled or not one.groups for one in pairs.values())


def test_most_of_what_was_recorded_is_equal(pairs: Mapping[Pair, Compared]) -> None:
    played = [one for one in pairs.values() if one.groups]
    assert len(played) >= 110
    assert sum(one.equal for one in played) >= 0.95 * sum(one.recorded for one in played)


def test_every_reason_is_a_sentence() -> None:
    assert all(reason for of in LISTED.values() for reason in of.values())


def of_scenario(recorded: HazardEvidence, name: str, system: str) -> Compared:
    return compared(row for row in recorded.trials if (row.scenario, row.system) == (name, system))[name, system]


@pytest.mark.parametrize(
    ("fault", "name", "system"),
    [
        (("bench.simulator.history.accepts", lambda *_: True), "page-scenario", "redis"),
        (("bench.simulator.services.Queue.end", lambda *_: None), "cable-pulled", "zookeeper"),
        (("bench.simulator.services.LeaseServer.forget", lambda _: None), "restarted-node", "redlock"),
        (("bench.simulator.clients.SessionClient._expire", lambda *_: None), "crash-recovery", "etcd"),
        (("bench.simulator.clients.RowClient.killed", lambda _: None), "crash-recovery", "postgres-row"),
        (("bench.simulator.clients._DRIFT_PERCENT", 60), "late-quorum", "redlock"),
        (("bench.simulator.network.Link.restore", lambda _: None), "late-on-the-wire", "dynamodb"),
    ],
)
def test_a_planted_fault_is_seen(
    recorded: HazardEvidence, monkeypatch: pytest.MonkeyPatch, fault: tuple[str, object], name: str, system: str
) -> None:
    assert of_scenario(recorded, name, system).verdict == "equal"
    monkeypatch.setattr(*fault)
    assert of_scenario(recorded, name, system).verdict == "different"


def one_of(recorded: HazardEvidence) -> Trial:
    """A holder that was paused, and whose late write was refused."""
    return next(row.trial for row in recorded.trials if row.checked.stale_refused and row.trial.faults)


def differ(real: Trial, model: Trial) -> list[str]:
    return differences(real, check_trial(real), model, check_trial(model))


def test_a_trial_is_equal_to_itself(recorded: HazardEvidence) -> None:
    assert not differ(one_of(recorded), one_of(recorded))


def test_another_order_is_seen(recorded: HazardEvidence) -> None:
    real = one_of(recorded)
    late = [write.model_copy(update={"sent_ns": real.began_ns, "judged_ns": real.began_ns}) for write in real.writes]
    assert any(
        said.startswith("recorded first") for said in differ(real, real.model_copy(update={"writes": tuple(late)}))
    )


def test_another_verdict_is_seen(recorded: HazardEvidence) -> None:
    real = one_of(recorded)
    taken = [write.model_copy(update={"accepted": True}) for write in real.writes]
    said = differ(real, real.model_copy(update={"writes": tuple(taken)}))
    assert any("write refused" in one for one in said)
    assert any(one.startswith("stale_accepted") for one in said)


def test_a_missing_belief_is_seen(recorded: HazardEvidence) -> None:
    real = one_of(recorded)
    kept = [one for one in real.beliefs if one.actor != "contender"]
    attempts = {"writes": (), "presentations": ()}
    said = differ(real, real.model_copy(update={"beliefs": tuple(kept), **attempts}))
    assert "only recorded: contender holds 1" in said


def test_how_a_belief_ended_is_seen(recorded: HazardEvidence) -> None:
    real = one_of(recorded)
    middle_ns = real.began_ns + APART_NS
    ended = [
        one.model_copy(update={"ended_by": EndOfBelief.LOST, "until_ns": max(middle_ns, one.from_ns)})
        for one in real.beliefs
    ]
    assert differ(real, real.model_copy(update={"beliefs": tuple(ended)}))


def test_a_pair_is_mostly_equal_only_if_each_combination_is() -> None:
    assert Compared({"a": (4, 4), "b": (2, 2)}).verdict == "equal"
    assert Compared({"a": (4, 4), "b": (4, 3)}).verdict == "mostly"
    assert Compared({"a": (40, 40), "b": (4, 2)}).verdict == "different"
    assert Compared({}).verdict == "not modelled"
