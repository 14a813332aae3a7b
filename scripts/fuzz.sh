#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other: go test takes one at a time.
#
#   FUZZTIME   for each target, such as 30s, or 20000x for as many inputs; without it the targets share FUZZTOTAL
#   FUZZTOTAL  seconds for all of them together (1200)
#   FUZZPLAIN  1: binaries as other tests have them, without the coverage that guides the search. They are built in a fraction of the time, so this is
#              for the few seconds of CI
#
# A finding is written below the package's testdata/fuzz, where go test runs it again, and ends the script after the
# other targets with status 1.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Which packages have targets is a matter of text; which targets they have, of the compiler.
dirs=$(git grep -lE '^func Fuzz' -- '*_test.go' | xargs -rn1 dirname | sort -u)
export go work FUZZPLAIN
binary() { printf '%s/%s.test' "$work" "${1//\//-}"; }
build() { # shellcheck disable=SC2046
  "$go" test -c $([ -n "${FUZZPLAIN:-}" ] || printf -- '-fuzz .') -o "$(binary "$1")" "./$1"
}
export -f binary build
xargs -rn1 -P2 bash -c 'build "$1"' _ <<<"$dirs"
targets=()
for dir in $dirs; do
  listed=$(cd "$dir" && "$(binary "$dir")" -test.list '^Fuzz')
  for name in $listed; do
    targets+=("$dir $name $(binary "$dir")")
  done
done
count=${#targets[@]}
if [ "$count" = 0 ]; then
  echo 'fuzz: no target was found' >&2
  exit 1
fi
time=${FUZZTIME:-$((${FUZZTOTAL:-1200} / count))s}
cache=$work/cache
if [ -z "${FUZZPLAIN:-}" ]; then
  cache=$("$go" env GOCACHE)/fuzz/plimsoll # what an earlier search found goes on to be used
fi
failed=()
for target in "${targets[@]}"; do
  read -r dir name binary <<<"$target"
  printf '== %s %s for %s\n' "$dir" "$name" "$time"
  status=0
  (cd "$dir" && "$binary" -test.run '^$' -test.fuzz "^$name\$" -test.fuzztime "$time" -test.fuzzminimizetime 10s -test.fuzzcachedir "$cache/$dir") >"$work/log" 2>&1 || status=$?
  # Before Go 1.27 a search at the end of its time may report that as its only failure (go.dev/issue/75804); counts of
  # inputs have no such end. A finding names its input or its seed.
  if [ "$status" != 0 ] && grep -q '^ *context deadline exceeded$' "$work/log" && ! grep -qE 'Failing input|failure while testing seed corpus|panic' "$work/log"; then
    status=0
  fi
  if [ "$status" = 0 ]; then
    tail -n 2 "$work/log"
  else
    cat "$work/log"
    failed+=("$dir/$name")
  fi
done
printf 'fuzz: %d targets, %s each, %d failed\n' "$count" "$time" "${#failed[@]}"
if [ ${#failed[@]} -gt 0 ]; then
  printf 'fuzz: FAILED: %s\n' "${failed[*]}"
  exit 1
fi
