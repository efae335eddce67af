"""No distribution service may start while packages are installed, whatever ends the installation."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.servers.autostart import (
    PLACES,
    CutOff,
    OtherInstall,
    Places,
    active_services,
    cut_off,
    disable_services,
    policy_script,
    processes_now,
    processes_of,
    services_stay_off,
    units_in,
)
from tests.packaging.pyproject import ROOT
from tests.processes import default_in_children

HOLDER = """
import sys, time
from pathlib import Path
from bench.servers.autostart import Places, services_stay_off
with services_stay_off((), lambda _: None, ["redis-server", "etcd"], Places(Path(sys.argv[1]), Path(sys.argv[2]))):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "policy-rc.d", tmp_path / "etc/postgresql-common/createcluster.d/lockbench.conf")


def quiet(_: str) -> None:
    """Say nothing."""


def answer(script: Path, *words: str) -> int:
    return subprocess.run([str(script), *words], check=False).returncode


def test_for_the_block_every_start_is_forbidden(places: Places) -> None:
    with services_stay_off((), quiet, places=places):
        assert answer(places.policy, "redis-server", "start") == 101
        assert answer(places.policy, "--quiet", "etcd.service", "restart") == 101
        assert places.cluster_policy.read_text(encoding="utf-8").endswith("\ncreate_main_cluster = false\n")
    assert not places.policy.exists()
    assert not places.cluster_policy.exists()


