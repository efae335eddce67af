"""What the ZooKeeper server set writes, and whom it believes. A listener of our own plays the servers."""

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.servers.spec import Found, Missing, Node, NotReady, WrongServer
from bench.systems.zookeeper.four_letter import NotAllowed, Unanswered, ask, fields
from bench.systems.zookeeper.server import HOME_VARIABLE, ZooKeeperServers

SPEC = ZooKeeperServers()


@contextmanager
def listener(answers: Mapping[str, str]) -> Iterator[int]:
    """A server that answers four-letter words from `answers`, on the port that is yielded."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    word = connection.recv(4).decode()
                    connection.sendall(
                        answers.get(word, f"{word} is not executed because it is not in the whitelist.\n").encode()
                    )

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def node_at(port: int, directory: Path, number: int = 1) -> Node:
    (directory / "myid").write_text(f"{number}\n")
    return Node(f"zookeeper-{number}", {"client": port, "peer": 1, "election": 2}, directory)


def conf(directory: Path, number: int = 1) -> str:
    return f"clientPort=1\ndataDir={directory}/version-2\nserverId={number}\nmembership: \nserver.1=a\nserver.2=b\n"


def test_prepare_writes_one_ensemble(tmp_path: Path) -> None:
    nodes = []
    for number, name in enumerate(SPEC.node_names, 1):
        directory = tmp_path / name
        directory.mkdir()
        nodes.append(Node(name, {"client": 10 + number, "peer": 20 + number, "election": 30 + number}, directory))
    launches = SPEC.prepare(nodes, Found({"java": "/a/java", "classpath": "/b/*"}, "any"))
    for number, (node, launch) in enumerate(zip(nodes, launches, strict=True), 1):
        settings = fields((node.directory / "zoo.cfg").read_text())
        assert (node.directory / "myid").read_text() == f"{number}\n"
        assert settings["dataDir"] == f"/proc/self/cwd/{node.name}"
        assert settings["clientPort"] == str(node.port)
        assert settings["clientPortAddress"] == "127.0.0.1"
        assert settings["forceSync"] == SPEC.native_durability()["forceSync"] == "yes"
        assert [settings[f"server.{n}"] for n in (1, 2, 3)] == [f"127.0.0.1:2{n}:3{n}" for n in (1, 2, 3)]
        assert launch.argv[0] == "/a/java"
        assert launch.argv[-1] == f"/proc/self/cwd/{node.name}/zoo.cfg"


def test_the_right_server_is_proven(tmp_path: Path) -> None:
    with listener({"conf": conf(tmp_path)}) as port:
        assert SPEC.prove(node_at(port, tmp_path), os.getpid()) == f"myid=1 dataDir={tmp_path}"


@pytest.mark.parametrize("claims", [(2, ""), (1, "/elsewhere")])
def test_another_servers_number_or_folder_is_refused(tmp_path: Path, claims: tuple[int, str]) -> None:
    number, folder = claims
    answer = conf(Path(folder) if folder else tmp_path, number)
    with listener({"conf": answer}) as port, pytest.raises(WrongServer, match=f"port {port} is answered by ZooKeeper"):
        SPEC.prove(node_at(port, tmp_path), os.getpid())


def test_a_right_answer_from_another_process_is_refused(tmp_path: Path) -> None:
    with listener({"conf": conf(tmp_path)}) as port, pytest.raises(WrongServer, match="another process than"):
        SPEC.prove(node_at(port, tmp_path), os.getppid())


def test_what_is_not_zookeeper_is_refused(tmp_path: Path) -> None:
    with listener({"conf": "-ERR unknown command\r\n"}) as port, pytest.raises(WrongServer, match="does not answer as"):
        SPEC.prove(node_at(port, tmp_path), None)


def test_silence_and_no_quorum_are_not_ready(tmp_path: Path) -> None:
    waiting = {"conf": "This ZooKeeper instance is not currently serving requests\n"}
    with listener(waiting) as port, pytest.raises(NotReady):
        SPEC.prove(node_at(port, tmp_path), os.getpid())
    with pytest.raises(NotReady):  # the listener is gone by now
        SPEC.prove(node_at(port, tmp_path), os.getpid())


@pytest.mark.parametrize(
    ("states", "settled"),
    [
        ([("leader", "2"), ("follower", ""), ("follower", "")], True),
        ([("leader", "1"), ("follower", ""), ("follower", "")], False),
        ([("follower", ""), ("follower", ""), ("follower", "")], False),
        ([("leader", "2"), ("leader", "2"), ("follower", "")], False),
    ],
)
def test_settled_means_one_leader_with_all_others_in_step(
    tmp_path: Path, states: list[tuple[str, str]], settled: bool
) -> None:
    answers = [
        {"mntr": f"zk_server_state\t{state}\n" + (f"zk_synced_followers\t{synced}\n" if synced else "")}
        for state, synced in states
    ]
    with listener(answers[0]) as one, listener(answers[1]) as two, listener(answers[2]) as three:
        nodes = [node_at(port, tmp_path) for port in (one, two, three)]
        if settled:
            SPEC.settle(nodes)
        else:
            with pytest.raises(NotReady):
                SPEC.settle(nodes)


def test_a_word_that_is_not_allowed_is_told_from_one_that_has_no_answer_yet() -> None:
    with listener({"conf": ""}) as port:
        with pytest.raises(NotAllowed):
            ask("127.0.0.1", port, "mntr", 2.0)
        with pytest.raises(Unanswered) as refusal:
            ask("127.0.0.1", port, "conf", 2.0)
    assert not isinstance(refusal.value, NotAllowed)


def test_a_home_without_a_release_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    found = SPEC.find()
    assert isinstance(found, Missing)
    assert str(tmp_path / "lib") in found.what
    assert "zookeeper" in found.install


def test_no_java_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    found = SPEC.find()
    assert isinstance(found, Missing)
    assert "java" in found.what
