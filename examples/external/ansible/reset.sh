#!/bin/sh
# reset.sh restores the database. The playbook reads its password from the environment.
set -eu
exec ansible-playbook --inventory "$INVENTORY" "$(dirname "$0")/reset.yaml"
