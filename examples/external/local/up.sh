#!/bin/sh
# up.sh makes the cluster in the directory CLUSTER: five networks on a bridge, PostgreSQL with data and a replica, nginx,
# and an agent with probes in each network. The servers come by install.sh. PROGRAM is plimsoll.
# shellcheck disable=SC2086 # $nobody is a command
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cluster.sh"
program=${PROGRAM:-bin/plimsoll}
for tool in ip nsenter setsid setpriv taskset openssl curl psql "$program"; do
  command -v "$tool" >/dev/null || { echo "up.sh: there is no $tool" >&2; exit 1; }
done
[ "$(id -u)" = 0 ] || { echo "up.sh: network namespaces need root" >&2; exit 1; }
nginx=$(PATH=$PATH:/usr/sbin command -v nginx) || { echo "up.sh: there is no nginx; install the package nginx" >&2; exit 1; }
bin=
for d in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do [ ! -x "$d/postgres" ] || bin=$d; done
[ -n "$bin" ] || bin=$(dirname "$(command -v postgres)") || { echo "up.sh: there is no PostgreSQL; install the package postgresql" >&2; exit 1; }
if ip -br address | grep -qF " $net."; then
  echo "up.sh: the network $net.0/24 is in use here; down.sh ends a cluster that is up, or CLUSTER_NET=198.18.78 takes another one" >&2
  exit 1
fi
mkdir -p "$CLUSTER"
chmod 755 "$CLUSTER"
: >"$CLUSTER/cluster"
$nobody test -x "$CLUSTER" || { echo "up.sh: the user nobody cannot enter $CLUSTER; take a directory that all may enter" >&2; exit 1; }

# The networks.
ip link add "${prefix}0" type bridge
ip address add "$net.1/24" dev "${prefix}0"
ip link set "${prefix}0" up
for p in $places; do
  ip netns add "$prefix-$p"
  ip -n "$prefix-$p" link set lo up
  ip link add "$prefix-$p" type veth peer name eth0 netns "$prefix-$p"
  ip link set "$prefix-$p" master "${prefix}0" up
  ip -n "$prefix-$p" address add "$(address "$p")/24" dev eth0
  ip -n "$prefix-$p" link set eth0 up
done

# The secrets.
(
  umask 077
  for s in admin user chat monitor replica agent; do
    printf 'Aa1-%s\n' "$(openssl rand -hex 20)" >"$CLUSTER/$s.secret"
  done
)
secret() { cat "$CLUSTER/$1.secret"; }

# The database and its data.
mkdir "$CLUSTER/db" "$CLUSTER/replica"
chmod 700 "$CLUSTER/db" "$CLUSTER/replica"
chown nobody "$CLUSTER/db" "$CLUSTER/replica"
$nobody "$bin/initdb" --pgdata "$CLUSTER/db/data" --username postgres --auth-local trust --auth-host scram-sha-256 --encoding UTF8 --locale C --no-sync >"$CLUSTER/initdb.log" 2>&1 ||
  { cat "$CLUSTER/initdb.log" >&2; exit 1; }
printf 'host %s %s %s.0/24 scram-sha-256\n' all all "$net" replication replica "$net" >>"$CLUSTER/db/data/pg_hba.conf"
serve() { # PLACE
  start "$1" "$1" $nobody "$bin/postgres" -D "$CLUSTER/$1/data" -c listen_addresses="$(address "$1")" -c unix_socket_directories="$CLUSTER/$1" -c max_connections=200
  await 30 "$1 answers" sql "$1" postgres "SELECT 1"
}
serve db
for role in chat monitor replica; do
  sql db postgres "CREATE ROLE $role LOGIN PASSWORD '$(secret "$role")'"
done
sql db postgres "ALTER ROLE replica REPLICATION" "GRANT pg_monitor TO monitor" "CREATE DATABASE initial OWNER chat"
dsn() { echo "postgres://$2:$(secret "$2")@$(address "$1"):5432/$3?sslmode=disable"; }
DATA=$(dsn db chat initial) PLIMSOLL_USER_PASSWORD=$(secret user) \
  "$program" data generate "$here/data.yaml" -dsn-env DATA -engine postgresql -hash bcrypt:4 >"$CLUSTER/generate.log" 2>&1 || { tail -n 5 "$CLUSTER/generate.log" >&2; exit 1; }

# Its replica: a copy that follows it.
PGPASSWORD=$(secret replica) $nobody "$bin/pg_basebackup" --pgdata "$CLUSTER/replica/data" --host "$(address db)" --username replica \
  --checkpoint fast --wal-method stream --write-recovery-conf --no-sync
serve replica
restore

# The proxy.
mkdir "$CLUSTER/proxy"
chown nobody "$CLUSTER/proxy"
sed "s/NET/$net/g" "$here/nginx.conf" >"$CLUSTER/proxy/nginx.conf"
start proxy proxy $nobody "$nginx" -p "$CLUSTER/proxy" -c "$CLUSTER/proxy/nginx.conf" -e stderr
await 10 "proxy answers" curl --fail --silent --max-time 1 "http://$net.10:8065/nginx_status"

# The agents, all with one certificate.
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=chat -keyout "$CLUSTER/agent.key" -out "$CLUSTER/agent.crt" 2>/dev/null
for p in $agents; do
  start "$p" "$p-agent" "$program" agent -probe -listen "$(address "$p"):9443" -token-file "$CLUSTER/agent.secret" -cert "$CLUSTER/agent.crt" -key "$CLUSTER/agent.key" \
    -role "${p%[12]}" -cpus "$cores" -nic eth0 -pid "${p%[12]}=$CLUSTER/$p.pid"
  await 10 "$p-agent answers" grep -q "agent: ready" "$CLUSTER/$p-agent.log"
done

# What plan.yaml refers to.
(
  umask 077
  cat >"$CLUSTER/env" <<END
export CLUSTER='$CLUSTER' CLUSTER_NET='$net' CLUSTER_NAME='$prefix' CLUSTER_CORES='$cores'
export PLIMSOLL_ADMIN_PASSWORD='$(secret admin)' PLIMSOLL_USER_PASSWORD='$(secret user)'
export CHAT_DB='$(dsn db monitor chat)' CHAT_REPLICA='$(dsn replica monitor chat)'
export CHAT_AGENT='$(secret agent)' CHAT_AGENT_PRINT='sha256:$(openssl x509 -in "$CLUSTER/agent.crt" -outform DER | openssl dgst -sha256 -r | cut -d ' ' -f 1)'
END
)
