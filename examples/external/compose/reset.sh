#!/bin/sh
# reset.sh puts the database back to its snapshot. The first call makes the snapshot of what is there then.
# install.sh lets that be the data of the arm base.
set -eu
export APP_IMAGE="${IMAGE:-mattermost/mattermost-team-edition}:$PLIMSOLL_VERSION"
docker compose stop app db
docker compose run --rm --no-deps --entrypoint sh db -c '
  set -eu
  if [ ! -e /snapshot/complete ]; then
    rm -rf /snapshot/data.part /snapshot/data
    mkdir /snapshot/data.part
    cp -a /var/lib/postgresql/data/. /snapshot/data.part
    mv /snapshot/data.part /snapshot/data
    touch /snapshot/complete
  fi
  find /var/lib/postgresql/data -mindepth 1 -delete
  cp -a /snapshot/data/. /var/lib/postgresql/data'
docker compose up --detach --no-build db app
