"""Every check that applies, on every system, on its real servers."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from bench.conformance.catalogue import CHECKS, near
from bench.conformance.coverage import OF_A_VARIANT, pairs
from bench.conformance.harness import Harness
from bench.systems.registry import SYSTEMS
from tests.thorough import case

PAIRS = frozenset(pairs())
NEAR = [name for name in CHECKS if near(name) == name]


def _parameters() -> list[object]:
    return [
        case(
            name,
            check,
            rare=_is_rare(name, check),
            id=f"{name}-{check}",
            marks=[pytest.mark.servers] if SYSTEMS[name].servers_path else [],
        )
        for name, check in pairs()
    ]


def _is_rare(name: str, check: str) -> bool:
    """What runs near the servers and at a distance, `make test` runs at one of the two, by turns. `faulty` is `memory`
    where no fault is planted, and advisory locks stand on what `postgres-row` stands on: of those a third runs."""
    if name == "faulty":
        return check not in OF_A_VARIANT
    if name == "postgres-advisory" and list(CHECKS).index(check) % 3:
        return True
    distances = [one for one in CHECKS if near(one) == near(check) and (name, one) in PAIRS]
    return len(distances) == 2 and distances.index(check) != (list(SYSTEMS).index(name) + NEAR.index(near(check))) % 2


@pytest.mark.parametrize(("system_name", "check"), _parameters())
def test_check(system_name: str, check: str, bench_of: Callable[[str], AbstractContextManager[Harness]]) -> None:
    with bench_of(system_name) as bench:
        CHECKS[check](bench)
