"""The use of a Docker engine: none, a silent one, and the words that a running one is given."""

import json
import os
from pathlib import Path

import pytest

from bench.servers.running import compose
from bench.servers.running.compose import ComposeError
from tests.packaging.pyproject import ROOT

CONTAINER = "5f0c" * 16
SEEN = {
    "Id": CONTAINER,
    "Image": "sha256:0a1b2c3d4e5f6071",
    "State": {"StartedAt": "now"},
    "NetworkSettings": {"Ports": {"6379/tcp": [{"HostIp": "127.0.0.1", "HostPort": "49153"}], "8080/tcp": None}},
}
# Notes each argument vector and answers from files; `docker info` answers as version 28.2.2 would.
DOCKER = """#!/bin/sh
printf '%s\\n' "$*" >>"$DOCKER/calls"
[ -e "$DOCKER/hangs" ] && exec sleep 60
case "$*" in
"compose version"*) [ -e "$DOCKER/no-plugin" ] && { echo "docker: unknown command: docker compose" >&2; exit 1; } ;;
"info"*) cat "$DOCKER/engine" ;;
*" port "*) cat "$DOCKER/port" ;;
*" ps "*) cat "$DOCKER/ps" ;;
"ps "*) printf '%s\n' "$LEFT" ;;
"inspect "*) cat "$DOCKER/inspect" ;;
*" up "*) [ -e "$DOCKER/broken" ] && { echo "no such image" >&2; exit 18; } ;;
esac
exit 0
"""
OPTIONS = "compose --file docker-compose.yml --profile lab --profile load"


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pretended docker with a running engine, in a folder with a compose file."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "docker").write_text(DOCKER, encoding="utf-8")
    (programs / "docker").chmod(0o755)
    for name, text in (
        ("engine", "28.2.2\n"),
        ("port", "127.0.0.1:49153\n"),
        ("ps", CONTAINER + "\n"),
        ("inspect", json.dumps([SEEN])),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "docker-compose.yml").write_text("services: {}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER", str(tmp_path))
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return tmp_path


def calls(docker: Path) -> list[str]:
    return (docker / "calls").read_text(encoding="utf-8").splitlines()


def test_an_engine_that_answers(docker: Path) -> None:
    assert compose.engine_answers()
    assert calls(docker) == ["compose version", "info --format {{.ServerVersion}}"]


def test_a_client_without_engine(docker: Path) -> None:
    """Some versions of `docker info` exit with 0 and say nothing, others with 1."""
    (docker / "engine").write_text("\n", encoding="utf-8")
    assert not compose.engine_answers()
    (docker / "engine").unlink()
    assert not compose.engine_answers()


def test_a_client_without_compose(docker: Path) -> None:
    (docker / "no-plugin").touch()
    assert not compose.engine_answers()


