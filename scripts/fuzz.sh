#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME, one after the other: go test takes one at a time.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${FUZZTIME:-15s}
count=0
while IFS=: read -r file _ line; do
  target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$line")
  dir=./$(dirname "$file")
  printf '%s %s\n' "$dir" "$target"
  "$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir"
  count=$((count + 1))
done < <(git grep -nE '^func Fuzz[A-Za-z0-9_]*\(' -- '*_test.go')
if [ "$count" = 0 ]; then
  echo 'fuzz: no target was found' >&2
  exit 1
fi
printf 'fuzz: %d targets, %s each\n' "$count" "$time"
