#!/usr/bin/env bash
# Runs all tests of the program: first those of every package beside each other, then, one after the other, those that
# need the machine for themselves. Arguments are flags of go test for the first part. The last line counts packages and lone tests; the
# line before it names those that failed.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
# MODULE DIR TEST. Each skips itself where PLIMSOLL_ALONE is not set.
alone=('studies faults TestThreeFaults')

# Most tests wait more than they compute, so half as many packages again as there are cores run at a time.
packages=$(( ($(getconf _NPROCESSORS_ONLN) * 3 + 1) / 2 ))

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=()
"$go" test -p "$packages" "$@" ./... 2>&1 | tee "$log"
status=$?
mapfile -t failed < <(awk -F'\t' '$1 == "FAIL" && NF > 1 { sub(/ .*/, "", $2); print $2 }' "$log")
if [ $status != 0 ] && [ ${#failed[@]} = 0 ]; then
  failed=("$go test")
fi
passed=$(grep -c $'^ok  \t' "$log")
skipped=0
for test in "${alone[@]}"; do
  read -r module dir name <<<"$test"
  if ! PLIMSOLL_ALONE=1 "$go" test -C "$module" -count=1 -timeout=20m -v -run "^$name\$" "./$dir" 2>&1 | tee "$log"; then
    failed+=("$module/$dir $name")
  elif grep -q "^--- SKIP: $name " "$log"; then
    skipped=$((skipped + 1))
  else
    passed=$((passed + 1))
  fi
done

if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "$(printf '%s, ' "${failed[@]}" | sed 's/, $//')"
fi
printf 'tests: %d passed, %d failed, %d skipped\n' "$passed" ${#failed[@]} "$skipped"
[ ${#failed[@]} = 0 ]
