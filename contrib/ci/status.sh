#!/usr/bin/env bash
# status.sh ends with the status of the comparison where FAIL_ON names it (worse, inconclusive, invalid, rule or none,
# with spaces or commas between them), and with 0 where it does not. A tool that failed, or a plan that is wrong, always
# fails the job.
set -euo pipefail

status=$(<"$WORK/status")
case $status in
  0) exit 0 ;;
  3) word=worse ;;
  4) word=inconclusive ;;
  5) word=invalid ;;
  6) word=rule ;;
  *)
    echo "status.sh: plimsoll compare ended with status $status; its log is above" >&2
    exit "$status"
    ;;
esac
read -ra words <<<"${FAIL_ON//,/ }"
for w in "${words[@]}"; do
  if [ "$w" = "$word" ]; then
    echo "status.sh: $word (status $status), and fail-on has it" >&2
    exit "$status"
  fi
done
echo "status.sh: $word (status $status), which does not fail this job (fail-on: ${FAIL_ON:-none})"
