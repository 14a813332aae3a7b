#!/usr/bin/env bash
# Installs the clients that `make bench` measures beside ours, pinned, into .plimsoll/peers. Arguments: names of some
# (default all). One that cannot be installed is named and the others go on; the benchmark then reports that in its
# row. Needs what brings each: apt (wrk, h2load), go (vegeta, k6), cargo (oha), python3 with venv (locust).
set -uo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
vegeta=v12.12.0
k6=v1.8.1
oha=1.10.0
locust=2.43.1
dir=$PWD/.plimsoll/peers
mkdir -p "$dir"
export GOFLAGS=
unset GOWORK

# A file NAME.version names the installed version.
have() { [ -x "$dir/$1" ] && [ "$(cat "$dir/$1.version" 2>/dev/null)" = "$2" ]; }
done_with() { echo "$2" >"$dir/$1.version"; }

# PROGRAM PACKAGE
from_system() {
  command -v "$1" >/dev/null && return
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || { echo "$1: install it with the system's packages" >&2; return 1; }
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "$2" >/dev/null
}

install_wrk() { from_system wrk wrk; }
install_h2load() { from_system h2load nghttp2-client; }

# go install would also resolve versions that are not needed; a module of our own requires this one alone.
install_vegeta() {
  have vegeta $vegeta && return
  local work
  work=$(mktemp -d) || return
  (cd "$work" && printf 'module peers\n\ngo 1.26\n\nrequire github.com/tsenart/vegeta/v12 %s\n' $vegeta >go.mod &&
    "$go" build -mod=mod -buildvcs=false -o "$dir/vegeta" github.com/tsenart/vegeta/v12)
  local status=$?
  rm -rf "$work"
  [ $status = 0 ] && done_with vegeta $vegeta
}

install_k6() {
  have k6 $k6 && return
  GOBIN=$dir "$go" install go.k6.io/k6@$k6 && done_with k6 $k6
}

install_oha() {
  have oha $oha && return
  cargo install --quiet --locked --root "$dir/cargo" --version $oha --no-default-features --features rustls oha &&
    cp "$dir/cargo/bin/oha" "$dir/oha" && done_with oha $oha
}

install_locust() {
  have locust $locust && return
  python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "locust==$locust" &&
    ln -sf venv/bin/locust "$dir/locust" && done_with locust $locust
}

failed=()
for peer in "${@:-wrk h2load vegeta k6 oha locust}"; do
  for name in $peer; do
    case $name in
      wrk | h2load | vegeta | k6 | oha | locust) install_"$name" || failed+=("$name") ;;
      *) echo "peers.sh: no peer $name" >&2; exit 2 ;;
    esac
  done
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "peers.sh: could not install: ${failed[*]}" >&2
  exit 1
fi
