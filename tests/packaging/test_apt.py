"""The installer of Debian packages: what it decides, what it runs, what it says when that fails."""

import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bench.servers import apt
from bench.servers.apt import explain, install, is_debian, missing_packages, parse_os_release, phases
from bench.servers.autostart import Places
from bench.servers.commands import CommandFailed, InstallError, as_root, run_shown

DEBIAN = shutil.which("dpkg-query") is not None

# A machine with one package, `present`. Its apt-get notes each call; what it then does is told by files beside it.
FAKES = {
    "dpkg-query": """
        case "$1" in
        --show)
            case "$2" in
            *Section*) shift 2; for name; do grep "^$name " "$MACHINE/sections"; done ;;
            *) cat "$MACHINE/installed" ;;
            esac ;;
        --listfiles)
            echo /. ; echo; echo /usr ; echo "$MACHINE/files/daemon"
            shift; for name; do echo "/lib/systemd/system/$name.service"; done ;;
        esac""",
    "apt-cache": """
        shift 2
        for name; do grep -qx "$name" "$MACHINE/known" || exit 100; done""",
    "apt-get": """
        case " $* " in
        *" --simulate "*)
            printf 'Inst libc6 [2.36-1] (2.36-2 Debian)\nInst redis-server (5:7 Debian)\nInst getty:amd64 (1 Debian)\n'
            exit ;;
        esac
        echo "$*" >>"$MACHINE/calls"
        printenv DEBIAN_FRONTEND >>"$MACHINE/frontend"
        case " $* " in
        *" update "*) cp "$MACHINE/archive" "$MACHINE/known" ;;
        *" install "*)
            if [ -e "$MACHINE/failure" ]; then
                cat "$MACHINE/failure"
                rm "$MACHINE/failure"
                exit 100
            fi
            [ -e "$MACHINE/policy" ] && cp "$MACHINE/policy" "$MACHINE/policy-seen"
            printf 'installed redis-server\ninstalled getty\n' >>"$MACHINE/installed" ;;
        esac""",
    "systemctl": """
        echo "$*" >>"$MACHINE/systemctl"
        case "$1" in is-enabled) echo enabled ;; is-active) exit 3 ;; esac""",
    "dpkg": """echo "dpkg $*" >>"$MACHINE/calls" """,
    "sudo": """[ "$1" = -n ] && shift; echo "$*" >>"$MACHINE/sudo"; exec "$@" """,
}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pretended Debian: its programs first on PATH, its policy files in a folder of the test's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, body in FAKES.items():
        path = programs / name
        path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        path.chmod(0o755)
    (tmp_path / "installed").write_text("installed present\n", encoding="utf-8")
    (tmp_path / "known").write_text("redis-server\n", encoding="utf-8")
    (tmp_path / "archive").write_text("redis-server\n", encoding="utf-8")
    (tmp_path / "sections").write_text("redis-server database\ngetty contrib/admin\n", encoding="utf-8")
    (tmp_path / "os-release").write_text("ID=debian\n", encoding="utf-8")
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("MACHINE", str(tmp_path))
    monkeypatch.setattr(apt, "OS_RELEASE", tmp_path / "os-release")
    places = Places(tmp_path / "policy", tmp_path / "createcluster.d/lockbench.conf")
    for name in ("services_stay_off", "cut_off"):
        monkeypatch.setattr(apt, name, partial(getattr(apt, name), places=places))
    return tmp_path


def calls(machine: Path) -> list[str]:
    path = machine / "calls"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_nothing_missing_runs_nothing(machine: Path) -> None:
    said: list[str] = []
    assert install(["present", "present"], say=said.append) == ()
    assert (calls(machine), said) == ([], [])


@pytest.mark.skipif(not DEBIAN, reason="there is no dpkg here")
def test_on_this_machine_nothing_missing_changes_nothing() -> None:
    """For real: packages that every Debian has. apt's own log of changes is the witness."""
    log = Path("/var/log/apt/history.log")
    before = log.stat().st_mtime_ns if log.exists() else None

    def never(_: str) -> bool:
        raise AssertionError("asked although nothing is missing")

    assert missing_packages(["dpkg", "base-files"]) == ()
    assert install(["dpkg", "base-files"], ask=never) == ()
    assert (log.stat().st_mtime_ns if log.exists() else None) == before


def test_it_says_what_it_will_install_before_it_does(machine: Path) -> None:
    said: list[str] = []
    seen_at_question: list[list[str]] = []

    def yes(question: str) -> bool:
        seen_at_question.append(calls(machine))
        return "redis-server" in question

    assert install(["present", "redis-server"], ask=yes, say=said.append) == ("redis-server",)
    assert seen_at_question == [[]]
    assert "redis-server" in said[0]
    assert calls(machine) == ["-q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends redis-server"]
    assert set((machine / "frontend").read_text(encoding="utf-8").split()) == {"noninteractive"}