def test_a_client_that_hangs(docker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (docker / "hangs").touch()
    monkeypatch.setattr(compose, "_ASK_WITHIN_S", 0.3)
    assert not compose.engine_answers()
    with pytest.raises(ComposeError, match=r"did not end within 0\.3 s"):
        compose.address("redis", 6379)


def test_a_folder_without_compose_file(docker: Path) -> None:
    (docker / "docker-compose.yml").unlink()
    assert not compose.engine_answers()
    assert not (docker / "calls").exists()


def test_no_docker_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not compose.engine_answers()
    with pytest.raises(ComposeError, match="cannot be run"):
        compose.down()


def test_this_machine_answers_in_time_whatever_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """For real. An engine is then asked for its containers; without one the refusal says what failed."""
    monkeypatch.chdir(ROOT)
    if compose.engine_answers():
        with pytest.raises(ComposeError, match="containers of redis run"):
            compose.container("redis", 6379, ("127.0.0.1", 49153))
    else:
        with pytest.raises(ComposeError, match="docker"):
            compose.container("redis", 6379, ("127.0.0.1", 49153))


def test_up_starts_exactly_what_is_asked_and_waits(docker: Path) -> None:
    compose.up(["etcd-1", "etcd-2"])
    assert calls(docker) == [f"{OPTIONS} up --detach --wait --no-deps --quiet-pull etcd-1 etcd-2"]


def test_what_compose_says_is_passed_on(docker: Path) -> None:
    (docker / "broken").touch()
    with pytest.raises(ComposeError, match="no such image"):
        compose.up(["redis"])


@pytest.mark.parametrize(
    ("told", "reached"),
    [
        ("127.0.0.1:49153", ("127.0.0.1", 49153)),
        ("0.0.0.0:49153", ("127.0.0.1", 49153)),
        ("[::]:49153", ("127.0.0.1", 49153)),
        ("[::1]:49153", ("::1", 49153)),
    ],
)
def test_the_address_is_the_published_one(docker: Path, told: str, reached: tuple[str, int]) -> None:
    (docker / "port").write_text(told + "\n", encoding="utf-8")
    assert compose.address("redis", 6379) == reached
    assert calls(docker) == [f"{OPTIONS} port redis 6379"]


@pytest.mark.parametrize("told", ["", ":0", "invalid IP:0"])
def test_a_port_that_is_not_published(docker: Path, told: str) -> None:
    (docker / "port").write_text(told, encoding="utf-8")
    with pytest.raises(ComposeError, match="does not publish port 6379"):
        compose.address("redis", 6379)


def test_a_container_proves_itself_by_its_id(docker: Path) -> None:
    found = compose.container("redis", 6379, ("127.0.0.1", 49153))
    assert found.container_id == CONTAINER
    assert str(found) == "container 5f0c5f0c5f0c of image 0a1b2c3d4e5f"
    assert calls(docker) == [f"{OPTIONS} ps --quiet --status running redis", f"inspect --type container {CONTAINER}"]


@pytest.mark.parametrize("running", ["", f"{CONTAINER}\n{'77' * 32}\n"])
def test_none_or_two_containers_prove_nothing(docker: Path, running: str) -> None:
    (docker / "ps").write_text(running, encoding="utf-8")
    with pytest.raises(ComposeError, match="containers of redis run, not one"):
        compose.container("redis", 6379, ("127.0.0.1", 49153))


@pytest.mark.parametrize(
    ("inside", "outside"),
    [(6379, 49154), (6380, 49153), (8080, 49153)],
    ids=["it was started anew", "another port of its own", "a port that it keeps to itself"],
)
def test_a_container_does_not_answer_for_an_address_that_is_not_its(docker: Path, inside: int, outside: int) -> None:
    """An engine that was started anew gives the ports of before to other containers."""
    with pytest.raises(ComposeError, match=f"redis was restarted.*not at {outside}"):
        compose.container("redis", inside, ("127.0.0.1", outside))


@pytest.mark.parametrize(
    ("left", "removed"),
    [
        ("aa redis\nbb redlock-1\ncc redlock-2", ["redis", "redlock-2"]),
        ("bb redlock-1", []),  # ours is gone, and somebody else's stays
        ("cc redlock-2", ["redlock-2"]),
        ("dd \nbb redlock-1\naa redis", ["redis"]),  # `docker run` starts containers of no service
        ("", []),
    ],
)
def test_only_the_named_containers_are_removed_with_their_volumes(
    docker: Path, monkeypatch: pytest.MonkeyPatch, left: str, removed: list[str]
) -> None:
    monkeypatch.setenv("LEFT", left)
    ids = {service: one for one, service in (line.split(" ") for line in left.splitlines())}
    assert compose.stop({"aa", "cc"}) == removed
    expected = [f"rm --force --volumes {' '.join(sorted(ids[name] for name in removed))}"] if removed else []
    assert [call for call in calls(docker) if call.startswith("rm")] == expected


def test_down_takes_everything(docker: Path) -> None:
    compose.down()
    assert calls(docker) == [f"{OPTIONS} down --volumes --remove-orphans"]
