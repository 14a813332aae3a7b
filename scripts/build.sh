#!/usr/bin/env bash
# Builds the program as it is shipped: scripts/build.sh [FILE], bin/plimsoll by default. It is static, so that it runs
# on any Linux of its processor and in an empty container, and names no directory of the machine that built it. The
# debug information (DWARF) is left out; the symbol table stays, for perf and for govulncheck -mode=binary. Stack
# traces and profiles need neither.
set -euo pipefail
out=${1:-bin/plimsoll}
case $out in
/*) ;;
*) out=$PWD/$out ;;
esac
cd "$(dirname "$0")/.."
# A work tree that git refuses to describe (another owner, no git) builds without its revision.
if ! git rev-parse --verify -q HEAD >/dev/null 2>&1; then
  export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
fi
CGO_ENABLED=0 exec "${GO:-go}" build -trimpath -ldflags=-w -o "$out" ./cmd/plimsoll
