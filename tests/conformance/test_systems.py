"""Every check that applies, on every system, on its real servers."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from bench.conformance.catalogue import CHECKS
from bench.conformance.coverage import pairs
from bench.conformance.harness import Harness
from bench.systems.registry import SYSTEMS


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
