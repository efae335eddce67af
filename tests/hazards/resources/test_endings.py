"""Resources with a process of their own end with the block, and with the stage, however that ends."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from bench.errors import LockbenchError
from bench.hazards.resources.base import Rule
from bench.hazards.resources.registry import UnknownResource, host_of, kinds, open_resource
from bench.servers.endpoint import Endpoint
from tests.hazards.resources.hosted import attempt

WITH_PROCESS = ("referee", "s3-object")
ENDS_WITHIN_S = 30.0
# A stage that does nothing but have the resource.
STAGE = """
import sys, time
from bench.hazards.resources.registry import host_of
with host_of(sys.argv[1], {}).hosted() as place:
    print(place["port"], flush=True)
    time.sleep(600)
"""


def children() -> set[psutil.Process]:
    return set(psutil.Process().children())


@pytest.mark.parametrize("kind", WITH_PROCESS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_a_stage_that_is_killed(kind: str, number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STAGE, kind], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as stage:
        ours: list[psutil.Process] = []
        try:
            assert stage.stdout is not None
            port = int(stage.stdout.readline())
            ours += psutil.Process(stage.pid).children()
            assert len(ours) == 1
            open_resource(kind, {"port": port}).close()  # it is up
            stage.send_signal(number)
            _, alive = psutil.wait_procs(ours, timeout=ENDS_WITHIN_S)
            assert not alive
        finally:
            for process in ours:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            stage.kill()


@pytest.mark.parametrize("kind", WITH_PROCESS)
@pytest.mark.parametrize("stopped", [False, True])
def test_it_ends_with_the_block(kind: str, stopped: bool) -> None:
    before = children()

    class Broken(Exception):
        pass

    def use() -> None:
        with host_of(kind, {}).hosted() as place:
            (child,) = children() - before
            open_resource(kind, place).close()
            if stopped:
                os.kill(child.pid, signal.SIGSTOP)
            raise Broken

    with pytest.raises(Broken):
        use()
    assert children() == before


def test_the_folder_of_files_is_removed() -> None:
    with host_of("file", {}).hosted() as place:
        open_resource("file", place).write(attempt("k", 1))
        folder = Path(place["folder"])
        assert list(folder.iterdir())
    assert not folder.exists()


def test_a_child_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    before = children()
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    with pytest.raises(LockbenchError, match="did not tell its port"), host_of("referee", {}).hosted():
        pass
    assert children() == before


@pytest.mark.parametrize(("kind", "needs"), [("postgres-row", "postgres"), ("dynamodb-item", "dynamodb")])
def test_a_host_without_its_servers_says_so(kind: str, needs: str) -> None:
    nowhere = Endpoint((("127.0.0.1", 1),))
    with pytest.raises(LockbenchError, match=r"127\.0\.0\.1:1"), host_of(kind, {needs: nowhere}).hosted():
        pass


def test_unknown_kinds_and_missing_servers() -> None:
    with pytest.raises(UnknownResource, match="referee, postgres-row"):
        host_of("clay-tablet", {})
    with pytest.raises(UnknownResource, match="servers of etcd"):
        host_of("etcd-txn", {})
    assert len(kinds()) == 8


def test_an_attempt_survives_json() -> None:
    sent = attempt("k", None, rule=Rule.AT_MOST)
    assert type(sent).from_tree(sent.to_tree()) == sent
