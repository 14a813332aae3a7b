#!/bin/sh
# down.sh ends all that the other scripts started, and removes the networks that up.sh made for this cluster and the
# directory CLUSTER. It may be called again, and for a cluster of which only a part came up.
set -eu
. "$(dirname "$0")/cluster.sh"
[ -e "$CLUSTER/cluster" ] || { echo "down.sh: $CLUSTER is no directory of a cluster" >&2; exit 1; }
failed=0
# Databases end at once, without writing what is removed below.
for p in mreplica mdb; do stop "$p" KILL || failed=1; done
for p in replica db; do stop "$p" QUIT || failed=1; done
names="proxy app1 app2"
for p in proxy app1 app2 db replica mdb mreplica; do names="$names $p-agent"; done
for n in $names; do tell "$n" TERM; done # all, so that each waits no longer than the slowest
for n in $names; do stop "$n" || failed=1; done
if claimed; then
  for n in $(cat "$CLUSTER/made"); do
    [ ! -e "/run/netns/$n" ] || { vacate "$n" && ip netns delete "$n"; } || failed=1
    [ ! -e "/sys/class/net/$n" ] || ip link delete "$n" 2>/dev/null || : # which goes with the namespace, some time later
  done
  [ "$failed" = 1 ] || ip link delete "$bridge" || failed=1 # at last, since it is the claim on the others
fi
[ "$failed" = 0 ] || { echo "down.sh: not all has ended; $CLUSTER stays, and down.sh may be called again" >&2; exit 1; }
rm -rf "$CLUSTER"
