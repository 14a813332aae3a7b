#!/bin/sh
# install.sh starts the image of PLIMSOLL_VERSION in the place of the one that runs. Its name is IMAGE:VERSION.
set -eu
export APP_IMAGE="${IMAGE:-mattermost/mattermost-team-edition}:$PLIMSOLL_VERSION"
docker compose pull --quiet app
docker compose up --detach --no-build db app
