# shellcheck shell=sh
# shellcheck disable=SC2034,SC2086 # what is set here is for the scripts that read this file; $nobody is a command
# cluster.sh is read by the other scripts: where the parts of the cluster are, and how a program of it is started and
# ended. CLUSTER is its directory.
: "${CLUSTER:?is not set; want the directory of the cluster, which up.sh fills and down.sh empties}"
net=${CLUSTER_NET:-198.18.77}  # the first three numbers of all addresses; 198.18 is set aside for tests (RFC 2544)
prefix=${CLUSTER_NAME:-chat}   # of the names of namespaces and devices
cores=${CLUSTER_CORES:-0}      # that the whole cluster runs on
engines=${CLUSTER_ENGINES:-postgresql mysql}
case $prefix in
*[!a-z0-9]* | ???????*) # the name of a device has 15 letters at most, and the longest is NAME-mreplica
  echo "CLUSTER_NAME: $prefix is no name of a cluster; want 6 letters or digits at most" >&2
  exit 1
  ;;
esac
places="proxy app1 app2"
for engine in $engines; do
  case $engine in
  postgresql) places="$places db replica" ;;
  mysql) places="$places mdb mreplica" ;; # MariaDB
  esac
done

address() { # PLACE
  case $1 in
  proxy) echo "$net.10" ;;
  app1) echo "$net.11" ;;
  app2) echo "$net.12" ;;
  db) echo "$net.21" ;;
  replica) echo "$net.22" ;;
  mdb) echo "$net.31" ;;
  mreplica) echo "$net.32" ;;
  esac
}

role() { # PLACE
  case $1 in
  app?) echo app ;;
  mdb) echo db ;;
  mreplica) echo replica ;;
  *) echo "$1" ;;
  esac
}

secret() { cat "$CLUSTER/$1.secret"; }

await() { # SECONDS WHAT COMMAND...: until the command succeeds
  tries=$(($1 * 20)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    tries=$((tries - 1))
    if [ "$tries" -le 0 ]; then
      echo "$what: not in time" >&2
      [ ! -e "$CLUSTER/${what%% *}.log" ] || tail -n 10 "$CLUSTER/${what%% *}.log" >&2
      return 1
    fi
    sleep 0.05
  done
}

# The bridge has an address that up.sh drew for it. While it is up with this address, the names of the namespaces in the
# file made are this cluster's, since no other one of the same name can be made. Else they may be another's.
claimed() {
  [ -s "$CLUSTER/bridge" ] && read -r bridge mac <"$CLUSTER/bridge" && [ "$(cat "/sys/class/net/$bridge/address" 2>/dev/null)" = "$mac" ]
}

# A program leaves the process group of the command that starts it, since that ends with the command, and is known by
# its number in NAME.pid and the time of its start in NAME.since. It is in the network of its place.
start() { # PLACE NAME PROGRAM...
  place=$1 name=$2
  shift 2
  rm -f "$CLUSTER/$name.pid"
  # shellcheck disable=SC2016 # is for the inner shell
  setsid -f nsenter --net="/run/netns/$prefix-$place" taskset --cpu-list "$cores" \
    sh -c 'cut -d " " -f 22 "/proc/$$/stat" >"$0.since" && echo $$ >"$0.part" && mv "$0.part" "$0.pid" && exec "$@"' "$CLUSTER/$name" "$@" >"$CLUSTER/$name.log" 2>&1 </dev/null
  await 10 "$name starts" test -s "$CLUSTER/$name.pid"
}

runs() { # NAME PID: a number which is another program's by now does not count
  [ "$(cut -d ' ' -f 22 "/proc/$2/stat" 2>/dev/null)" = "$(cat "$CLUSTER/$1.since")" ] && grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$2/status"
}

ended() { ! runs "$@"; }

tell() { # NAME SIGNAL
  [ -s "$CLUSTER/$1.pid" ] || return 0
  pid=$(cat "$CLUSTER/$1.pid")
  ! runs "$1" "$pid" || kill -s "$2" "$pid" || :
}

stop() { # NAME [SIGNAL]
  [ -s "$CLUSTER/$1.pid" ] || return 0
  pid=$(cat "$CLUSTER/$1.pid")
  if runs "$1" "$pid"; then
    kill -s "${2:-TERM}" "$pid" || :
    await 10 "$1 ends" ended "$1" "$pid" || kill -s KILL "$pid" || :
    # Where stop is called as a condition, set -e has no effect in it.
    await 5 "$1 ends after SIGKILL" ended "$1" "$pid" || return 1
  fi
  rm -f "$CLUSTER/$1.pid"
}

vacant() { [ -z "$(ip netns pids "$1")" ]; } # NAMESPACE

vacate() { # NAMESPACE: ends what is in it and has no file, such as a program that was being started
  for pid in $(ip netns pids "$1"); do kill -s KILL "$pid" 2>/dev/null || :; done
  await 5 "the last program in $1 ends after SIGKILL" vacant "$1" || return 1
}

# Servers do not run as root.
nobody="setpriv --reuid=nobody --regid=$(id -g nobody) --clear-groups"

serve_postgresql() { # PLACE
  for d in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do [ ! -x "$d/postgres" ] || bin=$d; done
  start "$1" "$1" $nobody "$bin/postgres" -D "$CLUSTER/$1/data" -c listen_addresses="$(address "$1")" -c unix_socket_directories="$CLUSTER/$1" -c max_connections=200
  await 30 "$1 answers" sql "$1" postgres "SELECT 1"
}

serve_mysql() { # PLACE
  case $1 in
  mdb) set -- "$1" --server-id=1 --log-bin=log ;;
  *) set -- "$1" --server-id=2 --read-only ;;
  esac
  at=$1
  shift
  start "$at" "$at" $nobody "$(PATH=$PATH:/usr/sbin command -v mariadbd)" --no-defaults --datadir="$CLUSTER/$at/data" --socket="$CLUSTER/$at/socket" \
    --bind-address="$(address "$at")" --skip-name-resolve --max-connections=300 --innodb-log-file-size=32M "$@"
  await 60 "$at answers" msql "$at" "SELECT 1"
}

