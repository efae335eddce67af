"""Every check that applies, on every system, on its real servers."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from bench.systems.registry import SYSTEMS
from tests.conformance.catalogue import CHECKS
from tests.conformance.coverage import pairs
from tests.conformance.harness import Harness


def _parameters() -> list[object]:
    return [
        pytest.param(
            name, check, id=f"{name}-{check}", marks=[pytest.mark.servers] if SYSTEMS[name].servers_path else []
        )
        for name, check in pairs()
    ]


@pytest.mark.parametrize(("system_name", "check"), _parameters())
def test_check(system_name: str, check: str, bench_of: Callable[[str], AbstractContextManager[Harness]]) -> None:
    with bench_of(system_name) as bench:
        CHECKS[check](bench)
