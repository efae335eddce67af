#!/bin/sh
# Create, or bring up to date, the virtual environment that every `make` target runs in.
#
#     tools/environment.sh FOLDER STAMP
#
# FOLDER then holds exactly the packages of requirements.lock, and lockbench itself, linked to this working tree.
# STAMP, a file in FOLDER, is written last: where it is missing, the folder was never finished or has been moved, and it
# is made anew. PYTHON names the interpreter; without it, the first of python3, python3.13, python3.12 and python3.11
# that is new enough is taken. Run from the root of the working tree.
set -eu

folder=$1
stamp=$2
oldest=3.11

say() { printf 'environment: %s\n' "$*"; }
stop() {
    printf 'environment: %s\n' "$*" >&2
    exit 1
}

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

# Sets $python. An interpreter that the user named is never replaced by another.
find_python() {
    for python in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if command -v "$python" >/dev/null && new_enough "$python"; then
            return 0
        fi
    done
    return 1
}

# Debian splits the standard library: a bare machine may lack python3, or only the part that makes virtual environments.
apt_install() {
    command -v apt-get >/dev/null || stop "there is no apt-get here. Install $* in your system's own way, then run make again."
    root=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || stop "this needs root. Run as root: apt-get install -y $*"
        root=sudo
    fi
    say "installing with apt${root:+ (through sudo)}: $*"
    if ! apt-cache show "$@" >/dev/null 2>&1; then
        $root apt-get update -q || stop "apt-get update failed: is there a network?"
    fi
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=120 "$@" || stop "apt could not install $*. Try: ${root:+$root }apt-get update"
}

if ! find_python; then
    if [ -n "${PYTHON:-}" ]; then
        stop "PYTHON=$PYTHON is not a Python of at least $oldest."
    elif command -v python3 >/dev/null; then
        stop "$(python3 --version) is too old: lockbench needs $oldest or newer. Debian 12 and 13 and Ubuntu 24.04 have one;" \
            "elsewhere install one beside it and run: make PYTHON=/path/to/python$oldest"
    fi
    apt_install python3 python3-venv
    find_python || stop "Debian's $(python3 --version) is too old: lockbench needs $oldest or newer."
fi

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$("$python" -c 'import sys; print(sys.base_prefix)')" != /usr ]; then
        stop "$(command -v "$python") cannot make virtual environments (it has no ensurepip). Run: make PYTHON=/usr/bin/python3"
    fi
    say "Python $version here cannot make virtual environments (Debian keeps that part in a package of its own)"
    apt_install "python$version-venv"
    "$python" -c 'import ensurepip, venv' || stop "python$version-venv is installed, and $python still has no ensurepip."
fi

inside=$folder/bin/python
if [ -e "$stamp" ] && new_enough "$inside"; then
    say "bringing $folder up to date with requirements.lock"
else
    say "making $folder with $("$python" --version) ($(command -v "$python"))"
    "$python" -m venv --clear "$folder"
fi
rm -f "$stamp"

# --no-deps: the lock file is the whole set, so nothing is left to resolve. --use-pep517: one way to build the few
# packages that come as source, whatever setuptools the interpreter brought along. -qq: pip's errors, not its remarks.
install="$inside -m pip install -qq --disable-pip-version-check --no-input --no-deps"
say "installing $(grep -c '^[a-zA-Z0-9].*==' requirements.lock) pinned packages: one to three minutes the first time"
$install --use-pep517 -r requirements.lock || stop "pip could not install requirements.lock (its own words are above)."
$install -e . || stop "pip could not install lockbench itself (its own words are above)."
"$inside" -m pip check --disable-pip-version-check >/dev/null || {
    "$inside" -m pip check --disable-pip-version-check >&2 || true
    stop "requirements.lock does not fit pyproject.toml any more. Run: make lock"
}
touch "$stamp"
say "ready: $folder"
