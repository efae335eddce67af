"""What is told of an ensemble that tells little: a number or a name is read from it, or said not to be known."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kazoo.exceptions import NoAuthError, NoNodeError

from bench.systems.zookeeper.facts import read_facts
from tests.unit.test_zookeeper_server import listener

THREE = b"server.1=a:2:3:participant\nserver.2=b:2:3:participant\nserver.3=c:2:3:observer\nversion=0"
SRVR = "Zookeeper version: 3.9.2-abc, built on a day\nMode: {}\n"


def session(port: int, config: bytes | Exception) -> Any:
    def ask(send: Callable[[], Any]) -> Any:
        if isinstance(config, Exception):
            raise config
        return config, None

    return SimpleNamespace(address=("127.0.0.1", port), encrypt=None, ask=ask, kazoo=None)


@pytest.mark.parametrize(
    ("mode", "config", "nodes", "identity"),
    [
        ("follower", THREE, 3, "server.1=a:2:3:participant, server.2=b"),
        ("leader", THREE, 3, "server.1=a:2:3:participant, server.2=b"),
        ("standalone", b"version=0", 1, "not reported"),
        ("standalone", NoNodeError(), 1, "not reported"),
        ("follower", NoAuthError(), None, "not reported"),
        ("leader", NoNodeError(), None, "not reported"),
        ("leader", b"", None, "not reported"),
    ],
)
def test_with_the_default_whitelist(mode: str, config: bytes | Exception, nodes: int | None, identity: str) -> None:
    """Only `srvr` is answered, as every server does out of the box."""
    with listener({"srvr": SRVR.format(mode)}) as port:
        facts = read_facts(session(port, config), 2.0)
    assert (facts.version, facts.nodes) == ("3.9.2", nodes)
    assert facts.identity.startswith(identity)
    assert set(facts.durability.values()) == {"not reported"}


@pytest.mark.parametrize(("syncs", "told"), [("17", "yes"), ("0", "no")])
def test_force_sync_is_told_by_the_count_of_syncs(syncs: str, told: str) -> None:
    words = {"srvr": SRVR.format("leader"), "conf": "tickTime=200\n", "mntr": f"zk_cnt_fsynctime\t{syncs}\n"}
    with listener(words) as port:
        facts = read_facts(session(port, THREE), 2.0)
    assert facts.durability == {"forceSync": told, "tickTime": "200", "syncLimit": "not reported"}
