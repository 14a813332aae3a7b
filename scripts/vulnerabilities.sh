#!/usr/bin/env bash
# Asks the Go vulnerability database about the code that the program can reach. Status 1: something known is
# reachable, or the check itself is broken. Where the tool or its database cannot be had (no network), it prints "not
# checked" and why, with status 0. GOVULNCHECK names a program to use instead of the pinned one, GOVULNDB the address
# of a copy of the database (https:// or file://).
set -uo pipefail
cd "$(dirname "$0")/.."
version=v1.9.0
go=${GO:-go}
database=${GOVULNDB:-https://vuln.go.dev}
said=$(mktemp)
trap 'rm -f "$said"' EXIT

unchecked() {
  printf 'vulnerabilities: not checked: %s\n' "$1"
  exit 0
}

tool=${GOVULNCHECK:-.plimsoll/tools/govulncheck-$version}
if [ -z "${GOVULNCHECK:-}" ] && [ ! -x "$tool" ]; then
  dir=$PWD/.plimsoll/tools
  mkdir -p "$dir"
  # The name that go install gives carries no version.
  if ! GOFLAGS=-trimpath GOBIN="$dir" "$go" install "golang.org/x/vuln/cmd/govulncheck@$version" >"$said" 2>&1; then
    unchecked "govulncheck $version cannot be installed ($(grep -v '^[[:space:]]*$' "$said" | tail -n 1))"
  fi
  mv "$dir/govulncheck" "$tool" || exit 1
fi

# With -version alone, govulncheck asks the database when it was changed, and keeps silent about that if it had no
# answer.
reachable() { "$tool" -db "$database" -version >"$said" 2>&1 && grep -q '^DB updated:' "$said"; }

if ! reachable; then
  unchecked "the database $database cannot be reached"
fi
grep -E '^(Scanner|DB|DB updated):' "$said"
# The program is checked as it is shipped; tests and tools are not part of it.
CGO_ENABLED=0 "$tool" -db "$database" ./cmd/plimsoll
status=$?
case $status in
0)
  echo 'vulnerabilities: none that is known can be reached'
  ;;
3)
  echo 'vulnerabilities: FAILED: the program reaches code with known vulnerabilities, as listed above' >&2
  exit 1
  ;;
*)
  # The network may have gone in the meantime.
  if ! reachable; then
    unchecked "the database $database can no longer be reached"
  fi
  printf 'vulnerabilities: FAILED: govulncheck ended with status %d\n' "$status" >&2
  exit 1
  ;;
esac
