#!/bin/sh
# Repeats a search, and reports how much its answers scatter and how many of their intervals hold the mean of all:
#   scripts/repeats.sh [PLAN [N]]
# Runs without an estimate are counted and named. Needs bin/plimsoll (make build).
set -eu
plan=${1:-examples/capacity-known.yaml}
n=${2:-10}
store=$(mktemp -d)
echo "runs in $store" >&2
i=0
while [ "$i" -lt "$n" ]; do
	i=$((i + 1))
	bin/plimsoll capacity -store "$store" "$plan" >"$store/$i.out" 2>"$store/$i.err" || echo "run $i: exit status $?" >&2
	sed -n 's/^  capacity: /run '"$i"': /p' "$store/$i.out"
done
cat "$store"/runs/*/manifest.json | awk '
	/"capacity": \{/ { inside = 1; kind = "" }
	inside && /"(kind|users|lo|hi)":/ {
		name = $1; gsub(/[":,]/, "", name)
		value = $2; gsub(/[",]/, "", value)
		if (name == "kind") kind = value
		if (name == "users") users = value
		if (name == "lo") lo = value
		if (name == "hi") {
			inside = 0; runs++
			if (kind == "estimate") { k++; u[k] = users + 0; l[k] = lo + 0; h[k] = value + 0; sum += users }
		}
	}
	END {
		printf "%d runs, %d estimates\n", runs, k
		if (k < 2) exit 1
		mean = sum / k
		for (i = 1; i <= k; i++) { ss += (u[i] - mean) ^ 2; if (l[i] <= mean && mean <= h[i]) held++ }
		printf "mean %.1f users, standard deviation %.2f %% of it, %d of %d intervals hold the mean\n", mean, 100 * sqrt(ss / (k - 1)) / mean, held, k
	}'
