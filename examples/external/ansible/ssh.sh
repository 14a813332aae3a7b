#!/bin/sh
# ssh.sh install, and ssh.sh reset, do the work of the playbooks by ssh alone. APP and DB are lists of hosts.
set -eu
case "$1" in
install | reset) ;;
*)
  echo "ssh.sh $1: want install or reset" >&2
  exit 2 ;;
esac
on() { # HOST COMMAND
  ssh -o BatchMode=yes -o ConnectTimeout=10 "$1" "$2"
}
for host in $APP; do on "$host" "sudo systemctl stop mattermost"; done
case "$1" in
install)
  for host in $APP; do on "$host" "sudo tar -xzf /srv/releases/mattermost-$PLIMSOLL_VERSION-linux-amd64.tar.gz -C /opt"; done ;;
reset)
  for host in $DB; do on "$host" "dropdb --if-exists --force mattermost && createdb --template mattermost_snapshot mattermost"; done ;;
esac
for host in $APP; do on "$host" "sudo systemctl start mattermost"; done
