#!/bin/sh
# As the image's own: redis-server never runs as root, and its folder is given to the account that it runs as.
set -e
if [ "$1" = redis-server ] && [ "$(id -u)" = 0 ]; then
	chown -R redis .
	exec setpriv --reuid redis --regid redis --init-groups "$0" "$@"
fi
exec "$@"
