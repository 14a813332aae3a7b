#!/usr/bin/env bash
# Measures the data verbs on this machine: load, indexes and restore of a million posts (or another SPEC) on both
# engines, each restore beside a plain copy of the same bytes in the same run. Holds them against the figures of
# docs/dataset.md. Usage: scripts/dataset.sh [SPEC [DIR]]; DIR (default a temporary directory here) needs about 10 GB
# for a million posts. Exit status 0: all figures were reached, 1: some were not, or a step failed.
set -euo pipefail
cd "$(dirname "$0")/.."
spec=${1:-million}
made=
dir=${2:-}
if [ -z "$dir" ]; then
  mkdir -p .plimsoll
  dir=$(mktemp -d .plimsoll/dataset.XXXXXX)
  made=$dir
fi
chmod 755 "$dir"
cleanup() {
  if [ -n "$made" ]; then rm -rf "$made"; fi
}
trap cleanup EXIT

scripts/build.sh
uname -srm
grep -m1 'model name' /proc/cpuinfo || true
echo "$(nproc) cores, load $(cut -d' ' -f1-3 /proc/loadavg)"

bad=0
# figure NAME SECONDS LIMIT
figure() {
  local verdict=reached
  if awk "BEGIN { exit !($2 > $3) }"; then verdict=MISSED bad=1; fi
  printf '%-42s %7.1f s  (at most %s s: %s)\n' "$1" "$2" "$3" "$verdict"
}
# field FILE NAME: a number of the program's JSON, which has each on a line of its own; durations are in nanoseconds.
field() { sed -n "s/^ *\"$2\": \([0-9.e+-]*\),\{0,1\}$/\1/p" "$1" | head -n 1; }

for engine in postgresql mysql; do
  bin/plimsoll data generate "$spec" -engine "$engine" -o "$dir/$engine" -json >"$dir/$engine.json"
  load=$(field "$dir/$engine.json" load)
  build=$(field "$dir/$engine.json" build)
  settle=$(field "$dir/$engine.json" settle)
  load_s=$(awk "BEGIN { print $load / 1e9 }")
  all_s=$(awk "BEGIN { print ($load + $build + $settle) / 1e9 }")
  if [ "$engine" = postgresql ]; then
    figure "$engine: load without indexes" "$load_s" 60
    figure "$engine: load with all indexes" "$all_s" 150
  else
    printf '%-42s %7.1f s\n' "$engine: load without further indexes" "$load_s" "$engine: load with all indexes" "$all_s"
  fi
  bin/plimsoll data restore -plain -json "$dir/$engine" "$dir/back-$engine" >"$dir/restore.json"
  limit=10
  if [ "$engine" = mysql ]; then limit=15; fi
  figure "$engine: restore of a dump" "$(field "$dir/restore.json" restore)" "$limit"
  figure "$engine: reset between two runs" "$(field "$dir/restore.json" reset)" "$limit"
  printf '%-42s %7.1f s, and %.1f s more until it is on disk (%.2f GB)\n' "$engine: cp -a of the same data" \
    "$(field "$dir/restore.json" copy)" "$(field "$dir/restore.json" sync)" "$(awk "BEGIN { print $(field "$dir/restore.json" bytes) / 1e9 }")"
done
exit "$bad"
