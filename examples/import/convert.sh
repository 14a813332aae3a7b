#!/usr/bin/env bash
# Converts the recording and the collection of this directory into scripts: convert.sh DIRECTORY
# Needs npm. The server's address becomes BASE_URL, which k6 gets by --env and plimsoll sets itself.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
to=${1:?usage: convert.sh DIRECTORY}
mkdir -p "$to"
cd "$here"
if [ ! -d node_modules/postman-to-k6/vendor ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
  (cd node_modules/postman-to-k6 && node scripts/bundle.js) # its libraries, as its own postinstall makes them
  echo 'module converters' >node_modules/go.mod # so that ./... has none of the Go in it
fi
node_modules/.bin/har-to-k6 recording.har --output "$to/recording.js" >/dev/null
node_modules/.bin/postman-to-k6 collection.json -o "$to/collection.js"
cp recorded.js collected.js "$to"
sed -i -E "s#(['\"])http://chat\.example\.com#__ENV.BASE_URL + \1#" "$to/recording.js" "$to/collection.js"
