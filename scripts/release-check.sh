#!/usr/bin/env bash
# Makes a release of the last commit twice, for this host's processor: in two clones whose paths have other lengths, with
# another umask and clock zone. Archive, packages and SBOM must be the same bytes. A clone that fails says why.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$("${GO:-go}" env GOHOSTOS)/$("${GO:-go}" env GOHOSTARCH)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make_in() {
  git clone --quiet --no-hardlinks . "$dir/$1"
  (umask "$2" && TZ=$3 "$dir/$1/scripts/release.sh" 0.0.1 "$target") >"$dir/log" 2>&1 || {
    tail -n 30 "$dir/log" >&2
    echo "release-check: the release cannot be made" >&2
    return 1
  }
}
make_in a 022 UTC
make_in a/longer-directory 077 Asia/Tokyo
bad=0
for path in "$dir"/a/dist/plimsoll*; do
  name=${path##*/}
  if ! cmp "$path" "$dir/a/longer-directory/dist/$name"; then
    echo "release-check: $name is not the same bytes in two builds" >&2
    bad=1
  fi
done
[ "$bad" = 0 ] || exit 1
echo "release-check: the same bytes from two builds:"
cat "$dir"/a/dist/*_checksums.txt
