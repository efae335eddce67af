#!/bin/bash
# As the image's own: the first time it makes the cluster and the database, with a server that answers on its socket
# only; then `postgres` runs, as its account, with the words of the command.
set -e
if [ "$(id -u)" = 0 ]; then
	chown -R postgres "$PGDATA"
	chmod 700 "$PGDATA"
	exec setpriv --reuid postgres --regid postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
	initdb --username="$POSTGRES_USER" --pwfile=<(echo "$POSTGRES_PASSWORD") $POSTGRES_INITDB_ARGS
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	echo "listen_addresses = '*'" >>"$PGDATA/postgresql.conf"
	pg_ctl -o "-c listen_addresses=" -w start
	[ "$POSTGRES_DB" = postgres ] || createdb --username="$POSTGRES_USER" --no-password "$POSTGRES_DB"
	pg_ctl -m fast -w stop
fi
exec "$@"
