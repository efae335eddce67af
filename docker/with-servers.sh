#!/bin/sh
# Note where the servers are (the LOCKBENCH_*_URL variables tell), then become the given command.
set -eu
lockbench up >&2
exec "$@"
