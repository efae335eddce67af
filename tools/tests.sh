#!/bin/sh
# Run the tests: first those that mostly wait, for leases and for servers, on four workers; those of them that failed once
# more, alone, and each is named; then those that measure, alone.
#
#     tools/tests.sh PYTEST
#
# Their folders are in memory where there is room: a write that a busy disk keeps for a second would meet their time limits.
set -eu

pytest=$1
enough_kib=12000000

if [ "$(df --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge "$enough_kib" ] 2>/dev/null; then
    PYTEST_DEBUG_TEMPROOT=$(mktemp -d /dev/shm/lockbench-tests.XXXXXX)
    export PYTEST_DEBUG_TEMPROOT
    trap 'rm -rf "$PYTEST_DEBUG_TEMPROOT"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
fi

# Hundreds of tests start a lockbench of their own, and where this is set each would compile all of it anew.
unset PYTHONDONTWRITEBYTECODE

beside='not measures and not thorough'
failed=0
"$pytest" -n 4 --durations=40 --durations-min=5 -m "$beside" || failed=$?
if [ "$failed" -eq 1 ]; then
    echo "Run once more, alone: what failed beside other tests. Look at each: a fault may show on a busy machine only."
    "$pytest" --last-failed --last-failed-no-failures=none --maxfail=3 --verbose -m "$beside" && failed=0
fi
"$pytest" -m 'measures and not thorough' || failed=$?
exit "$failed"
