"""tools/environment.sh on machines that lack one thing or another.

Interpreters and apt are pretended; that `make test` came this far is the run with real ones.
"""

import subprocess
from pathlib import Path

import pytest

from tests.packaging.pyproject import ROOT

# Answers what the script asks an interpreter. $HAVE is its folder: `ensurepip` there, or not; `version`, `prefix`.
PYTHON = """#!/bin/sh
here=$(dirname "$0")
echo "$(basename "$0") $*" >>"$HAVE/calls"
case "$*" in
--version) echo "Python $(cat "$here/version").4" ;;
*"sys.version_info < (3, 11)"*) case "$(cat "$here/version")" in 3.[0-9]|3.10) exit 1 ;; esac ;;
*"import ensurepip, venv"*) [ -e "$HAVE/ensurepip" ] ;;
*base_prefix*) cat "$HAVE/prefix" ;;
*"sys.version_info[:2]"*) cat "$here/version" ;;
"-m venv --clear "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" && cp "$here/version" "$4/bin/version" ;;
"-m pip install"*) [ ! -e "$HAVE/no-network" ] ;;
"-m pip check"*) if [ -e "$HAVE/stale-lock" ]; then echo "lockbench requires more"; exit 1; fi ;;
*) echo "unforeseen: $*" >&2; exit 99 ;;
esac
"""
APT_GET = """#!/bin/sh
echo "apt-get $*" >>"$HAVE/calls"
case " $* " in
*" update "*) touch "$HAVE/lists" ;;
*" install "*) [ -e "$HAVE/apt-fails" ] && exit 100; touch "$HAVE/ensurepip" ;;
esac
exit 0
"""
APT_CACHE = '#!/bin/sh\n[ -e "$HAVE/lists" ]\n'
SUDO = '#!/bin/sh\necho "sudo $1" >>"$HAVE/calls"\nexec "$@"\n'
SYSTEM = ("sh", "id", "env", "grep", "rm", "touch", "mkdir", "cp", "cat", "dirname", "basename")


class Machine:
    """A folder of programs that is all of PATH, and what they know."""

    def __init__(self, folder: Path) -> None:
        self.have = folder / "have"
        self.programs = folder / "bin"
        self.tree = folder / "tree"
        for path in (self.have, self.programs, self.tree):
            path.mkdir()
        for name in SYSTEM:
            (self.programs / name).symlink_to(f"/usr/bin/{name}")
        (self.tree / "requirements.lock").write_text("one==1.0\ntwo==2.0\n", encoding="utf-8")
        (self.have / "prefix").write_text("/usr\n", encoding="utf-8")
        (self.have / "ensurepip").touch()
        self.stamp = self.tree / ".venv/.complete"

    def program(self, name: str, text: str) -> None:
        (self.programs / name).unlink(missing_ok=True)
        (self.programs / name).write_text(text, encoding="utf-8")
        (self.programs / name).chmod(0o755)

    def python(self, version: str, name: str = "python3") -> None:
        """An interpreter. Its version lies in a file beside it, so a second one has a folder of its own."""
        if name == "python3":
            self.program(name, PYTHON)
            (self.programs / "version").write_text(version + "\n", encoding="utf-8")
            return
        aside = self.have / name
        aside.mkdir()
        (aside / name).write_text(PYTHON, encoding="utf-8")
        (aside / name).chmod(0o755)
        (aside / "version").write_text(version + "\n", encoding="utf-8")
        self.program(name, f'#!/bin/sh\nexec {aside / name} "$@"\n')

    def debian(self, lists: bool = True) -> None:
        self.program("apt-get", APT_GET)
        self.program("apt-cache", APT_CACHE)
        if lists:
            (self.have / "lists").touch()

    def run(self, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(ROOT / "tools/environment.sh"), ".venv", ".venv/.complete"],
            cwd=self.tree,
            env={"PATH": str(self.programs), "HAVE": str(self.have), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def calls(self, start: str = "") -> list[str]:
        path = self.have / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(start)]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_whole_python_makes_the_environment(machine: Machine) -> None:
    machine.python("3.11")
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert machine.stamp.exists()
    assert "installing 2 pinned packages" in done.stdout
    assert machine.calls("python3 -m venv") == ["python3 -m venv --clear .venv"]
    installs = machine.calls("python -m pip install")
    assert ["-r requirements.lock" in installs[0], "-e ." in installs[1]] == [True, True]
    assert all("--no-deps" in line for line in installs)


def test_a_finished_environment_is_brought_up_to_date_not_made_anew(machine: Machine) -> None:
    machine.python("3.11")
    machine.run()
    (machine.have / "calls").unlink()
    assert "up to date" in machine.run().stdout
    assert machine.calls("python3 -m venv") == []


