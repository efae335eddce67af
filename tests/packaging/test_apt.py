"""The installer of Debian packages: what it decides, what it runs, what it says when that fails."""

import os
import shutil
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.servers.installing import apt
from bench.servers.installing.apt import explain, install, is_debian, missing_packages, parse_os_release, phases
from bench.servers.installing.commands import CommandFailed, InstallError, as_root, run_shown

DEBIAN = shutil.which("dpkg-query") is not None

# A machine with one package, `present`. Its apt-get notes each call, and fails with the words in `failure`.
FAKES = {
    "dpkg-query": 'cat "$MACHINE/installed"',
    "apt-cache": "",
    "apt-get": """
        echo "$*" >>"$MACHINE/calls"
        if [ -e "$MACHINE/failure" ]; then cat "$MACHINE/failure"; exit 100; fi
        case " $* " in *" install "*) echo 'installed redis-server' >>"$MACHINE/installed" ;; esac""",
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
    (tmp_path / "os-release").write_text("ID=debian\n", encoding="utf-8")
    (tmp_path / "usr/sbin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("MACHINE", str(tmp_path))
    monkeypatch.setenv("LOCKBENCH_ROOT", str(tmp_path))
    monkeypatch.setattr(apt, "OS_RELEASE", tmp_path / "os-release")
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


def test_a_no_installs_nothing(machine: Path) -> None:
    with pytest.raises(InstallError, match="apt-get install -y --no-install-recommends redis-server"):
        install(["redis-server"], ask=lambda _: False, say=lambda _: None)
    assert calls(machine) == []


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
    with pytest.raises(InstallError, match="apt could not install redis-server") as failed:
        install(["redis-server"], say=lambda _: None)
    assert advice in str(failed.value)


def test_other_systems_are_told_what_to_install(machine: Path) -> None:
    (machine / "os-release").write_text('ID="fedora"\nID_LIKE="rhel"\n', encoding="utf-8")
    with pytest.raises(InstallError, match="install redis-server in your own way"):
        install(["redis-server"], say=lambda _: None)
    assert calls(machine) == []


def test_a_plain_user_goes_through_sudo(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said: list[str] = []
    install(["redis-server"], say=said.append)
    (ran,) = (machine / "sudo").read_text(encoding="utf-8").splitlines()[1:]  # the first asks whether it may
    assert "through sudo" in said[0]
    assert ran.startswith("sh ")
    assert ran.endswith("apt_quietly.sh redis-server")


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
