#!/bin/sh
# reset.sh puts the database back to its initial state. The servers are ended before and started again after, because
# they remember what is not there any more.
set -eu
here=$(dirname "$0")
. "$here/cluster.sh"
for p in app1 app2; do stop "$p"; done
restore "${PLIMSOLL_ENGINE:-postgresql}"
exec "$here/install.sh"
