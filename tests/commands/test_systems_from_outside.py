"""A package that declares a system is found everywhere, and one that is broken takes nothing else with it."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from bench.systems.entry import carefully
from tests.commands.command import LOCKBENCH, environment_of, lockbench

ROOT = Path(__file__).parents[2]
LOCK = '''
"""Another adapter of Redis, as somebody's library would have it."""

from bench.systems.redis.lock import RedisLock


class OtherLock(RedisLock):
    """The same lock by another name."""
'''
SERVER = '''
"""Servers of its own, which happen to be redis-servers."""

from bench.systems.redis.server import RedisServers


class OtherServers(RedisServers):
    """One server."""

    name = "otherredis"
    title = "Other Redis"
    node_names = ("other-1",)
    compose_services = ()
'''
ENTRY = """
from bench.systems.entry import Look, System

ENTRIES = (
    System(
        name="{name}",
        title="Other Redis",
        client_path="{module}.lock:OtherLock",
        servers_path="{servers}",
        server_set="{servers_name}",
        leftovers_path="bench.systems.redis.leftovers:leftovers",
        default_wait="poll-5ms-j20",
        look=Look("#8A6D00", "h"),
    ),
)
"""
BROKEN = {
    "lockbench-missing": ("lockbench_nowhere.entries:ENTRIES", "ModuleNotFoundError"),
    "lockbench-wordy": ("lockbench_other.lock:OtherLock", "its value must be a tuple of bench.systems.entry.System"),
    "lockbench-clash": ("lockbench_clash.entries:ENTRIES", "the name redis is taken, by the bench itself"),
    "lockbench-usurper": ("lockbench_usurper.entries:ENTRIES", "the servers' name redis is taken: choose another"),
    "lockbench-hollow": (
        "lockbench_hollow.entries:ENTRIES",
        "the system hollow of lockbench-hollow: lockbench_nowhere.",
    ),
    "lockbench-leaver": ("lockbench_leaver.entries:ENTRIES", "SystemExit: 0"),
    "lockbench-breaker": ("lockbench_breaker.entries:ENTRIES", "KeyboardInterrupt: of its own"),
    "lockbench-base": ("lockbench_base.entries:ENTRIES", "BaseException: of its own"),
    "lockbench-late": ("lockbench_late.entries:ENTRIES", "lockbench_late.lock:Gone cannot be loaded: SystemExit: 0"),
    "lockbench-other-kind": (
        "lockbench_other_kind.entries:ENTRIES",
        "os:getcwd is no class that extends bench.servers.spec.ServerSpec",
    ),
    "lockbench-unfinished": (
        "lockbench_unfinished.entries:ENTRIES",
        "bench.servers.spec:ServerSpec cannot be made",
    ),
}
REDIS, OTHER = "bench.systems.redis.server:RedisServers", "lockbench_other.server:OtherServers"
ENTRIES = {  # of packages whose module of entries can be imported
    "lockbench_other": ENTRY.format(
        name="other-redis", module="lockbench_other", servers=OTHER, servers_name="otherredis"
    ),
    "lockbench_clash": ENTRY.format(name="redis", module="lockbench_clash", servers=REDIS, servers_name="redis"),
    "lockbench_usurper": ENTRY.format(name="usurper", module="lockbench_usurper", servers="x:Y", servers_name="redis"),
    "lockbench_hollow": ENTRY.format(
        name="hollow", module="lockbench_hollow", servers="lockbench_nowhere.server:Servers", servers_name="hollow"
    ),
    "lockbench_leaver": "import sys; sys.exit(0)",
    "lockbench_breaker": "raise KeyboardInterrupt('of its own')",
    "lockbench_base": "raise BaseException('of its own')",
    "lockbench_late": ENTRY.format(
        name="late", module="lockbench_late", servers="lockbench_late.lock:Gone", servers_name="late"
    ),
    "lockbench_other_kind": ENTRY.format(
        name="other-kind", module="lockbench_other_kind", servers="os:getcwd", servers_name="otherkind"
    ),
    "lockbench_unfinished": ENTRY.format(
        name="unfinished",
        module="lockbench_unfinished",
        servers="bench.servers.spec:ServerSpec",
        servers_name="unfinished",
    ),
}


def package(folder: Path, name: str, point: str, files: Mapping[str, str]) -> None:
    """What `pip install` would leave of a package: its modules, and the metadata with its entry point."""
    about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[lockbench.systems]\nlocks = {point}\n")
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)


@pytest.fixture(scope="module")
def found_at(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which a sound package is found, and some that are broken."""
    folder = tmp_path_factory.mktemp("site")
    points = {"lockbench-other": "lockbench_other.entries:ENTRIES"} | {name: told[0] for name, told in BROKEN.items()}
    for name, point in points.items():
        module = name.replace("-", "_")
        lock = "import sys; sys.exit(0)" if module == "lockbench_late" else LOCK
        files = {"__init__.py": "", "lock.py": lock, "server.py": SERVER, "entries.py": ENTRIES.get(module, "")}
        package(folder, name, point, {f"{module}/{file}": text for file, text in files.items() if module in ENTRIES})
    return {"PYTHONPATH": f"{folder}:{ROOT}"}


def test_doctor_names_it_and_what_is_broken(tmp_path: Path, found_at: dict[str, str]) -> None:
    done, plain = lockbench(tmp_path, "doctor", "--json", more=found_at), lockbench(tmp_path, "doctor", "--json")
    assert done.returncode == plain.returncode
    rows = {row["servers"]: row for row in json.loads(done.stdout)}
    assert rows["otherredis"]["systems"] == ["other-redis"]
    assert rows["otherredis"]["source"] == "native"
    assert list(rows) == [*(row["servers"] for row in json.loads(plain.stdout)), "otherredis"]
    for name, (_, why) in BROKEN.items():
        (told,) = [line for line in done.stderr.splitlines() if name in line]
        assert why in told
    assert "Traceback" not in done.stderr
    assert "lockbench-" not in plain.stderr


def test_a_package_that_hangs_is_named_when_it_is_interrupted(tmp_path: Path) -> None:
    hangs = "import sys, time; print('here', flush=True); time.sleep(600)"
    package(tmp_path, "lockbench-slow", "lockbench_slow:ENTRIES", {"lockbench_slow/__init__.py": hangs})
    environment = environment_of(tmp_path, {"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    with subprocess.Popen(
        [*LOCKBENCH, "doctor"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as doctor:
        assert doctor.stdout is not None
        assert doctor.stdout.readline() == "here\n"
        doctor.send_signal(signal.SIGINT)
        _, said = doctor.communicate(timeout=20)
    assert doctor.returncode == 130
    assert "interrupted while importing lockbench_slow:ENTRIES of package lockbench-slow\n" in said
    assert "Traceback" not in said


def test_elsewhere_ctrl_c_in_an_import_is_heeded(capfd: pytest.CaptureFixture[str]) -> None:
    """There it is a KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell may have had ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            carefully(partial(signal.raise_signal, signal.SIGINT), "importing x")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capfd.readouterr().err == "interrupted while importing x\n"


def test_a_command_that_names_a_system_of_the_bench_looks_at_no_package(
    tmp_path: Path, found_at: dict[str, str]
) -> None:
    told = "import bench.cli; from bench.systems.registry import system; print(system('redis').title)"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, env={**environment_of(tmp_path, found_at)}
    )
    assert (done.stdout, done.stderr) == ("Redis\n", "")


def test_an_unknown_name_is_told_with_those_from_outside(tmp_path: Path, found_at: dict[str, str]) -> None:
    done = lockbench(tmp_path, "run", "-s", "nobody", more=found_at)
    assert done.returncode == 1
    assert "other-redis" in done.stderr


def test_a_system_that_cannot_be_had_is_told_by_its_package(tmp_path: Path, found_at: dict[str, str]) -> None:
    done = lockbench(tmp_path, "run", "-s", "hollow", more=found_at)
    assert done.returncode == 1
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert "the system hollow of lockbench-hollow" in told
    assert "Traceback" not in done.stderr


def test_an_adapter_of_another_kind_is_told_by_its_package(tmp_path: Path) -> None:
    text = ENTRY.format(name="misled", module="lockbench_misled", servers=REDIS, servers_name="redis")
    files = {"lockbench_misled/__init__.py": text.replace("lockbench_misled.lock:OtherLock", "os:getcwd")}
    package(tmp_path, "lockbench-misled", "lockbench_misled:ENTRIES", files)
    done = lockbench(tmp_path, "run", "-s", "misled", more={"PYTHONPATH": f"{tmp_path}:{ROOT}"})
    assert done.returncode == 1
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert "lockbench-misled: os:getcwd is no class that extends bench.systems.base.LockClient" in told
    assert "Traceback" not in done.stderr


def test_locust_has_a_class_for_it_and_its_form_offers_it(tmp_path: Path, found_at: dict[str, str]) -> None:
    environment = environment_of(tmp_path, found_at)
    listed = subprocess.run(
        [sys.executable, "-m", "locust", "--list"], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert "OtherLockUser" in listed.stdout
    asked = (
        "from locust import events; from bench.load.wiring import install; install(events);"
        "from locust.argument_parser import parse_options, ui_extra_args_dict; parse_options(args=[]);"
        "print(ui_extra_args_dict()['system']['choices'])"
    )
    form = subprocess.run([sys.executable, "-c", asked], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "'other-redis'" in form.stdout, form.stderr


@pytest.mark.servers
def test_the_conformance_suite_runs_on_it(tmp_path: Path, found_at: dict[str, str]) -> None:
    """Also with clients in processes of their own, which have to find the package."""
    checks = ("processes_exclude_each_other", "tokens_rise", "timeouts_leave_nothing", "queue_order_is_kept")
    arguments = ("conform", "other-redis", *(f"--check={name}" for name in checks))
    more = {**found_at, "LOCKBENCH_OTHERREDIS_SOURCE": "native"}
    done = lockbench(tmp_path, *arguments, more=more, within_s=100)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    for name in checks[:3]:
        assert any(line.split() == ["passed", name] for line in lines), done.stdout
    assert any("queue_order_is_kept: claims no order" in line for line in lines)
    assert lines[-1] == "other-redis: 3 passed, 0 failed, 1 not applicable"


@pytest.mark.servers
def test_a_hazard_scenario_is_played_on_it(tmp_path: Path, found_at: dict[str, str]) -> None:
    done = lockbench(tmp_path, "hazard", "run", "fence-gap", "-s", "other-redis", "--json", more=found_at, within_s=100)
    assert done.returncode == 0, done.stderr
    (run,) = json.loads(done.stdout)["runs"].values()
    assert run["trials"]
    assert run["staging"] == []


@pytest.mark.servers
def test_it_stands_in_the_table(tmp_path: Path, found_at: dict[str, str]) -> None:
    arguments = ("run", "-s", "other-redis", "-w", "uncontended", "-n", "1", "--no-pin", "--name", "t")
    done = lockbench(tmp_path, *arguments, more=found_at, within_s=110)
    assert done.returncode == 0, done.stderr
    assert "Other Redis" in done.stdout
    environment = json.loads((tmp_path / "runs/t/environment.json").read_text())
    assert environment["libraries"]["lockbench-other"] == "1.0"
