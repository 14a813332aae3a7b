#!/bin/sh
# install.sh puts the version PLIMSOLL_VERSION on both servers: those that run are ended, and those of the directory
# releases/VERSION started.
set -eu
. "$(dirname "$0")/cluster.sh"
release=$CLUSTER/releases/$PLIMSOLL_VERSION
[ -x "$release/refchat" ] || { echo "install.sh: there is no release $PLIMSOLL_VERSION: $release/refchat is missing" >&2; exit 1; }
for p in app1 app2; do stop "$p"; done
rm -rf "$CLUSTER/files"
mkdir "$CLUSTER/files"
chown nobody "$CLUSTER/files"
REFCHAT_ADMIN_PASSWORD=$(secret admin)
if [ "${PLIMSOLL_ENGINE:-postgresql}" = mysql ]; then
  REFCHAT_DSN="mysql://chat:$(secret chat)@tcp($(address mdb):3306)/chat"
  REFCHAT_DSN_REPLICAS="mysql://chat:$(secret chat)@tcp($(address mreplica):3306)/chat"
else
  REFCHAT_DSN="postgres://chat:$(secret chat)@$(address db):5432/chat?sslmode=disable"
  REFCHAT_DSN_REPLICAS="postgres://chat:$(secret chat)@$(address replica):5432/chat?sslmode=disable"
fi
export REFCHAT_ADMIN_PASSWORD REFCHAT_DSN REFCHAT_DSN_REPLICAS
for p in app1 app2; do
  other=app1
  [ "$p" = app2 ] || other=app2
  # shellcheck disable=SC2086 # is a command
  start "$p" "$p" $nobody "$release/refchat" \
    -listen "$(address "$p"):8065" -bus "$(address "$p"):8075" -peer "$(address "$other"):8075" -files "$CLUSTER/files" -hash bcrypt:4 -max-conns 32
  await 20 "$p answers" curl --fail --silent --max-time 1 "http://$(address "$p"):8065/api/v4/system/ping"
done
