"""The script that installs Debian packages: no service starts or stays enabled, whatever ends the installation."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from bench.servers.installing import apt

INIT_SCRIPTS = sorted(path.name for path in Path("/etc/init.d").glob("*") if os.access(path, os.X_OK))
SCRIPT = Path(apt.__file__).with_name("apt_quietly.sh")
# Programs of a pretended Debian. apt-get notes its calls; while it installs it keeps a copy of what forbids services,
# and enables what its packages would; `failure` is what it says once, before it fails, `broken` each time, when it
# configures packages; a fifo `wait` holds it up.
FAKES = {
    "apt-cache": 'shift 2; for name; do grep -qx "$name" "$M/known" && exit 0; done; exit 100',
    "apt-get": """
        shift 3
        echo "$*" >>"$M/calls"
        case "$1" in
        update) cp "$M/archive" "$M/known" ;;
        install)
            printenv DEBIAN_FRONTEND >>"$M/frontend"
            if [ -e "$M/failure" ]; then cat "$M/failure"; rm "$M/failure"; exit 100; fi
            cp "$M/usr/sbin/policy-rc.d" "$M/etc/postgresql-common/createcluster.d/lockbench.conf" "$M/seen"
            mkdir -p "$M/etc/systemd/system/multi-user.target.wants" "$M/etc/rc3.d"
            touch "$M/etc/systemd/system/multi-user.target.wants/redis-server.service" "$M/etc/rc3.d/S01redis-server"
            if [ -e "$M/broken" ]; then cat "$M/broken"; exit 100; fi
            if [ -e "$M/wait" ]; then echo held; read -r _ <"$M/wait"; fi ;;
        esac""",
    "deb-systemd-helper": '[ -n "$DPKG_MAINTSCRIPT_PACKAGE" ] || exit 1; echo "deb-systemd-helper $*" >>"$M/off"',
    "update-rc.d": 'echo "update-rc.d $*" >>"$M/off"',
    "systemctl": """
        case "$1" in list-units) echo "ssh.service loaded active" ;; *) echo "systemctl $*" >>"$M/off" ;; esac""",
}

OFF = ["deb-systemd-helper disable redis-server.service", "update-rc.d redis-server disable"]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    for folder in ("bin", "usr/sbin", "etc/systemd/system/multi-user.target.wants", "etc/rc3.d", "seen"):
        (tmp_path / folder).mkdir(parents=True)
    for name, body in FAKES.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\nM={tmp_path}\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "known").write_text("redis-server\n")
    (tmp_path / "archive").write_text("redis-server\n")
    (tmp_path / "etc/systemd/system/multi-user.target.wants/ssh.service").touch()
    (tmp_path / "etc/rc3.d/S01ssh").touch()
    return tmp_path


def start(machine: Path, *packages: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "PATH": f"{machine / 'bin'}:{os.environ['PATH']}", "LOCKBENCH_ROOT": str(machine)}
    return subprocess.Popen(
        ["sh", str(SCRIPT), *packages],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(machine: Path, *packages: str) -> tuple[int, str]:
    process = start(machine, *packages)
    said, _ = process.communicate(timeout=30)
    return process.returncode, said


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def answer(script: Path, *words: str) -> int:
    return subprocess.run(["sh", str(script), *words], check=False).returncode


def nothing_is_left(machine: Path) -> bool:
    return not (machine / "usr/sbin/policy-rc.d").exists() and not (machine / "etc/postgresql-common").exists()


def test_while_apt_works_no_service_may_start_but_those_that_run(machine: Path) -> None:
    (machine / "run/systemd/system").mkdir(parents=True)
    assert run(machine, "redis-server")[0] == 0
    policy = machine / "seen/policy-rc.d"
    assert [answer(policy, "redis-server", "start"), answer(policy, "--quiet", "etcd.service", "restart")] == [101, 101]
    assert [answer(policy, "ssh", "restart"), answer(policy, "--quiet", "ssh.service", "restart")] == [104, 104]
    assert lines(machine / "seen/lockbench.conf")[-1] == "create_main_cluster = false"
    assert nothing_is_left(machine)
    assert lines(machine / "calls") == ["install -y --no-install-recommends redis-server"]
    assert lines(machine / "frontend") == ["noninteractive"]


@pytest.mark.parametrize("systemd_runs", [False, True])
def test_only_what_was_newly_enabled_is_disabled(machine: Path, systemd_runs: bool) -> None:
    if systemd_runs:
        (machine / "run/systemd/system").mkdir(parents=True)
    code, said = run(machine, "redis-server")
    stopped = ["systemctl stop redis-server.service"] if systemd_runs else []
    assert sorted(lines(machine / "off")) == sorted(
        ["update-rc.d redis-server disable", "deb-systemd-helper disable redis-server.service", *stopped]
    )
    assert code == 0
    assert "redis-server.service is installed and stays off" in said


def test_lists_are_refreshed_only_when_a_package_is_not_in_them(machine: Path) -> None:
    (machine / "known").write_text("")
    assert run(machine, "redis-server")[0] == 0
    assert [line.split()[0] for line in lines(machine / "calls")] == ["update", "install"]


def test_after_a_failure_it_is_tried_once_more_with_fresh_lists(machine: Path) -> None:
    (machine / "failure").write_text("E: Failed to fetch redis.deb  404  Not Found\n")
    code, said = run(machine, "redis-server")
    assert code == 0
    assert "once more with fresh package lists" in said
    assert [line.split()[0] for line in lines(machine / "calls")] == ["install", "update", "install"]


def test_a_package_that_no_source_has_is_named(machine: Path) -> None:
    code, said = run(machine, "zookeeper", "redis-server")
    assert code == 1
    assert "no package zookeeper in this machine's apt sources" in said
    assert nothing_is_left(machine)


def test_a_policy_of_the_machine_stays_as_it_is(machine: Path) -> None:
    policy = machine / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 0\n")
    code, said = run(machine, "redis-server")
    assert code == 0
    assert policy.read_text() == "#!/bin/sh\nexit 0\n"
    assert "policy-rc.d is there already and stays" in said


def test_a_folder_that_was_there_before_stays(machine: Path) -> None:
    folder = machine / "etc/postgresql-common/createcluster.d"
    folder.mkdir(parents=True)
    assert run(machine, "redis-server")[0] == 0
    assert list(folder.iterdir()) == []


def test_what_was_enabled_before_apt_failed_is_disabled_too(machine: Path) -> None:
    (machine / "broken").write_text("E: Sub-process /usr/bin/dpkg returned an error code (1)\n")
    code, said = run(machine, "redis-server")
    assert code == 100
    assert "Sub-process /usr/bin/dpkg" in said
    assert sorted(lines(machine / "off")) == OFF
    assert nothing_is_left(machine)


def test_a_helper_that_fails_is_no_success_and_the_others_are_called(machine: Path) -> None:
    (machine / "bin/update-rc.d").write_text("#!/bin/sh\nexit 1\n")
    code, _ = run(machine, "redis-server")
    assert code == 1
    assert lines(machine / "off") == ["deb-systemd-helper disable redis-server.service"]
    assert nothing_is_left(machine)


def test_a_full_disk_leaves_no_part_of_a_policy(machine: Path) -> None:
    (machine / "bin/cat").write_text("#!/bin/sh\necho '#!/bin/sh'\nexit 1\n")  # writes a part, and fails
    (machine / "bin/cat").chmod(0o755)
    assert run(machine, "redis-server")[0] != 0
    assert nothing_is_left(machine)
    assert not lines(machine / "calls")


def test_folders_can_be_read_by_services_whatever_the_umask(machine: Path) -> None:
    (machine / "bin/apt-get").write_text(f"#!/bin/sh\nstat -c %a {machine}/etc/postgresql-common >{machine}/mode\n")
    before = os.umask(0o077)
    try:
        assert run(machine, "redis-server")[0] == 0
    finally:
        os.umask(before)
    assert lines(machine / "mode") == ["755"]


def held(machine: Path) -> "subprocess.Popen[str]":
    """In the middle of an installation."""
    os.mkfifo(machine / "wait")
    process = start(machine, "redis-server")
    assert process.stdout is not None
    while "held" not in (line := process.stdout.readline()):
        assert line, "it ended"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_nothing_is_left_after_a_signal(machine: Path, number: signal.Signals) -> None:
    process = held(machine)
    assert not nothing_is_left(machine)
    os.killpg(process.pid, number)  # as a terminal does, and an end of the session
    process.communicate(timeout=20)
    assert process.returncode > 0, "it died without an end"
    assert nothing_is_left(machine)
    assert sorted(lines(machine / "off")) == OFF, "what apt had enabled when the signal came stays so"


def test_what_a_killed_run_left_is_replaced(machine: Path) -> None:
    process = held(machine)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)
    assert not nothing_is_left(machine)
    (machine / "wait").unlink()
    assert run(machine, "redis-server")[0] == 0
    assert not (machine / "usr/sbin/policy-rc.d").exists()
    assert not list((machine / "etc/postgresql-common").rglob("*.conf"))


def test_two_installations_at_once_are_refused(machine: Path) -> None:
    process = held(machine)
    try:
        code, said = run(machine, "redis-server")
        assert code == 1
        assert "another lockbench is installing packages at this moment" in said
        assert not nothing_is_left(machine), "the other's policy was taken away"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.communicate(timeout=20)


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("invoke-rc.d") is None or not INIT_SCRIPTS,
    reason="needs root on a Debian with an init script",
)
def test_debian_itself_heeds_it(machine: Path) -> None:
    """For real: invoke-rc.d, which maintainer scripts call, asks /usr/sbin/policy-rc.d and says who forbade it.

    In a mount namespace of its own, so that this machine's policy, if it has one, stays what it is for all others.
    """
    assert run(machine, "redis-server")[0] == 0
    shutil.copytree("/usr/sbin", machine / "sbin", symlinks=True, ignore=shutil.ignore_patterns("policy-rc.d"))
    shutil.copy(machine / "seen/policy-rc.d", machine / "sbin/policy-rc.d")
    ask = f"mount --bind {machine / 'sbin'} /usr/sbin && exec invoke-rc.d {INIT_SCRIPTS[0]} start"
    asked = subprocess.run(["unshare", "--mount", "sh", "-c", ask], capture_output=True, text=True, check=False)
    assert "policy-rc.d denied execution of start" in asked.stdout + asked.stderr