def test_an_unfinished_environment_is_made_anew(machine: Machine) -> None:
    machine.python("3.11")
    machine.run()
    machine.stamp.unlink()
    (machine.have / "calls").unlink()
    assert machine.run().returncode == 0
    assert machine.calls("python3 -m venv") == ["python3 -m venv --clear .venv"]


def test_a_failed_installation_leaves_no_stamp(machine: Machine) -> None:
    machine.python("3.11")
    machine.run()
    (machine.have / "no-network").touch()
    done = machine.run()
    assert done.returncode == 1
    assert "pip could not install requirements.lock" in done.stderr
    assert not machine.stamp.exists()


def test_a_lock_that_does_not_fit_is_told(machine: Machine) -> None:
    machine.python("3.11")
    (machine.have / "stale-lock").touch()
    done = machine.run()
    assert done.returncode == 1
    assert "lockbench requires more" in done.stderr
    assert "make lock" in done.stderr
    assert not machine.stamp.exists()


def test_without_ensurepip_debian_s_package_is_installed_after_saying_so(machine: Machine) -> None:
    machine.python("3.13")
    machine.debian()
    (machine.have / "ensurepip").unlink()
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert "installing with apt" in done.stdout
    (call,) = machine.calls("apt-get")
    assert call.endswith("python3.13-venv")
    assert "--no-install-recommends" in call


def test_empty_package_lists_are_refreshed_first(machine: Machine) -> None:
    machine.python("3.11")
    machine.debian(lists=False)
    (machine.have / "ensurepip").unlink()
    assert machine.run().returncode == 0
    assert [line.split()[1] for line in machine.calls("apt-get")] == ["update", "install"]


def test_a_plain_user_needs_sudo(machine: Machine) -> None:
    machine.python("3.11")
    machine.debian()
    (machine.have / "ensurepip").unlink()
    machine.program("id", "#!/bin/sh\necho 1000\n")
    refused = machine.run()
    assert refused.returncode == 1
    assert "Run as root: apt-get install -y python3.11-venv" in refused.stderr
    machine.program("sudo", SUDO)
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert "(through sudo)" in done.stdout
    assert machine.calls("sudo") == ["sudo env"]


def test_apt_that_fails_is_told(machine: Machine) -> None:
    machine.python("3.11")
    machine.debian()
    (machine.have / "ensurepip").unlink()
    (machine.have / "apt-fails").touch()
    done = machine.run()
    assert done.returncode == 1
    assert "apt could not install python3.11-venv" in done.stderr


def test_apt_cannot_mend_a_python_that_is_not_debian_s(machine: Machine) -> None:
    machine.python("3.12")
    machine.debian()
    (machine.have / "ensurepip").unlink()
    (machine.have / "prefix").write_text("/opt/python\n", encoding="utf-8")
    done = machine.run()
    assert done.returncode == 1
    assert "PYTHON=/usr/bin/python3" in done.stderr
    assert machine.calls("apt-get") == []


def test_an_old_python_says_what_to_do(machine: Machine) -> None:
    machine.python("3.9")
    machine.debian()
    done = machine.run()
    assert done.returncode == 1
    assert "Python 3.9.4 is too old" in done.stderr
    assert "make PYTHON=" in done.stderr
    assert machine.calls("apt-get") == []


def test_a_newer_python_beside_an_old_one_is_taken(machine: Machine) -> None:
    machine.python("3.10")
    machine.python("3.12", "python3.12")
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert machine.calls("python3.12 -m venv") == ["python3.12 -m venv --clear .venv"]


def test_the_python_that_is_named_is_taken_or_refused(machine: Machine) -> None:
    machine.python("3.11")
    machine.python("3.10", "python3.10")
    assert machine.run(PYTHON="python3").returncode == 0
    refused = machine.run(PYTHON="python3.10")
    assert refused.returncode == 1
    assert "PYTHON=python3.10 is not a Python of at least 3.11" in refused.stderr


def test_without_any_python_debian_s_is_installed(machine: Machine) -> None:
    machine.debian()
    (machine.have / "new").write_text(PYTHON, encoding="utf-8")
    (machine.have / "new").chmod(0o755)
    (machine.programs / "version").write_text("3.11\n", encoding="utf-8")
    machine.program("apt-get", APT_GET.replace("exit 0", f'cp "$HAVE/new" {machine.programs}/python3'))
    done = machine.run()
    assert done.returncode == 0, done.stderr
    assert machine.calls("apt-get")[0].endswith("python3 python3-venv")


def test_without_python_or_apt_it_says_what_is_needed(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 1
    assert "Install python3 python3-venv in your system's own way" in done.stderr