def test_a_no_installs_nothing(machine: Path) -> None:
    with pytest.raises(InstallError, match="apt-get install -y --no-install-recommends redis-server"):
        install(["redis-server"], ask=lambda _: False, say=lambda _: None)
    assert calls(machine) == []


def test_services_are_forbidden_while_apt_runs_and_only_then(machine: Path) -> None:
    install(["redis-server"], say=lambda _: None)
    seen = machine / "policy-seen"
    assert subprocess.run(["sh", str(seen), "redis-server", "start"], check=False).returncode == 101
    assert not (machine / "policy").exists()
    assert not (machine / "createcluster.d").exists()


def test_new_services_are_disabled_but_not_the_system_s_own(machine: Path) -> None:
    """systemd can come along as a dependency: a machine without consoles would be no thanks."""
    install(["redis-server"], say=lambda _: None)
    changes = [
        line for line in (machine / "systemctl").read_text(encoding="utf-8").splitlines() if not line.startswith("is-")
    ]
    assert changes == ["disable --quiet redis-server.service"]


def test_lists_are_refreshed_only_when_a_package_is_not_in_them(machine: Path) -> None:
    (machine / "known").write_text("", encoding="utf-8")
    install(["redis-server"], say=lambda _: None)
    assert [line.split()[3] for line in calls(machine)] == ["update", "install"]


def test_lists_are_refreshed_when_the_archive_has_moved_on(machine: Path) -> None:
    (machine / "failure").write_text("E: Failed to fetch redis.deb  404  Not Found\n", encoding="utf-8")
    install(["redis-server"], say=lambda _: None)
    assert [line.split()[3] for line in calls(machine)] == ["install", "update", "install"]


def test_after_a_kill_dpkg_is_mended_first(machine: Path) -> None:
    (machine / "policy").write_text(
        "#!/bin/sh\n# lockbench: temporary, by process 1 started at 1.00, to install redis-server getty\nexit 101\n",
        encoding="utf-8",
    )
    said: list[str] = []
    install(["redis-server"], say=said.append)
    assert calls(machine) == [
        "dpkg --force-confold --configure -a",
        "-q -o DPkg::Lock::Timeout=120 install -y --no-install-recommends redis-server",
    ]
    assert any("killed" in line for line in said)
    assert not (machine / "policy").exists()


def test_a_kill_after_the_last_package_is_cleared_up_too(machine: Path) -> None:
    """All programs are there, so nothing is missing; their services are enabled and the policy still forbids all."""
    (machine / "installed").write_text("installed present\ninstalled redis-server\n", encoding="utf-8")
    (machine / "policy").write_text(
        "#!/bin/sh\n# lockbench: temporary, by process 1 started at 1.00, to install redis-server\n", encoding="utf-8"
    )
    assert install([], ask=lambda _: False, say=lambda _: None) == ()
    assert not (machine / "policy").exists()
    assert calls(machine) == ["dpkg --force-confold --configure -a"]
    assert "disable --quiet redis-server.service" in (machine / "systemctl").read_text(encoding="utf-8")


def test_a_package_that_no_source_has_is_named(machine: Path) -> None:
    (machine / "archive").write_text("redis-server\n", encoding="utf-8")
    with pytest.raises(InstallError, match="no package zookeeper in this machine's apt sources"):
        install(["zookeeper", "redis-server"], say=lambda _: None)


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1", "wait until it is done"),
        ("Temporary failure resolving 'deb.example'", "is there a network"),
        ("E: dpkg was interrupted, you must manually run", "dpkg --configure -a"),
        ("E: Write error - write (28: No space left on device)", "the disk is full"),
        ("E: something new", "something new"),
    ],
)
def test_a_failure_says_what_to_do(machine: Path, output: str, advice: str) -> None:
    assert advice in explain(output)
    (machine / "failure").write_text(output + "\n", encoding="utf-8")
    with pytest.raises(InstallError, match=r"`apt-get install .* redis-server` failed") as failed:
        install(["redis-server"], say=lambda _: None)
    assert advice in str(failed.value)
    assert not (machine / "policy").exists()


def test_other_systems_are_told_what_to_install(machine: Path) -> None:
    (machine / "os-release").write_text('ID="fedora"\nID_LIKE="rhel"\n', encoding="utf-8")
    with pytest.raises(InstallError, match="install redis-server in your own way"):
        install(["redis-server"], say=lambda _: None)
    assert calls(machine) == []


