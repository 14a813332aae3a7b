#!/usr/bin/env bash
# Names the functions of the main module that no program calls: neither its own nor one of the modules beside it that link
# it. Fails if there are any. Left out are packages that only tests import, and two short forms that tests of many packages
# call.
#
#   dead.sh DEADCODE   the program of golang.org/x/tools/cmd/deadcode
set -euo pipefail
cd "$(dirname "$0")/.."
deadcode=$1
aside='^(internal/(browser|failure|program|race)|cmd/internal/(reference|verbtest)|record/store/storetest|run/session/sessiontest)/|^plan/decode\.go:.*: Parse$|^record/writer\.go:.*: Create$'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# One workspace of the main module and those that link it, so that a call from there counts.
patterns=(plimsoll/...)
{
  printf 'go %s\nuse %s\n' "$(sed -n 's/^go //p' go.mod)" "$PWD"
  for mod in $(git ls-files '*/go.mod'); do
    if grep -q '^[[:space:]]*plimsoll v' "$mod"; then
      printf 'use %s\n' "$PWD/${mod%/go.mod}"
      patterns+=("$(sed -n 's/^module //p' "$mod")/...")
    fi
  done
} >"$work/go.work"
GOWORK=$work/go.work "$deadcode" -filter '^plimsoll(/|$)' "${patterns[@]}" >"$work/dead"
if grep -vE "$aside" "$work/dead"; then
  echo 'no program calls these: remove them, or move them into the tests' >&2
  exit 1
fi
