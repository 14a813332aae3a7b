#!/bin/sh
# down.sh ends all that the other scripts started, and removes the networks and the directory CLUSTER. It may be called
# again, and for a cluster of which only a part came up.
set -eu
. "$(dirname "$0")/cluster.sh"
[ -e "$CLUSTER/cluster" ] || { echo "down.sh: $CLUSTER is no directory of a cluster" >&2; exit 1; }
failed=0
for p in $places; do stop "$p-agent" || failed=1; done
for p in proxy app1 app2; do stop "$p" || failed=1; done
# Databases end at once, without writing what is removed below.
for p in mreplica mdb; do stop "$p" KILL || failed=1; done
for p in replica db; do stop "$p" QUIT || failed=1; done
for p in $places; do
  [ ! -e "/run/netns/$prefix-$p" ] || ip netns delete "$prefix-$p" || failed=1
done
[ ! -e "/sys/class/net/${prefix}0" ] || ip link delete "${prefix}0" || failed=1
[ "$failed" = 0 ] || exit 1
rm -rf "$CLUSTER"
