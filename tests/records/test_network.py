"""Networks as people write them: one name each, presets with sources, and mistakes that say what to write."""

import pytest
from pydantic import ValidationError

from bench.records.network import PRESETS, RTT_MS_AT_MOST, network_name, read_network
from bench.records.workload import Workload

PLAIN = Workload(name="uncontended", clients=1, keys=0)


@pytest.mark.parametrize(
    ("text", "name", "numbers"),
    [
        ("rtt=0.5ms", "rtt=0.5ms", (0.5, 0.0, 0.0)),
        (" rtt=0.50 ms", "rtt=0.5ms", (0.5, 0.0, 0.0)),
        ("rtt=0ms", "rtt=0ms", (0.0, 0.0, 0.0)),
        ("rtt=1s", "rtt=1s", (1_000.0, 0.0, 0.0)),
        ("rtt=2ms+reset=30s+jitter=0.1ms", "rtt=2ms+jitter=0.1ms+reset=30s", (2.0, 0.1, 30.0)),
        ("zone", "zone", (0.5, 0.0, 0.0)),
        ("region+jitter=500ms", "region+jitter=500ms", (2.0, 500.0, 0.0)),
    ],
)
def test_a_network_is_read(text: str, name: str, numbers: tuple[float, float, float]) -> None:
    network = read_network(text)
    assert network is not None
    assert network.name == network_name(network.name) == name
    assert (network.rtt_ms, network.jitter_ms, network.reset_after_s) == numbers


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is no network: write none, zone"),
        ("fast", "is no network"),
        ("none+jitter=1ms", "is no network"),
        ("rtt=0.5", "has no unit"),
        ("rtt=2s", r"2s is outside 0ms to 1s"),
        ("zone+jitter=0ms", "is outside"),
        ("zone+reset=1ms", "is outside"),
        ("zone+loss=3s", r"add jitter=0.1ms or reset=30s, each once"),
        ("zone+jitter=1ms+jitter=2ms", "each once"),
    ],
)
def test_a_mistake_says_what_to_write(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_network(text)


def test_presets_have_a_source_and_rise() -> None:
    rtts_ms = [one.rtt_ms for one in PRESETS.values()]
    assert rtts_ms == sorted(rtts_ms)
    assert all(0 < rtt_ms <= RTT_MS_AT_MOST for rtt_ms in rtts_ms)
    assert all(one.what and one.source for one in PRESETS.values())
    assert read_network("none") is None


def test_networks_are_different_cells_and_leave_the_digests_of_before_alone() -> None:
    assert PLAIN.digest == Workload.model_validate(PLAIN.model_dump(exclude={"network"})).digest
    named = [Workload.model_validate({**PLAIN.model_dump(), "network": one}) for one in ("none", "zone", "rtt=0ms")]
    assert len({one.digest for one in named}) == 3
    assert [one.has_network for one in named] == [False, True, True]
    same = Workload.model_validate({**PLAIN.model_dump(), "network": "rtt=0.50ms"})
    assert same.network == "rtt=0.5ms"
    with pytest.raises(ValidationError, match="is no network"):
        Workload.model_validate({**PLAIN.model_dump(), "network": "near"})
