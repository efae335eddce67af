"""What cannot work is refused before a server is started or a file written, in one message, also in the kinds that a
user would not think of."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.cli import app
from bench.errors import LockbenchError
from bench.records.store import Store
from bench.servers.running import supervisor as supervisors
from bench.servers.running.ports import free_ports

RUN = ["run", "-s", "redis", "-w", "uncontended", "-n", "1"]
LIVE = ["live", "--port", str(free_ports(1)[0])]
HAZARD = ["hazard", "run", "second-write", "-s", "redis"]


class ServersStarted(Exception):
    """A server process was about to be started."""


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def start(*_: object) -> None:
        raise ServersStarted

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LOCKBENCH_DATA", str(tmp_path / "runs"))
    monkeypatch.setattr(supervisors, "start", start)
    yield
    assert not list(tmp_path.rglob("environment.json")), "a campaign was begun"


def refused(arguments: list[str], code: int = 1) -> str:
    """What is said. Wrong usage (2) is said by the parser, all else is an expected failure."""
    ended = CliRunner().invoke(app, arguments)
    if code == 2:
        assert ended.exit_code == 2, (arguments, ended.exception, ended.output)
        return str(ended.output)
    assert isinstance(ended.exception, LockbenchError | OSError), (arguments, ended.exception, ended.output)
    return str(ended.exception)


NAMES = [
    "latest", "LATEST", "Latest", "latest-hazards", "Latest-Hazards", "reference", "REFERENCE", "none", "None",
    "", " ", ".", "..", "../x", "a/b", "/abs", "a\\b", "-x", "--json", "_x", ".hidden", "a b", "a\tb", "a\nb",
    "a\n", "a\r",
    "x" * 121, "x" * 300, "x" * 5000, "a\0b", "é", "ｌatest", "latest\u200b", "la\u0301test", "名", "\ud83d",
    "\udcff", "💥",
    "a*b", "a?b", "a:b", "$(id)", "`id`", "~", "~root", "%s", "a;b", "[red]", "con\x1b[31m",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=ascii)
@pytest.mark.parametrize("command", [RUN, HAZARD], ids=["run", "hazard"])
def test_a_name_that_cannot_be(command: list[str], name: str) -> None:
    told = refused([*command, f"--name={name}"])
    assert "cannot name a campaign" in told
    assert told.isprintable()
    assert len(told) < 400


@pytest.mark.parametrize("command", [RUN, HAZARD], ids=["run", "hazard"])
@pytest.mark.parametrize("link", ["latest", "latest-hazards"])
def test_a_data_folder_that_is_poisoned_already(tmp_path: Path, command: list[str], link: str) -> None:
    """By an earlier lockbench: a folder where the link belongs."""
    (tmp_path / "runs" / link).mkdir(parents=True)
    assert f"runs/{link} stands where the link to the newest campaign belongs" in refused([*command, "--name", "c"])


@pytest.mark.parametrize("command", [RUN, HAZARD], ids=["run", "hazard"])
def test_a_name_that_is_taken(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "runs/c").mkdir(parents=True)
    assert "runs/c exists already" in refused([*command, "--name", "c"])


WRONG_USAGE = [
    [*RUN, "-n", "0"], [*RUN, "-n", "-1"], [*RUN, "-n", "x"], [*RUN, "-n", "1.5"], [*RUN, "-n", "1001"],
    [*RUN, "--seed", "-1"], [*RUN, "--seed", "x"], [*HAZARD, "-n", "0"], [*HAZARD, "-n", "-1"],
    [*HAZARD, "--seed", "-1"],
    ["calibrate", "--pairs", "0"], ["live", "--port", "0"], ["live", "--port", "99999"], ["live", "--port", "x"],
    ["nosuch"], ["up", "--nosuch"], ["export", "pack"], ["export", "pack", "-s", "redis"], ["export", "--nosuch"],
    ["recommend", "--budget-ms", "-1"],
    ["predict"], ["predict", "--rtt", "1ms", "--clients", "0"], ["ttl", "--rtt", "1ms"],
    ["ttl", "--pauses", "x", "--rtt", "1ms", "--lost", "x"],
]  # fmt: skip


@pytest.mark.parametrize("arguments", WRONG_USAGE, ids=" ".join)
def test_wrong_usage(arguments: list[str]) -> None:
    refused(arguments, 2)


MISTAKES = {
    "a system there is none of, in live": ["live", "-s", "nosuch"],
    "no system, in live": ["live", "-s", ""],
    "an address of another machine, in live": ["live", "--host", "203.0.113.7"],
    "an empty campaign": ["report", "--campaign", ""],
    "a campaign there is none of": ["report", "--campaign", "never"],
    "a campaign with too long a name": ["report", "--campaign", "x" * 5000],
    "a campaign by a path that leads nowhere": ["report", "--campaign", "../../nosuch"],
    "hazards there are none of": ["report", "--campaign", "reference", "--hazards", "never"],
    "an empty name of hazards": ["report", "--campaign", "reference", "--hazards", ""],
    "an export of no campaign": ["export", "out", "--campaign", "never"],
    "an export of an empty one": ["export", "out", "--campaign", ""],
    "a pack of no campaign": ["export", "pack", "-s", "redis", "--out", "out", "--campaign", "never"],
    "a pack of a system there is none of": [
        *("export", "pack", "-s", "nosuch", "--out", "out"),
        *("--campaign", "reference", "--no-hazards"),
    ],
    "advice for an answer there is none of": ["recommend", "--purpose", "nosuch"],
    "advice for servers there are none of": ["recommend", "--runs", "nosuch"],
    "nothing to resume": ["run", "--resume"],
    "nothing of that name to resume": ["run", "--resume", "never"],
    "nothing of so long a name to resume": ["run", "--resume", "x" * 5000],
    "no hazards to resume": ["hazard", "run", "--resume", "never"],
    "hazards without a name to resume": ["hazard", "run", "--resume", ""],
    "a name that is not asked for by --resume": ["run", "reference"],
    "no folder to save a calibration in": ["calibrate", "--save", "nosuch/file"],
    "a folder in place of the calibration": ["calibrate", "--save", "."],
    "a file in place of its folder": ["calibrate", "--save", "/dev/null/file"],
    "a file of a read-only folder": ["calibrate", "--save", "/proc/file"],
    "no folder to write pauses into": ["pauses", "--out", "nosuch/file"],
    "a record of pauses for no time": ["pauses", "--for", "0s"],
    "a record of pauses without a unit": ["pauses", "--for", "60"],
    "pauses that are looked for all the time": ["pauses", "--every", "0.01ms"],
    "a prediction for no number": ["predict", "--rtt", "fast"],
    "a prediction for a network of minutes": ["predict", "--rtt", "2min"],
    "a prediction for a negative round trip": ["predict", "--rtt", "-1ms"],
    "a prediction for a disk of no number": ["predict", "--rtt", "1ms", "--fsync", "1"],
    "a prediction in two forms": ["predict", "--rtt", "1ms", "--csv", "--markdown"],
    "a hold that nobody waits for": ["predict", "--rtt", "1ms", "--hold", "5ms"],
    "a prediction from no campaign": ["predict", "--rtt", "1ms", "--campaign", "never"],
    "a TTL from no record": ["ttl", "--pauses", "nosuch", "--rtt", "1ms"],
    "a TTL for a share of nothing": ["ttl", "--pauses", "nosuch", "--rtt", "1ms", "--lost", "0"],
    "a TTL for more than all": ["ttl", "--pauses", "nosuch", "--rtt", "1ms", "--lost", "2"],
}


@pytest.mark.parametrize("arguments", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake(arguments: list[str]) -> None:
    assert len(refused(arguments)) > 20


@pytest.mark.parametrize("command", [["up"], RUN, ["calibrate"]], ids=lambda words: words[0])
def test_a_port_that_is_taken(tmp_path: Path, command: list[str]) -> None:
    """Of the last set: those before it would be up by then."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (tmp_path / "lockbench.toml").write_text(
            "".join(f"[servers.{name}]\nfirst_port = {port}\n" for name in ("dynamodb", "postgres", "redis"))
        )
        assert f"port {port} on 127.0.0.1 is taken" in refused(command)


