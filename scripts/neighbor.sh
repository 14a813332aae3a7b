#!/usr/bin/env bash
# Takes 0 to 60 % of one core in random bursts of 0.2 to 5 s, as another tenant of a shared machine does, and ends by
# itself:
#   scripts/neighbor.sh [CORE [LENGTH [SEED]]]
# By default the core is 0, on which the plans of the demo have their target, the length 10m and the seed 1. At its end
# it prints the CPU time that it got. Ctrl-C and SIGTERM end it earlier.
set -euo pipefail
cd "$(dirname "$0")/.."
"${GO:-go}" build -C studies -o ../bin/neighbor ./bench/neighbor
exec bin/neighbor -core "${1:-0}" -d "${2:-10m}" -seed "${3:-1}"
