#!/usr/bin/env bash
# Calibrates on simulations, then compares real builds, one with a planted slowdown and one with itself. Every outcome is
# kept in docs/acceptance with the commit and the host, also a wrong one: none is discarded. The status is 0 when all
# were right.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
kept=docs/acceptance
mkdir -p "$kept"
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit=$commit-changed
failed=0

echo 'acceptance: calibrations on simulations'
"$go" test -count=1 ./stats ./verdict ./control || failed=1

for fault in cpu:100% none; do
  stamp=$(date -u +%Y%m%d-%H%M%S)
  file=$kept/$stamp-demo-${fault//[^a-z0-9]/}.txt
  echo "acceptance: demo with fault $fault, kept in $file"
  screen=$(FAULT=$fault scripts/demo.sh "$@")
  status=$?
  {
    printf 'command: make demo FAULT=%s\ncommit: %s\nhost: %s, %s cores\nexit status: %d\n\n' \
      "$fault" "$commit" "$(uname -sr)" "$(nproc)" "$status"
    printf '%s\n' "$screen" | sed "s,$PWD/,,g"
  } >"$file"
  cat "$file"
  [ "$status" = 0 ] || failed=1
done
exit "$failed"
