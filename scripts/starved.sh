#!/bin/sh
# starved.sh: runs beside a program that eats the generator's core must be judged invalid, and runs without it valid,
# unless time that the hypervisor took (steal) is the reason.
#
#   scripts/starved.sh [RUNS]        RUNS of each kind, default 3; about 9 s each
#
# It needs two cores or more: the generator gets the last one. Environment: PLIMSOLL, the program (default: built here).
# It prints a table and ends with 1 if a run was judged otherwise.
set -eu
runs=${1:-3}
dir=$(mktemp -d)
hog=
cleanup() {
	[ -z "$hog" ] || kill "$hog" 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT INT TERM
cores=$(nproc)
[ "$cores" -ge 2 ] || { echo "starved.sh: one core only; the hog would starve the target too" >&2; exit 2; }
core=$((cores - 1))
if [ -z "${PLIMSOLL:-}" ]; then
	PLIMSOLL=$dir/plimsoll
	"$(dirname "$0")/build.sh" "$PLIMSOLL"
fi
cat >"$dir/plan.yaml" <<PLAN
name: starved
target: {driver: refnull}
placement: {generator: [$core], target: [0]}
workload: {behavior: poster, pace: 0.1}
bounded: {users: 200, ramp: 2s, settle: 1s, measure: 5s}
PLAN

wrong=0
echo "| hog | run | valid | red | core | steal | lag p99 |"
echo "|---|---:|---|---|---:|---:|---:|"
one() { # HOG NUMBER
	status=0
	PLIMSOLL_CALIBRATE=false "$PLIMSOLL" run -json -store "$dir/store" "$dir/plan.yaml" >"$dir/run.json" 2>"$dir/log" || status=$?
	case $status in
	0 | 5 | 6) ;; # void, or operations that timed out
	*)
		cat "$dir/log" >&2
		exit 1
		;;
	esac
	verdict=$(python3 - "$dir/run.json" "$1" "$2" "$status" <<'PY'
import json, sys
v = json.load(open(sys.argv[1]))["validity"]
hog, n, status = sys.argv[2], sys.argv[3], int(sys.argv[4])
red = [f["gate"] for f in v["findings"] if f["level"] == "red"]
gates = {g["name"]: g for g in v["gates"]}
def show(name, unit):
    x = gates[name]["value"]
    return "-" if x is None else "%.1f %s" % (x, unit)
print("| %s | %s | %s | %s | %s | %s | %s |" % (hog, n, "yes" if v["valid"] else "no", ", ".join(red) or "-", show("core", "%"), show("steal", "%"), show("lag", "ms")))
assert v["valid"] == (status == 0), "exit status %d of a run with valid %s" % (status, v["valid"])
right = not v["valid"] if hog == "yes" else v["valid"] or "steal" in red
print("right" if right else "wrong")
PY
	)
	echo "$verdict" | head -n 1
	[ "$(echo "$verdict" | tail -n 1)" = right ] || wrong=$((wrong + 1))
}

for hogs in no yes; do
	if [ $hogs = yes ]; then
		taskset -c "$core" sh -c 'while :; do :; done' &
		hog=$!
	fi
	i=0
	while [ $i -lt "$runs" ]; do
		i=$((i + 1))
		one $hogs $i
	done
done
echo
echo "$wrong of $((2 * runs)) runs were judged otherwise than they should"
[ $wrong -eq 0 ]
