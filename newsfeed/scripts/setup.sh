#!/usr/bin/env bash
# Installs what the tests of this module need: what those of the product need (../scripts/setup.sh) and Redis, the
# service's cache. With the argument "full" also Java 17 and Maven, for `make test-full`. With CI=true a part that cannot
# be had is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

have_redis() { command -v redis-server >/dev/null || [ -x /usr/bin/redis-server ] || [ -x /usr/local/bin/redis-server ]; }

have_java17() {
  local home
  for home in "${JAVA_HOME:-}" /usr/lib/jvm/* /usr/java/* /opt/java/*; do
    if [ -x "$home/bin/javac" ] && grep -q '^JAVA_VERSION="17' "$home/release" 2>/dev/null; then
      return 0
    fi
  done
  return 1
}

packages=()
have_redis || packages+=(redis-server)
if [ "${1:-}" = full ]; then
  have_java17 || packages+=(openjdk-17-jdk-headless)
  command -v mvn >/dev/null || packages+=(maven)
fi
../scripts/setup.sh ${packages[@]+"${packages[@]}"}

if ! have_redis; then
  echo "setup: no Redis on this host: plans with the news feed need it; install redis-server" >&2
  if [ "${CI:-}" = true ]; then
    exit 1
  fi
fi
if [ "${1:-}" = full ] && { ! have_java17 || ! command -v mvn >/dev/null; }; then
  echo "setup: no Java 17 development kit or no mvn on this host: install openjdk-17-jdk-headless and maven" >&2
  exit 1
fi