sql() { # PLACE DATABASE STATEMENT...: by the socket; each by itself, and no secret in an argument
  place=$1 database=$2
  shift 2
  printf '%s;\n' "$@" | PGOPTIONS="-c client_min_messages=warning" psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 \
    --host "$CLUSTER/$place" --username postgres --dbname "$database"
}

msql() { # PLACE STATEMENT...: the same for MariaDB
  place=$1
  shift
  printf '%s;\n' "$@" | mariadb --no-defaults --skip-column-names --batch --socket "$CLUSTER/$place/socket" --user root
}

follows() { [ "$(sql replica postgres "SELECT pg_last_wal_replay_lsn() >= '$1'")" = t ]; }

copies() { # the replica listens, and has all
  [ "$(msql mreplica "SELECT count(*) FROM information_schema.processlist WHERE state = 'Waiting for master to send event'" 'SELECT @@gtid_slave_pos')" = \
    "1
$(msql mdb 'SELECT @@gtid_binlog_pos')" ]
}

# The database of an engine is a copy of the initial state, and its replica has it too.
restore() { # ENGINE
  if [ "$1" = mysql ]; then
    for p in mreplica mdb; do
      stop "$p" KILL # without writing what is removed next
      rm -rf "$CLUSTER/$p/data"
      cp -a "$CLUSTER/mdb/initial" "$CLUSTER/$p/data"
    done
    for p in mdb mreplica; do serve_mysql "$p"; done
    msql mreplica "SET GLOBAL gtid_slave_pos = '$(msql mdb 'SELECT @@gtid_binlog_pos')'; CHANGE MASTER TO MASTER_HOST = '$(address mdb)', MASTER_USER = 'replica',
      MASTER_PASSWORD = '$(secret replica)', MASTER_USE_GTID = slave_pos; START SLAVE"
    await 60 "mreplica follows" copies
    return
  fi
  sql db postgres "DROP DATABASE IF EXISTS chat WITH (FORCE)" "CREATE DATABASE chat TEMPLATE initial OWNER chat" CHECKPOINT
  await 60 "replica follows" follows "$(sql db postgres 'SELECT pg_current_wal_lsn()')"
}
