#!/bin/sh
# install.sh unpacks the release PLIMSOLL_VERSION on the servers and restarts them.
set -eu
exec ansible-playbook --inventory "$INVENTORY" --extra-vars "version=$PLIMSOLL_VERSION" "$(dirname "$0")/install.yaml"