def test_two_sets_that_chose_the_same_port(tmp_path: Path) -> None:
    (tmp_path / "lockbench.toml").write_text("[servers.redlock]\nfirst_port=23450\n[servers.etcd]\nfirst_port=23454\n")
    assert "port 23454" in refused(["up"])


def test_the_page_s_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} on 127.0.0.1 is taken" in refused(["live", "--port", str(port)])


URLS = {
    "redis": [
        "redis://127.0.0.1/abc", "redis://127.0.0.1:6379/abc", "redis://", "://", "//", "127.0.0.1", "127.0.0.1:",
        ":6379",
        "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:6379x", "127.0.0.1:６３７９", "http://127.0.0.1:6379",
        "127.0.0.1:6379,", "127.0.0.1:6379,,127.0.0.1:6380", "127.0.0.1:6379?nosuch=1", "127.0.0.1:6379#f", " ",
        "redis",
        "user:secret@127.0.0.1:6379",
    ],
    "postgres": ["postgres://127.0.0.1", "postgres://127.0.0.1:x/db", "mysql://127.0.0.1:1/x",
        "127.0.0.1:1?sslmode=no"],
    "etcd": ["127.0.0.1:2379/path", "ftp://127.0.0.1:2379", "127.0.0.1:2379?x=1"],
    "zookeeper": ["127.0.0.1:99999", "etcd://127.0.0.1:2181", "127.0.0.1:2181?x=1"],
    "redlock": ["127.0.0.1:1/abc", "127.0.0.1:1,127.0.0.1:1"],
    "dynamodb": ["127.0.0.1:x", "redis://127.0.0.1:1", "127.0.0.1:1?nosuch=1"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "url"), [(name, url) for name, urls in URLS.items() for url in urls])
