#!/usr/bin/env bash
# Sets up, builds, and runs the demo, whose last line is whether it found the planted slowdown. Arguments go to
# `plimsoll demo`. Exit status 0: a planted slowdown was found on every database, or nothing was planted and no verdict
# is worse or better. 1: the opposite. Anything else is the demo's own status.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
fault=${FAULT-cpu:25%}
case $fault in
none) arms='a build of the reference chat server and itself' ;;
cpu:*) arms="a build of the reference chat server and the same with ${fault#cpu:} more CPU time for each request" ;;
*) arms="a build of the reference chat server and the same with the fault $fault" ;;
esac
printf 'demo: compares %s, on PostgreSQL and MariaDB, as a duet in six blocks: about 5 minutes after set-up on two cores, 2 more on a busy host; report in .plimsoll/comparisons, outcome in the last line\n' "$arms"

began=$SECONDS
scripts/setup.sh || exit 1
GO="$go" scripts/build.sh || exit 1
printf 'demo: set-up and build took %d s\n' $((SECONDS - began)) >&2

dir=$(mktemp -d)
screen=$dir/screen
trap 'rm -rf "$dir"' EXIT
mkfifo "$dir/pipe"
tee "$screen" <"$dir/pipe" &
tee=$!
# Ctrl-C reaches the demo by itself; any other end of this script must not leave it behind. Either way it cleans up, and
# this script waits for it.
bin/plimsoll demo -fault="$fault" "$@" >"$dir/pipe" &
demo=$!
trap : INT
trap 'kill -TERM "$demo" 2>/dev/null' TERM HUP
while :; do
  wait "$demo"
  status=$?
  kill -0 "$demo" 2>/dev/null || break
done
wait "$tee" # the last lines

outcome=$(grep '^demo: ' "$screen" | tail -n 1)
case "$status $outcome" in
[034]' demo: found: '* | [034]' demo: same on every database, '* | [034]' demo: no difference found, '*) exit 0 ;;
[034]' demo: not found '* | [034]' demo: false alarm: '*) exit 1 ;;
0*) exit 1 ;; # without an outcome
*) exit "$status" ;;
esac
