#!/bin/sh
# Make images of Debian packages under the names that docker-compose.yml and docker/Dockerfile ask for, to try the two
# where no image can be pulled. They have the tags of the real ones and Debian's versions of the servers: for trying the
# files, never for a measurement. Needs root, debootstrap and npm. docs/containers.md says more.
set -eu
cd "$(dirname "$0")/../.."
suite=bookworm
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT

debootstrap --variant=minbase "$suite" "$tree"
# What this machine needs to reach its package registries, the build containers need as well.
for kept in /etc/pip.conf /usr/local/share/ca-certificates; do
	[ ! -e "$kept" ] || cp -R "$kept" "$tree$(dirname "$kept")"
done
npm install --prefix "$tree/opt/npm" --no-audit --no-fund "$(sed -n 's/^DYNALITE = "\(.*\)" .*/\1/p' bench/systems/dynamodb/engines.py)"
tar -C "$tree" -c . | docker import - lockbench-stand-in:base

# The part of an image's name before its tag is the name of its target in the Dockerfile beside this file.
for image in $(docker compose config --images | sort -u) $(sed -n 's/^FROM //p' docker/Dockerfile); do
	target=${image##*/}
	docker build --network host --target "${target%%:*}" --tag "$image" docker/stand-ins
done