def test_a_server_that_came_up_all_the_same_is_told(machine: Path) -> None:
    """A package's program that runs after apt-get, and did not before."""
    program = machine / "files/daemon"
    program.parent.mkdir()
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    (machine / "bin/apt-get").write_text(
        f'#!/bin/sh\n{FAKES["apt-get"]}\nsetsid "{program}" 60 >/dev/null 2>&1 &\necho $! >"$MACHINE/pid"\n'
        f'until [ "$(readlink /proc/$!/exe)" = "{program}" ]; do :; done\n',
        encoding="utf-8",
    )
    try:
        with pytest.raises(InstallError, match=r"pid \d+: " + re.escape(f"{program} 60"[:80])):
            install(["redis-server"], say=lambda _: None)
    finally:
        os.kill(int((machine / "pid").read_text(encoding="utf-8")), signal.SIGKILL)


def test_a_server_that_ran_before_is_nobody_s_fault(machine: Path) -> None:
    program = machine / "files/daemon"
    program.parent.mkdir()
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    with subprocess.Popen([str(program), "60"]) as daemon:
        try:
            assert install(["redis-server"], say=lambda _: None) == ("redis-server",)
        finally:
            daemon.kill()


def test_a_plain_user_goes_through_sudo(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said: list[str] = []
    install(["redis-server"], say=said.append)
    run = (machine / "sudo").read_text(encoding="utf-8").splitlines()
    assert "through sudo" in said[0]
    assert any(line.startswith("env DEBIAN_FRONTEND=noninteractive") and "apt-get" in line for line in run)
    assert any(line.startswith("install -m 0755") and line.endswith("/policy") for line in run)
    assert any(line.startswith("rm -f") and "/policy" in line for line in run)


def test_without_root_or_sudo_it_says_so(
    machine: Path, monkeypatch: pytest.MonkeyPatch, only_on_path: Callable[..., None]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    only_on_path("dpkg-query", "apt-get", "apt-cache")
    with pytest.raises(InstallError, match="there is no sudo here"):
        install(["redis-server"], say=lambda _: None)


@pytest.fixture
def only_on_path(machine: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def leave(*names: str) -> None:
        for path in (machine / "bin").iterdir():
            if path.name not in names:
                path.unlink()
        monkeypatch.setenv("PATH", str(machine / "bin"))
        for needed in ("sh", "cat"):
            (machine / "bin" / needed).symlink_to(f"/bin/{needed}")

    return leave


def test_sudo_that_asks_needs_a_terminal(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (machine / "bin/sudo").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert as_root(interactive=True) == ("sudo",)
    with pytest.raises(InstallError, match="nobody is at a terminal"):
        as_root(interactive=False)


def test_a_command_makes_its_package_unnecessary(machine: Path, only_on_path: Callable[..., None]) -> None:
    """NodeSource's nodejs conflicts with Debian's npm: where `npm` is, Debian's must not be asked for."""
    only_on_path("dpkg-query")
    wanted = ["nodejs", "npm", "default-jre-headless", "redis-server"]
    assert missing_packages(wanted) == tuple(wanted)
    for command in ("node", "npm"):
        path = machine / "bin" / command
        path.write_text("#!/bin/sh\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    assert missing_packages(wanted) == ("default-jre-headless", "redis-server")


def test_os_release_is_read_as_the_shell_would() -> None:
    read = parse_os_release('NAME="Linux Mint"\n# ID=no\nID=linuxmint\nID_LIKE="ubuntu debian"\n\n')
    assert read == {"NAME": "Linux Mint", "ID": "linuxmint", "ID_LIKE": "ubuntu debian"}
    assert is_debian(read)
    assert is_debian({"ID": "ubuntu"})
    assert not is_debian({"ID": "alpine"})
    assert not is_debian({})


def test_hundreds_of_lines_are_told_in_four() -> None:
    said: list[str] = []
    progress = phases(said.append)
    for line in (
        "Reading package lists...",
        "Need to get 1 MB of archives.",
        "Get:1 a",
        "Get:2 b",
        "Unpacking a (1) ...",
    ):
        progress(line)
    for line in ("Setting up a (1) ...", "Unpacking b (1) ...", "Setting up b (1) ..."):
        progress(line)
    assert said == ["apt: Need to get 1 MB of archives.", "apt: downloading", "apt: unpacking", "apt: setting up"]


def test_output_is_shown_as_it_comes_and_kept_for_the_message() -> None:
    said: list[str] = []
    with pytest.raises(CommandFailed, match="exit code 3") as failed:
        run_shown([sys.executable, "-c", "print('one'); print('two'); raise SystemExit(3)"], said.append)
    assert said == ["one", "two"]
    assert failed.value.output == "one\ntwo"
