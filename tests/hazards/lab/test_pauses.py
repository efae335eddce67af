"""Servers stopped and resumed: every process of them, seen by the kernel's own word and by clients."""

import threading
import time
from collections.abc import Callable

import psutil
import pytest

from bench.hazards.lab.servers import LabServers
from bench.servers.running.readiness import TooLate
from bench.systems.base import Grant, LockClient
from bench.systems.wait import Wait
from tests.hazards.lab.clients import TIMEOUT_MS, client, grant_of, token_of

pytestmark = pytest.mark.servers
Take = Callable[[str], LabServers]


def in_background(one: LockClient, key: str) -> tuple[threading.Thread, list[object]]:
    answers: list[object] = []
    thread = threading.Thread(
        target=lambda: answers.append(one.acquire(key, one.options.ttl_ms, TIMEOUT_MS, Wait("block")))
    )
    thread.start()
    return thread, answers


def test_a_paused_postgres_stands_still_with_all_its_sessions(servers_of: Take) -> None:
    servers = servers_of("postgres-row")
    with client("postgres-row", servers.endpoint, ttl_ms=60_000) as one:
        one.release(grant_of(one, "k"))  # the session's process is there, and idle
        paused = servers.pause("postgres")
        root = psutil.Process(servers.pid("postgres"))
        processes = [root, *root.children(recursive=True)]
        assert len(processes) > 5
        assert {process.status() for process in processes} == {psutil.STATUS_STOPPED}
        assert servers.broken() == ["postgres is stopped (state T)"]
        thread, answers = in_background(one, "k")
        thread.join(0.5)
        assert not answers, "a session of a stopped server answered"
        resumed = servers.resume("postgres")
        thread.join(TIMEOUT_MS / 1000)
        assert isinstance(answers[0], Grant)
        assert psutil.STATUS_STOPPED not in {process.status() for process in processes}
    assert resumed.kind == paused.kind == "pause"
    assert resumed.ended_ns is not None
    assert resumed.began_ns == paused.began_ns
    assert resumed.ended_ns - resumed.began_ns > 500_000_000


def test_a_paused_leader_of_etcd_is_replaced_and_comes_back(servers_of: Take) -> None:
    servers = servers_of("etcd")
    leader = servers.leader()
    servers.pause(leader)
    assert servers.leader() != leader
    servers.settled()  # those that are left serve together
    assert servers.broken() == [f"{leader} is stopped (state T)"]
    assert servers.resume(leader).target == leader
    servers.settled()
    assert servers.broken() == []
    with pytest.raises(ValueError, match="was not paused"):
        servers.resume(leader)


def test_a_paused_server_can_be_killed(servers_of: Take) -> None:
    servers = servers_of("redis-aof")
    before = token_of("redis-aof", servers.endpoint, "k")
    servers.pause("redis")
    servers.kill("redis")
    assert servers.broken() == ["redis does not run"]
    servers.start("redis")
    assert token_of("redis-aof", servers.endpoint, "k") == before + 1


def test_settled_has_a_deadline(servers_of: Take) -> None:
    servers = servers_of("zookeeper")
    leader = servers.leader()
    servers.pause(leader)  # which its followers notice after syncLimit, 3 s
    started = time.monotonic()
    with pytest.raises(TooLate, match="no leader with 1 followers yet"):
        servers.settled(within_s=0.5)
    assert time.monotonic() - started < 15
    servers.pause(next(node for node in servers.node_names if node != leader))
    with pytest.raises(ValueError, match="with 2 nodes or more"):
        servers.settled()
