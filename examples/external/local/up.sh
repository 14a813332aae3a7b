#!/bin/sh
# up.sh makes the cluster in the directory CLUSTER: networks on a bridge, PostgreSQL and MariaDB with data and a replica
# each, nginx, and an agent with probes in each network. The servers come by install.sh. PROGRAM is plimsoll.
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
remedy="down.sh ends a cluster that is up, or CLUSTER_NET=198.18.78 CLUSTER_NAME=chat2 take others"
if ip -br address | grep -qF " $net."; then
  echo "up.sh: the network $net.0/24 is in use here; $remedy" >&2
  exit 1
fi
for n in "/sys/class/net/${prefix}0" $(printf "/run/netns/$prefix-%s /sys/class/net/$prefix-%s " $(for p in $places; do echo $p $p; done)); do
  [ ! -e "$n" ] || { echo "up.sh: the name $prefix is in use here, there is $n; $remedy" >&2; exit 1; }
done
mkdir -p "$CLUSTER"
for n in $(ls -A "$CLUSTER"); do
  case $n in
  releases | cluster) ;;
  *) echo "up.sh: CLUSTER=$CLUSTER has $n in it, and down.sh would remove it; want a directory that is new or has only releases" >&2; exit 1 ;;
  esac
done
chmod 755 "$CLUSTER"
: >"$CLUSTER/cluster"
$nobody test -x "$CLUSTER" || { echo "up.sh: the user nobody cannot enter $CLUSTER; take a directory that all may enter" >&2; exit 1; }

# The networks, each written down before it is made, since this script may be ended at any time. See claimed.
mac=02$(openssl rand -hex 5 | sed 's/../:&/g')
echo "${prefix}0 $mac" >"$CLUSTER/bridge"
: >"$CLUSTER/made"
ip link add "${prefix}0" address "$mac" type bridge
ip address add "$net.1/24" dev "${prefix}0"
ip link set "${prefix}0" up
for p in $places; do
  echo "$prefix-$p" >>"$CLUSTER/made"
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
  for s in admin user chat monitor replica; do
    printf 'Aa1-%s\n' "$(openssl rand -hex 20)" >"$CLUSTER/$s.secret"
  done
)

# A database with data and its replica, for each engine.
dsn() { # PLACE USER DATABASE
  case $1 in
  m*) echo "mysql://$2:$(secret "$2")@tcp($(address "$1"):3306)/$3" ;;
  *) echo "postgres://$2:$(secret "$2")@$(address "$1"):5432/$3?sslmode=disable" ;;
  esac
}
fill() { # PLACE DATABASE ENGINE
  DATA=$(dsn "$1" chat "$2") PLIMSOLL_USER_PASSWORD=$(secret user) "$program" data generate "$here/data.yaml" -dsn-env DATA -engine "$3" -hash bcrypt:4 >"$CLUSTER/generate.log" 2>&1 ||
    { tail -n 5 "$CLUSTER/generate.log" >&2; exit 1; }
}
make() { # PROGRAM...: a data directory
  "$@" >"$CLUSTER/make.log" 2>&1 || { tail -n 20 "$CLUSTER/make.log" >&2; exit 1; }
}
postgresql() {
  bin=
  for d in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do [ ! -x "$d/postgres" ] || bin=$d; done
  [ -n "$bin" ] || { echo "up.sh: there is no PostgreSQL; install the package postgresql" >&2; exit 1; }
  make $nobody "$bin/initdb" --pgdata "$CLUSTER/db/data" --username postgres --auth-local trust --auth-host scram-sha-256 --encoding UTF8 --locale C --no-sync
  printf 'host %s %s %s.0/24 scram-sha-256\n' all all "$net" replication replica "$net" >>"$CLUSTER/db/data/pg_hba.conf"
  serve_postgresql db
  for r in chat monitor replica; do
    sql db postgres "CREATE ROLE $r LOGIN PASSWORD '$(secret "$r")'"
  done
  sql db postgres "ALTER ROLE replica REPLICATION" "GRANT pg_monitor TO monitor" "CREATE DATABASE initial OWNER chat"
  fill db initial postgresql
  PGPASSWORD=$(secret replica)
  export PGPASSWORD
  make $nobody "$bin/pg_basebackup" --pgdata "$CLUSTER/replica/data" --host "$(address db)" --username replica \
    --checkpoint fast --wal-method stream --write-recovery-conf --no-sync
  unset PGPASSWORD
  serve_postgresql replica
}
mysql() {
  PATH=$PATH:/usr/sbin command -v mariadbd >/dev/null || { echo "up.sh: there is no MariaDB; install the package mariadb-server" >&2; exit 1; }
  make $nobody mariadb-install-db --no-defaults --datadir="$CLUSTER/mdb/data" --auth-root-authentication-method=normal --skip-test-db
  serve_mysql mdb
  msql mdb "CREATE DATABASE chat CHARACTER SET utf8mb4; CREATE USER chat@'%' IDENTIFIED BY '$(secret chat)', monitor@'%' IDENTIFIED BY '$(secret monitor)', replica@'%' IDENTIFIED BY '$(secret replica)';
    GRANT ALL ON chat.* TO chat@'%'; GRANT SELECT ON chat.* TO monitor@'%'; GRANT REPLICATION SLAVE ON *.* TO replica@'%'"
  fill mdb chat mysql
  stop mdb
  mv "$CLUSTER/mdb/data" "$CLUSTER/mdb/initial"
}
for p in $places; do
  mkdir "$CLUSTER/$p"
  chmod 700 "$CLUSTER/$p"
  chown nobody "$CLUSTER/$p"
done
for engine in $engines; do
  "$engine"
  restore "$engine"
done

# The proxy.
sed "s/NET/$net/g" "$here/nginx.conf" >"$CLUSTER/proxy/nginx.conf"
start proxy proxy $nobody "$nginx" -p "$CLUSTER/proxy" -c "$CLUSTER/proxy/nginx.conf" -e stderr
await 10 "proxy answers" curl --fail --silent --max-time 1 "http://$net.10:8065/nginx_status"

# The agents, which wait for the comparison.
for p in $places; do
  make "$program" fleet -fleet-keys "$CLUSTER/fleet.json" -new-token "$CLUSTER/$p.nk"
  start "$p" "$p-agent" "$program" agent -join "nats://$net.1:4222" -token-file "$CLUSTER/$p.nk" \
    -role "$(role "$p")" -cpus "$cores" -nic eth0 -pid "$(role "$p")=$CLUSTER/$p.pid"
  await 10 "$p-agent waits" grep -q "no coordinator" "$CLUSTER/$p-agent.log"
done

# What plan.yaml refers to.
(
  umask 077
  cat >"$CLUSTER/env" <<END
export CLUSTER='$CLUSTER' CLUSTER_NET='$net' CLUSTER_NAME='$prefix' CLUSTER_CORES='$cores' CLUSTER_ENGINES='$engines'
export PLIMSOLL_ADMIN_PASSWORD='$(secret admin)' PLIMSOLL_USER_PASSWORD='$(secret user)'
export CHAT_DB='$(dsn db monitor chat)' CHAT_REPLICA='$(dsn replica monitor chat)'
export CHAT_MDB='$(dsn mdb monitor chat)' CHAT_MREPLICA='$(dsn mreplica monitor chat)'
END
)
