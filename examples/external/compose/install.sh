#!/bin/sh
# install.sh starts the image of PLIMSOLL_VERSION in the place of the one that runs. Its name is IMAGE:VERSION. No arm
# but base is installed before reset.sh has made the snapshot: its migrations would be in it, and base would run on them.
set -eu
export APP_IMAGE="${IMAGE:-mattermost/mattermost-team-edition}:$PLIMSOLL_VERSION"
if [ "$PLIMSOLL_ARM" != base ] && ! docker compose run --rm --no-deps --entrypoint test db -e /snapshot/complete; then
  echo "there is no snapshot of the database yet: install base and make it first (README.md)" >&2
  exit 1
fi
docker compose pull --quiet app
docker compose up --detach --no-build db app
