#!/bin/sh
# Install Debian packages, and leave none of their services running or enabled that was not before. Run as root:
#
#     apt_quietly.sh PACKAGE...
#
# Debian starts a daemon as soon as its package is configured, and enables it for the next boot. Here only the programs
# are wanted: no machine shall serve Redis or Postgres because somebody ran a benchmark on it. While apt works,
# invoke-rc.d and deb-systemd-invoke are told no by policy-rc.d(8), and postgresql-common makes no cluster; afterwards,
# what the packages enabled is disabled, also when apt failed or a signal came: by then some may be configured. Both files
# say whose they are. Only kill -9 leaves them, for the next run to remove, and then what was enabled stays so.
set -eu
umask 022 # folders made here are read by services that are not root

export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
root=${LOCKBENCH_ROOT:-} # tests give another one
policy=$root/usr/sbin/policy-rc.d
cluster=$root/etc/postgresql-common/createcluster.d/lockbench.conf
mark="# lockbench: here only while it installs packages"

say() { printf 'apt: %s\n' "$*"; }
stop() {
    printf 'E: %s\n' "$*" >&2
    exit 1
}
ours() { grep -qsxF "$mark" "$1"; }
apt() { apt-get -q -o DPkg::Lock::Timeout=120 "$@" 9>&-; } # what apt starts does not hold our lock
# One at a time: apt-cache is content when it knows one of several.
known() { for name; do apt-cache show --no-all-versions "$name" >/dev/null 2>&1 || return 1; done; }
# The links by which init systems start services at boot.
enabled() { find "$root"/etc/systemd/system "$root"/etc/rc[2-5].d \( -path '*/rc?.d/S*' -o -path '*.wants/*' \) 2>/dev/null | sort; }
active() {
    [ -d "$root/run/systemd/system" ] || return 0
    systemctl list-units --type=service --state=active,activating,reloading --plain --no-legend | cut -d ' ' -f 1
}

mkdir -p "$root/run"
exec 9>"$root/run/lockbench-apt.lock" # /run/lock is everybody's: a link there would be followed by root
flock -n 9 || stop "another lockbench is installing packages at this moment: wait until it is done"

made=
for folder in "${cluster%/*}" "${cluster%/*/*}"; do
    if [ ! -d "$folder" ]; then made="$made $folder"; fi
done
restore() {
    for file in "$policy" "$cluster"; do
        if ours "$file"; then rm -f "$file"; fi
    done
    rm -f "$policy.lockbench"
    # Folders that were made for the file, unless the package filled them meanwhile.
    [ -z "$made" ] || rmdir $made 2>/dev/null || true
}
before=
watching=
switch_off() {
    [ -n "$watching" ] || return 0
    enabled | {
        refused=
        while read -r link; do
            case "
$before
" in *"
$link
"*) continue ;; esac
            unit=${link##*/}
            case $link in
            */rc?.d/*) update-rc.d "${unit#S??}" disable || refused=1 ;;
            *)
                # Debian's own helper undoes what its maintainer scripts did. It refuses to work outside one, and knows
                # one so.
                DPKG_MAINTSCRIPT_PACKAGE=lockbench deb-systemd-helper disable "$unit" || refused=1
                if [ -d "$root/run/systemd/system" ]; then systemctl stop "$unit" || refused=1; fi
                say "$unit is installed and stays off (systemctl enable --now $unit would start it)" || true
                ;;
            esac
        done
        [ -z "$refused" ]
    }
}
leave() {
    code=$?
    trap '' HUP INT PIPE QUIT TERM # a second signal shall not interrupt this
    switch_off || [ "$code" != 0 ] || code=1
    restore
    exit "$code"
}
trap leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 131' QUIT
trap 'exit 141' PIPE
trap 'exit 143' TERM

restore
if [ -e "$policy" ]; then
    say "$policy is there already and stays: it decides whether services start"
else
    # A service that runs already may need its restart after an upgrade: 104. No other may start: 101.
    # Whole or not there: of a part, on a full disk or after a kill, nobody could tell whose it is.
    cat >"$policy.lockbench" <<SCRIPT
#!/bin/sh
$mark
for id in "\$@"; do case "\$id" in --*) ;; *) break ;; esac; done
case " $(active | tr '\n' ' ')" in *" \${id%.service}.service "*) exit 104 ;; esac
exit 101
SCRIPT
    chmod 755 "$policy.lockbench"
    mv -f "$policy.lockbench" "$policy"
fi
mkdir -p "${cluster%/*}"
printf '%s\ncreate_main_cluster = false\n' "$mark" >"$cluster"
before=$(enabled)
watching=yes

known "$@" || {
    say "the package lists are empty or old: refreshing them"
    apt update
    for package; do known "$package" || stop "no package $package in this machine's apt sources: is main among them?"; done
}
apt install -y --no-install-recommends "$@" || {
    say "once more with fresh package lists, which may name versions that the archive has replaced"
    apt update
    apt install -y --no-install-recommends "$@"
}