def test_what_was_not_there_before_is_not_there_afterwards(places: Places, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    with services_stay_off((), quiet, places=places):
        assert sorted(tmp_path.rglob("*")) != before
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_that_the_package_filled_meanwhile_stays(places: Places) -> None:
    with services_stay_off((), quiet, places=places):
        (places.cluster_policy.parent.parent / "user_clusters").write_text("theirs", encoding="utf-8")
    assert not places.cluster_policy.parent.exists()
    assert (places.cluster_policy.parent.parent / "user_clusters").exists()


def test_services_that_run_already_may_be_restarted(tmp_path: Path) -> None:
    script = tmp_path / "policy-rc.d"
    script.write_text(
        policy_script(["ssh.service", "postgresql@15-main.service", "odd'name.service"]), encoding="utf-8"
    )
    script.chmod(0o755)
    assert answer(script, "ssh", "restart") == 104
    assert answer(script, "--quiet", "ssh.service", "restart") == 104
    assert answer(script, "postgresql@15-main.service", "restart") == 104
    assert answer(script, "redis-server.service", "start") == 101


def test_a_policy_of_the_machine_stays_as_it_is(places: Places) -> None:
    places.policy.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    said: list[str] = []
    with services_stay_off((), said.append, places=places):
        assert places.policy.read_text(encoding="utf-8") == "#!/bin/sh\nexit 0\n"
    assert places.policy.read_text(encoding="utf-8") == "#!/bin/sh\nexit 0\n"
    assert any(str(places.policy) in line for line in said)


def test_it_is_gone_after_an_exception(places: Places) -> None:
    with pytest.raises(ZeroDivisionError), services_stay_off((), quiet, places=places):
        raise ZeroDivisionError
    assert not places.policy.exists()


def hold(places: Places) -> "subprocess.Popen[str]":
    """Another lockbench in the middle of an installation."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(places.policy), str(places.cluster_policy)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_is_gone_after_a_signal(places: Places, number: signal.Signals) -> None:
    with default_in_children(number):
        holder = hold(places)
    holder.send_signal(number)
    holder.wait(timeout=20)
    assert holder.returncode != 0
    assert not places.policy.exists()
    assert not places.cluster_policy.exists()


def test_what_a_killed_lockbench_left_is_found_and_replaced(places: Places) -> None:
    holder = hold(places)
    holder.kill()
    holder.wait(timeout=20)
    assert cut_off(places) == CutOff((places.policy, places.cluster_policy), frozenset({"redis-server", "etcd"}))
    said: list[str] = []
    with services_stay_off((), said.append, places=places):
        assert answer(places.policy, "redis-server", "start") == 101
    assert not places.policy.exists()
    assert not places.cluster_policy.exists()
    assert [line for line in said if "killed" in line]


def test_two_installations_at_once_are_refused(places: Places) -> None:
    holder = hold(places)
    try:
        with pytest.raises(OtherInstall, match=f"process {holder.pid} is installing"):
            cut_off(places)
        with pytest.raises(OtherInstall), services_stay_off((), quiet, places=places):
            pytest.fail("both are in")
        assert places.policy.exists(), "the other's policy was taken away"
    finally:
        holder.kill()
        holder.wait(timeout=20)
    with services_stay_off((), quiet, places=places):
        pass
    assert not places.policy.exists()


def stopped_service() -> str | None:
    """A service with an init script, which does not run: its start may be asked for, and must be refused."""
    running = {name.removesuffix(".service") for name in active_services()}
    scripts = sorted(path.name for path in Path("/etc/init.d").glob("*") if os.access(path, os.X_OK))
    return next((name for name in scripts if name not in running), None)


@pytest.mark.skipif(
    os.geteuid() != 0 or PLACES.policy.exists() or shutil.which("invoke-rc.d") is None or stopped_service() is None,
    reason="needs root on a Debian with an init script and without a policy-rc.d of its own",
)
def test_debian_itself_heeds_it() -> None:
    """For real: invoke-rc.d, which maintainer scripts call, asks /usr/sbin/policy-rc.d and says who forbade it."""
    with services_stay_off((), quiet):
        assert PLACES.policy.exists()
        asked = subprocess.run(
            ["invoke-rc.d", str(stopped_service()), "start"], capture_output=True, text=True, check=False
        )
    assert not PLACES.policy.exists()
    assert "policy-rc.d denied execution of start" in asked.stdout + asked.stderr


def test_units_are_read_from_a_package_s_files() -> None:
    files = [
        "/lib/systemd/system/redis-server.service",
        "/usr/lib/systemd/system/postgresql@.service",
        "/usr/lib/systemd/system/etcd.service.d/more.conf",
        "/lib/systemd/system/logrotate.timer",
        "/usr/share/doc/redis.service",
    ]
    assert units_in(files) == ("postgresql@.service", "redis-server.service")


SYSTEMCTL = """#!/bin/sh
echo "$*" >>"$CALLS"
[ "$1" = is-enabled ] && { [ "$2" = redis-server.service ] && echo enabled || { echo static; exit 1; }; }
exit 0
"""


def fake(folder: Path, monkeypatch: pytest.MonkeyPatch, programs: dict[str, str], only: bool = False) -> Path:
    for name, body in programs.items():
        (folder / name).write_text(body, encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder) if only else f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(folder / "calls"))
    return folder / "calls"


def disabled(calls: Path, verb: Sequence[str]) -> list[str]:
    return [line for line in calls.read_text(encoding="utf-8").splitlines() if line.split()[: len(verb)] == list(verb)]


def test_only_enabled_units_of_the_new_packages_are_disabled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = fake(tmp_path, monkeypatch, {"systemctl": SYSTEMCTL})
    said: list[str] = []
    units = ["/lib/systemd/system/redis-server.service", "/lib/systemd/system/etcd.service", "/usr/bin/redis-server"]
    disable_services((), units, said.append)
    assert disabled(calls, ["disable"]) == ["disable --quiet redis-server.service"]
    assert any("redis-server.service" in line and "systemctl enable" in line for line in said)


def test_without_systemd_debian_s_helpers_do_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    note = '#!/bin/sh\necho "$0 $*" >>"$CALLS"\n'
    calls = fake(tmp_path, monkeypatch, {"deb-systemd-helper": note, "update-rc.d": note}, only=True)
    disable_services((), ["/lib/systemd/system/redis-server.service", "/etc/init.d/redis-server"], quiet)
    assert calls.read_text(encoding="utf-8").splitlines() == [
        f"{tmp_path}/deb-systemd-helper disable redis-server.service",
        f"{tmp_path}/update-rc.d redis-server disable",
    ]


def test_a_process_is_found_by_its_program_and_by_a_file_it_was_given(tmp_path: Path) -> None:
    program, jar = tmp_path / "daemon", tmp_path / "zookeeper.jar"
    jar.touch()
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    asleep = "import time; time.sleep(60)"
    with (
        subprocess.Popen([str(program), "60"]) as one,
        subprocess.Popen([sys.executable, "-c", asleep, f"-Dpath=/x:{jar}"]) as two,
    ):
        try:
            wait_for_exec(one.pid, str(program))
            wait_for_exec(two.pid, str(jar))
            found = processes_of(["", "/.", "/usr", str(program), str(jar), str(tmp_path / "other")])
            later = processes_of([str(program), str(jar)], before=processes_now())
        finally:
            one.kill()
            two.kill()
    assert {line.partition(":")[0] for line in found} == {f"pid {one.pid}", f"pid {two.pid}"}
    assert later == ()
    assert processes_of(["", "/.", "/usr", str(tmp_path / "other")]) == ()


def test_files_that_may_not_be_looked_at_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain user may not enter /etc/sudoers.d, and packages have files there."""

    def refuse(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_file", refuse)
    assert processes_of(["/etc/sudoers.d/README", sys.executable]) == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="chroot needs root")
def test_a_process_of_another_root_is_none_of_ours(tmp_path: Path) -> None:
    """A container's redis-server has the same name as this machine's, and is another file."""
    program = tmp_path / "usr/bin/server"
    program.parent.mkdir(parents=True)
    subprocess.run(["cp", sys.executable, str(program)], check=True)
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import os,time; os.chroot({str(tmp_path)!r}); print(flush=True); time.sleep(60)",
            str(program),
        ],
        stdout=subprocess.PIPE,
    ) as inside:
        try:
            assert inside.stdout is not None
            inside.stdout.readline()
            assert processes_of([str(program)]) == ()
        finally:
            inside.kill()


def wait_for_exec(pid: int, word: str) -> None:
    """Until the forked child has become its program: before that it has our own command line."""
    deadline = time.monotonic() + 10
    while word.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes():
        assert time.monotonic() < deadline
