#!/usr/bin/env bash
# Sets up, builds, and runs the demo; then reports whether it found the planted slowdown. Arguments go to `plimsoll
# demo`. Exit status 0: a planted slowdown was found on every database (status 3 of the demo), or nothing was planted
# and nothing was found (status 0, or 4 for inconclusive). Anything else is the demo's own status, or 1.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
fault=${FAULT-cpu:100%}

began=$SECONDS
scripts/setup.sh || exit 1
GO="$go" scripts/build.sh || exit 1
printf 'demo: set-up and build took %d s\n' $((SECONDS - began)) >&2

began=$SECONDS
screen=$(mktemp)
trap 'rm -f "$screen"' EXIT
# Ctrl-C reaches the demo by itself; any other end of this script must not leave it behind. Either way it cleans up, and
# this script waits for it.
bin/plimsoll demo -fault="$fault" "$@" > >(tee "$screen") &
demo=$!
trap : INT
trap 'kill -TERM "$demo" 2>/dev/null' TERM HUP
while :; do
  wait "$demo"
  status=$?
  kill -0 "$demo" 2>/dev/null || break
done
printf 'demo: the comparison took %d s\n' $((SECONDS - began)) >&2

case "$fault/$status" in
none/0 | none/4)
  if grep -q '^verdict:.*=better' "$screen"; then
    echo 'demo: a build compared with itself was judged better: a false alarm' >&2
    exit 1
  fi
  echo 'demo: a build compared with itself was judged neither worse nor better'
  exit 0
  ;;
none/3)
  echo 'demo: a build compared with itself was judged worse: a false alarm' >&2
  exit 1
  ;;
*/3)
  if grep '^verdict: ' "$screen" | grep -qE '=(same|better|inconclusive|invalid)'; then
    echo "demo: the planted slowdown ($fault) was not found on every database" >&2
    exit 1
  fi
  echo "demo: the planted slowdown ($fault) was found on every database"
  exit 0
  ;;
*/0 | */4)
  echo "demo: the planted slowdown ($fault) was not found" >&2
  exit 1
  ;;
*)
  exit "$status"
  ;;
esac
