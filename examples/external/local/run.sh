#!/bin/sh
# run.sh [FLAG...] makes two releases of the reference chat server, of which the new one is slowed down, and the
# cluster, compares them, and takes the cluster down, however it ends. Flags go to plimsoll compare. As root. PROGRAM is
# plimsoll, which is built without it; the reference server is a part of it.
set -eu
cd "$(dirname "$0")/../../.."
here=examples/external/local
CLUSTER=$(mktemp -d)
export CLUSTER
chmod 755 "$CLUSTER"
: >"$CLUSTER/cluster"
trap 'status=$?; trap "" HUP INT TERM; "$here/down.sh" || status=1; exit $status' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -z "${PROGRAM:-}" ]; then
  PROGRAM=bin/plimsoll
  scripts/build.sh "$PROGRAM"
fi
export PROGRAM
release() { # VERSION FLAG...: its directory
  mkdir -p "$CLUSTER/releases/$1"
  cp "$(command -v "$PROGRAM")" "$CLUSTER/releases/$1/plimsoll"
  # shellcheck disable=SC2016 # is for that script
  printf '#!/bin/sh\nexec "${0%%/*}/plimsoll" refchat -version %s "$@"\n' "$*" >"$CLUSTER/releases/$1/refchat"
  chmod 755 "$CLUSTER/releases/$1/refchat"
}
release 11.0.0
release 11.0.1 -fault cpu:25% # a quarter more CPU time for each request

"$here/up.sh"
. "$CLUSTER/env"

# A comparison that is told to end finishes its records; this script waits for it.
"$PROGRAM" compare -fleet-listen "$CLUSTER_NET.1:4222" -fleet-keys "$CLUSTER/fleet.json" "$@" "${PLAN:-$here/plan.yaml}" &
compare=$!
trap : INT
trap 'kill -s TERM "$compare" 2>/dev/null || :' TERM HUP
while :; do
  status=0
  wait "$compare" || status=$?
  kill -0 "$compare" 2>/dev/null || break
done
exit "$status"
