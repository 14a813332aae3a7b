#!/usr/bin/env bash
# compare.sh compares the two builds and writes the report into $WORK/report and the exit status into $WORK/status. A
# verdict never ends the job here: status.sh decides, after the report is kept. Its environment:
#
#   RESULT   the release directory or binary in each work tree, or
#   PLAN     a plan of the head, whose arms are below base and head
#   MINUTES  the time that the comparison may take; empty: the program's own
#   WORK     the directory of this job
set -euo pipefail

plimsoll=$(<"$WORK/plimsoll")
store=$WORK/store
out=$WORK/report
rm -rf "$store" "$out" # of an earlier job on this runner
mkdir -p "$out"
cd "$WORK"

arguments=(-store "$store")
[ -z "${MINUTES:-}" ] || arguments+=(-minutes "$MINUTES")
if [ -n "${PLAN:-}" ]; then
  arguments+=("head/$PLAN")
else
  arguments+=(-save "$out/plan.yaml" "base/$RESULT" "head/$RESULT")
fi
status=0
"$plimsoll" compare "${arguments[@]}" || status=$?
echo "$status" >"$WORK/status"

# report has the status of the verdict, too.
"$plimsoll" report -store "$store" -out "$out" -print screen last >/dev/null || test -s "$out/comment.md" ||
  echo "**No verdict**: \`plimsoll compare\` ended with status $status before anything was judged; the log of the job has the reason." >"$out/comment.md"

case $status in
  0) verdict="same or better" ;;
  3) verdict=worse ;;
  4) verdict=inconclusive ;;
  5) verdict=invalid ;;
  6) verdict=rule ;;
  *) verdict=none ;;
esac
printf '%s\n' "status=$status" "verdict=$verdict" "report=$out" >>"${GITHUB_OUTPUT:-/dev/null}"
cat "$out/comment.md" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
