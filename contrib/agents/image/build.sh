#!/usr/bin/env bash
# Builds the image of an agent and coordinator: contrib/agents/image/build.sh [TAG [PROGRAM [PODMAN FLAG...]]]. TAG is
# plimsoll by default, PROGRAM a static plimsoll that is there already; without it, scripts/build.sh makes one. It
# prints the digest of the image's manifest: the same program gives the same digest, on any day and in any directory.
# Needs podman; no network.
set -euo pipefail
tag=${1:-plimsoll}
program=${2:-}
flags=("${@:3}")
here=$(cd "$(dirname "$0")" && pwd)
context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
if [ -n "$program" ]; then
  cp "$program" "$context/plimsoll"
else
  "$here/../../../scripts/build.sh" "$context/plimsoll"
fi
# The layer has the program's bytes, owner, mode and time; the last three are fixed here and by the Containerfile, and
# --timestamp sets the times of the layer's files and of the image. Nothing in it is from the host's clock or name.
podman "${flags[@]}" build --quiet --network none --pull=never --timestamp 0 --format oci --squash \
  --file "$here/Containerfile" --tag "$tag" "$context" >/dev/null
podman "${flags[@]}" image inspect --format '{{.Digest}}' "$tag"
