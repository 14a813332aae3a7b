#!/usr/bin/env bash
# Measures one load twice, with plimsoll and with Locust, against the same reference server, and reports whether both
# saw the same: request rate within 2 %, p50 and p95 within 10 % or 2 ms. Arguments: rounds (default 1). Needs python3
# with venv.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
rounds=${1:-1}
locust=2.43.1
plan=examples/bounded.yaml

scripts/setup.sh
GO="$go" scripts/build.sh
work=$(mktemp -d)
chmod 755 "$work"
up=
cleanup() {
  [ -z "$up" ] || { kill -INT "$up" 2>/dev/null && wait "$up" 2>/dev/null; } || true
  rm -rf "$work"
}
trap cleanup EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check "locust==$locust"

PLIMSOLL_ADMIN_PASSWORD="Aa1!$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')"
export PLIMSOLL_ADMIN_PASSWORD
api() { # METHOD PATH [JSON]
  curl -sS -m 10 -X "$1" ${TOKEN:+-H "Authorization: Bearer $TOKEN"} ${3:+-d "$3"} -D "$work/headers" "$url/api/v4$2"
}
field() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

for round in $(seq "$rounds"); do
  bin/plimsoll run -json -store "$work/store" "$plan" >"$work/plimsoll.json" || case $? in 5 | 6) ;; *) exit 1 ;; esac

  bin/plimsoll target up -store "$work/store" "$plan" >"$work/up.out" 2>"$work/up.err" &
  up=$!
  for _ in $(seq 600); do grep -q '^up: ' "$work/up.out" && break; sleep 0.1; done
  url=$(sed -n 's/^up: //p' "$work/up.out")
  TOKEN='' api POST /users/login "{\"login_id\":\"sysadmin\",\"password\":\"$PLIMSOLL_ADMIN_PASSWORD\"}" >/dev/null
  TOKEN=$(sed -n 's/^[Tt]oken: *\([a-z0-9]*\).*/\1/p' "$work/headers")
  team=$(api GET /teams/name/plimsoll | field id)
  CHANNEL=$(api GET "/teams/$team/channels/name/plimsoll-000" | field id)
  bot=$(api POST /users/usernames '["plimsoll-bot"]' | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["id"])')
  TOKEN=$(api POST "/users/$bot/tokens" '{"description":"locust"}' | field token)
  export TOKEN CHANNEL
  taskset -c "$(($(nproc) - 1))" "$work/venv/bin/locust" -f scripts/locustfile.py --headless --users 200 --spawn-rate 20 \
    --run-time 140s --reset-stats --host "$url" --csv "$work/locust" --only-summary --loglevel ERROR >"$work/locust.out" 2>&1 ||
    { tail -n 20 "$work/locust.out"; exit 1; }
  kill -INT "$up" && wait "$up" || true
  up=
  unset TOKEN CHANNEL
  python3 - "$work/plimsoll.json" "$work/locust_stats.csv" "$round" <<'EOF'
import csv, json, sys

run = json.load(open(sys.argv[1]))
ours = {o["name"]: o for o in run["operations"]}
theirs = {r["Name"]: r for r in csv.DictReader(open(sys.argv[2]))}
ok = True
print(f"round {sys.argv[3]}: plimsoll run {'valid' if run['validity']['valid'] else 'NOT VALID'}")
print(f"{'':10} {'rate 1/s':>19} {'p50 ms':>15} {'p95 ms':>15} {'errors':>9}")
for name, other in (("post", "post"), ("upload", "upload"), ("op", "Aggregated")):
    o, t = ours[name], theirs[other]
    rate, p50, p95 = float(t["Requests/s"]), float(t["50%"]), float(t["95%"])
    print(f"{name:10} {o['per_second']:9.2f} {rate:9.2f} {o['p50_ms']:7.1f} {p50:7.1f} {o['p95_ms']:7.1f} {p95:7.1f} {o['errors']:4d} {t['Failure Count']:>4}")
    if name == "op":
        same = lambda a, b: abs(a - b) <= max(0.1 * b, 2)
        checks = {"rate within 2 %": abs(o["per_second"] / rate - 1) <= 0.02, "p50 within 10 % or 2 ms": same(o["p50_ms"], p50),
                  "p95 within 10 % or 2 ms": same(o["p95_ms"], p95), "rate within 2 % of 41.5/s": abs(o["per_second"] / 41.5 - 1) <= 0.02}
        for what, good in checks.items():
            print(f"  {'✓' if good else '✗'} {what}")
            ok = ok and good
sys.exit(0 if ok else 1)
EOF
done
