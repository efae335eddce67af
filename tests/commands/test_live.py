"""`lockbench live` brings up the servers of what its page can drive. No server runs here."""

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


class _AllUp(LockbenchError):
    """Ends the command where the servers would be up."""


class _Supervisor:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def up(self, specs: Sequence[ServerSpec], _: object) -> None:
        self.asked = [spec.name for spec in specs]
        raise _AllUp


def test_the_chosen_system_is_served_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outside = System("toy", "Toy", "bench.systems.null.lock:NullLock", "try", f"{__name__}:ToySet", "toy", package="p")
    found = registry._Outside(MappingProxyType({"toy": outside}), ())
    monkeypatch.setattr(registry, "_outside", lambda: found)
    monkeypatch.chdir(tmp_path)
    supervisor = _Supervisor()
    monkeypatch.setattr(campaigns.Supervisor, "default", lambda: supervisor)
    with pytest.raises(_AllUp):
        campaigns.live(system=["toy"], port=18_089, processes=1)
    assert supervisor.asked == [*registry.SERVER_SETS, "toy"]
