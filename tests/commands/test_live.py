"""`lockbench live` starts the servers of what was chosen, or all. No server runs here."""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from bench.commands import campaigns
from bench.errors import LockbenchError
from bench.servers.spec import ServerSpec
from bench.systems import registry
from bench.systems.entry import System
from tests.servers.toy import ToyServers


class ToySet(ToyServers):
    """The servers of a system from outside."""

    name = "toy"


class _Asked(LockbenchError):
    """Ends the command where the servers would be started."""


class _Supervisor:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def require(self, specs: Sequence[ServerSpec]) -> None:
        self.asked = [spec.name for spec in specs]
        raise _Asked


@pytest.mark.parametrize(
    ("chosen", "served"), [(["toy"], ["toy"]), ([], [registry.SYSTEMS[name].server_set for name in registry.HEADLINE])]
)
def test_what_was_chosen_is_served_or_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chosen: list[str], served: list[str]
) -> None:
    outside = System("toy", "Toy", "bench.systems.null.lock:NullLock", "try", f"{__name__}:ToySet", "toy", package="p")
    found = registry._Outside(MappingProxyType({"toy": outside}), ())
    monkeypatch.setattr(registry, "_outside", lambda: found)
    monkeypatch.chdir(tmp_path)
    supervisor = _Supervisor()
    monkeypatch.setattr(campaigns.Supervisor, "default", lambda: supervisor)
    with pytest.raises(_Asked):
        campaigns.live(system=chosen, port=18_089, host="127.0.0.1", processes=1)
    assert supervisor.asked == served
