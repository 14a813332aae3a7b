#!/usr/bin/env bash
# Calibrates on simulations, then compares real servers whose differences are known (studies/acceptance). Every outcome
# is kept in studies/results/acceptance with the commit and the host, also a wrong one: none is discarded. Killed or
# interrupted, it goes on where it was when it is started again. Arguments go to studies/acceptance. The status is 0
# when all were made and right.
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
failed=0

echo 'acceptance: calibrations on simulations'
"$go" test -count=1 ./judge/stats ./judge/verdict ./run/capacity || failed=1

"$go" build -C studies -o ../bin/acceptance ./acceptance || exit 1
bin/acceptance "$@" || failed=1
exit "$failed"
