"""A workload is described once: its record, Locust's options, the run's options and the old digests agree."""

import pytest
from pydantic import ValidationError

from bench.load.options import LoadSettings, option_of
from bench.load.runner import _command
from bench.records.workload import WORKLOADS, Behaviour, Workload, parameters
from tests.load.runs import plan_of
from tests.load.test_options import GOOD

PLAIN = Workload(name="contended", clients=8, keys=1, hold_ms=1.0, wait="watch")


def test_every_field_can_be_asked_for_and_has_help_and_limits() -> None:
    by_field = {one.field: one for one in parameters()}
    assert set(by_field) == set(Workload.model_fields) - {"label"}
    for one in by_field.values():
        assert one.help
        assert one.example
        assert one.kind is str or one.low < one.high
        last = one.field.removesuffix("_per_s").rpartition("_")[2]
        assert one.unit == (last if last in ("ms", "s") else "")
    assert len({one.option for one in by_field.values()}) == len(by_field)


def test_a_label_sets_runs_apart_and_leaves_the_digests_of_before_alone() -> None:
    assert PLAIN.digest == "4cf8249e"
    assert PLAIN.model_copy(update={"strangers": 0, "pool": 0}).digest == PLAIN.digest
    assert len({PLAIN.model_copy(update=one).digest for one in ({}, {"strangers": 1}, {"pool": 1})}) == 3
    named = PLAIN.model_copy(update={"label": "checkout"})
    assert named.digest != PLAIN.digest
    assert (PLAIN.title, named.title) == ("contended", "checkout")


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_label_is_never_the_name_of_a_workload(name: str) -> None:
    with pytest.raises(ValidationError, match="is the name of a workload"):
        Workload(name="contended", clients=8, keys=1, label=name)


@pytest.mark.parametrize(
    "change", [{"clients": 0}, {"clients": 64_001}, {"keys": -1}, {"ttl_ms": 0}, {"hold_ms": -0.1}, {"processes": 65}]
)
def test_a_record_has_the_limits_of_the_options(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Workload.model_validate({**PLAIN.model_dump(), **change})


@pytest.mark.parametrize("name", WORKLOADS)
def test_what_a_plan_says_reaches_the_load_unchanged(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Every parameter, through the command line and its reader."""
    asked = {
        "name": name,
        "clients": 7,
        "keys": 0 if name == "uncontended" else 5,
        "ttl_ms": 2_500,
        "hold_ms": 1.25,
        "wait": "poll-7ms-j10",
        "timeout_ms": 1_234,
        "arrivals": "uniform",
        "zipf_exponent": 1.5,
        "step_s": 0.25,
        "warmup_s": 0.125,
        "measure_s": 1.75,
        "rate_per_s": 12.5 if name == "rate" else 0.0,
    }
    plan = plan_of("memory", **asked)
    argv = _command(plan, tmp_path_factory.getbasetemp(), {"a": "b"})
    given = {
        option.removeprefix("--").replace("-", "_"): argv[place + 1]
        for place, option in enumerate(argv[:-1])
        if option.startswith("--")
    }
    settings = LoadSettings.read({**GOOD, **given})
    expected = Behaviour(**plan.workload.model_dump(include=set(Behaviour.model_fields)))
    if name != "rate":
        expected = expected.model_copy(update={"rate_per_s": settings.workload.rate_per_s})  # not asked for
    assert settings.workload == expected
    assert (settings.ttl_ms, settings.timeout_ms, settings.hold_ms) == (2_500, 1_234, 1.25)
    assert given["users"] == "7"
    assert all(option_of(one) in argv for one in parameters(Behaviour) if one.field != "rate_per_s")


def test_strangers_have_the_numbers_above_all_shared_keys_and_are_of_contended_alone() -> None:
    beside = PLAIN.model_copy(update={"strangers": 3})
    assert (beside.strangers_from, beside.meeting_clients) == (1, 5)
    assert beside.model_copy(update={"keys": 4}).strangers_from == 4
    assert beside.model_copy(update={"keys": 0}).strangers_from == 1
    assert (PLAIN.strangers_from, PLAIN.meeting_clients) == (None, 8)
    other = beside.model_copy(update={"name": "hot-cold"})
    assert (other.strangers_from, other.meeting_clients) == (None, 8)