@pytest.mark.parametrize("command", [["up"], RUN], ids=["up", "run"])
def test_a_url_that_is_none(monkeypatch: pytest.MonkeyPatch, name: str, url: str, command: list[str]) -> None:
    """All six sets are asked for, and only one of them has the URL: the private ones must not be started first."""
    monkeypatch.setenv(f"LOCKBENCH_{name.upper()}_URL", url)
    told = refused(["up"] if command == ["up"] else ["run", "-n", "1"])
    assert "url" in told.lower()
    assert "secret" not in told


TOML = [
    "[servers", "servers = 1", "servers = []", "[servers]\nredis = 1", "[servers.redis]\nport = 1", "[servers.nosuch]",
    "[servers.redis]\nfirst_port = 0", "[servers.redis]\nfirst_port = 99999", '[servers.redis]\nfirst_port = "x"',
    '[servers.redis]\nsource = "docker"', "[servers.redis]\nurl = 5", '[servers.redis]\nsource = "url"', "x = 1",
    "\0", "a=\xff",
    '[servers.redis]\nurl = ""',
]  # fmt: skip


@pytest.mark.parametrize("text", TOML, ids=ascii)
def test_a_configuration_that_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "lockbench.toml").write_bytes(text.encode("latin-1"))
    assert "redis" in (told := refused(["up"])).lower() or "lockbench.toml" in told


def test_a_configuration_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "lockbench.toml").mkdir()
    assert "lockbench.toml" in refused(["up"])


@pytest.mark.parametrize("value", ["docker", "native,url", "URL", " "])
def test_a_source_that_is_none(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("LOCKBENCH_REDIS_SOURCE", value)
    assert "LOCKBENCH_REDIS_SOURCE" in refused(["up"])


PLACES = {
    "a file": "file",
    "below a file": "file/below",
    "below a device": "/dev/null/x",
    "where nobody may write": "/proc/lockbench",
    "where nobody may write, deeper": "/sys/lockbench/a/b",
    "a name that is too long": "x" * 300,
    "a path that is too long": "/".join(["x" * 200] * 30),
    "a link to itself": "loop",
    "a link to nowhere that may be made": "/proc/self/nosuch/x",
}


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    return PLACES[request.param]


@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.parametrize("command", [["up"], ["down"], LIVE, RUN, HAZARD, ["calibrate"]], ids=lambda words: words[0])
def test_a_home_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch, place: str, command: list[str]) -> None:
    monkeypatch.setenv("LOCKBENCH_HOME", place)
    assert "LOCKBENCH_HOME" in refused(command)


@pytest.mark.parametrize("place", PLACES, indirect=True)
@pytest.mark.parametrize("command", [RUN, HAZARD, ["run", "--resume"]], ids=["run", "hazard", "resume"])
def test_a_data_folder_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch, place: str, command: list[str]) -> None:
    monkeypatch.setenv("LOCKBENCH_DATA", place)
    told = refused(command)
    assert "LOCKBENCH_DATA" in told or "no campaign 'latest'" in told


def test_what_is_empty_is_not_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCKBENCH_HOME", "")
    monkeypatch.setenv("LOCKBENCH_DATA", "")
    assert supervisors.Supervisor.default().home == tmp_path / ".lockbench"
    assert Store.default().root == tmp_path / "data/runs"
