#!/usr/bin/env bash
# Holds USERS simulated users (default 9000) of behavior mattermost, each with HTTP and WebSocket, at the default pace
# for DURATION (default 10m) in one process on one core, against the null server on another. It succeeds when the run
# is valid with lag at p99 of 5 ms at most, and without an error. Needs two cores and a limit of open files above 2 ×
# USERS + 500. The run stays in STORE.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
users=${USERS:-9000}
duration=${DURATION:-10m}
store=${STORE:-.plimsoll}
ramp=${RAMP:-$((users / 200 + 5))s}

GO="$go" scripts/build.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# 18,000 sockets are 90 % of a limit of 20,000 files: here that is the subject, not a fault.
cat >"$work/sockets.yaml" <<EOF
name: sockets
seed: 7
target: {driver: refnull, args: [-push=0.05]}
workload: {behavior: mattermost, login: warm}
bounded: {users: $users, ramp: $ramp, settle: 20s, measure: $duration}
gates: {lag: {amber: 5ms, red: 5ms}, fds: {amber: 95%, red: 97%}}
EOF
status=0
bin/plimsoll run -store "$store" -json "$work/sockets.yaml" >"$work/run.json" || status=$?
python3 - "$work/run.json" "$status" <<'EOF'
import json, sys
try:
    run = json.load(open(sys.argv[1]))
except ValueError:
    sys.exit("the run left no result; what it said is above")
status = int(sys.argv[2])
validity = run["validity"]
print(f"run {run['manifest']['id']}: {'valid' if validity['valid'] else 'NOT VALID'}")
for g in validity.get("gates") or []:
    value = "not measured" if g["value"] is None else f"{g['value']:.3g}{g.get('unit', '')}"
    print(f"  {g['level']:12} {g['name']:10} {value} (red {g['red']:g})")
all_ops = [o for o in run["operations"] if o["name"] == "op"]
errors, count = sum(o["errors"] for o in all_ops), sum(o["count"] for o in all_ops)
print(f"  {count} operations, {errors} errors")
sys.exit(status or (1 if errors or not count else 0))
EOF
