#!/usr/bin/env bash
# Makes a release in dist/ and publishes nothing: scripts/release.sh VERSION [TARGET], with a version such as 1.2.3. It
# needs goreleaser and cyclonedx-gomod (make release installs them) and a work tree without changes: every file in a
# release is that of a commit, and has its time. TARGET, such as linux/amd64, makes that alone, without an image.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022

fail() {
  echo "release: $*" >&2
  exit 2
}

# The hook of .goreleaser.yaml: release.sh -pages PROGRAM OS/ARCH. The linker ignores a variable that is not there.
if [ "${1:-}" = -pages ]; then
  [ "$3" = "$HOST" ] || exit 0
  [[ $("$2" version) == "plimsoll $VERSION (commit ${COMMIT:0:12}, "* ]] || fail "the program calls itself $("$2" version)"
  rm -rf bin/release
  "$GO" run ./cmd/manual "$2" bin/release
  gzip -9n bin/release/man/*
  exit
fi

export VERSION=${1:-} GO=${GO:-go}
target=${2:-}
tools=${TOOLS:-.plimsoll/tools}
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] || fail "$VERSION is no version; want one such as 1.2.3 or 1.2.3-rc.1: make release VERSION=1.2.3"
git rev-parse --verify -q HEAD >/dev/null || fail "there is no git repository here; a release is made of a commit"
clean() { [ -z "$(git status --porcelain)" ] || fail "the work tree has changes that are in no commit; commit them"; }
clean
COMMIT=$(git rev-parse HEAD)
EPOCH=$(git show -s --format=%ct HEAD)
DATE=$(date -u -d "@$EPOCH" +%Y-%m-%dT%H:%M:%SZ)
HOST=$("$GO" env GOHOSTOS)/$("$GO" env GOHOSTARCH)
built=plimsoll/internal/built
LDFLAGS="-w -X $built.version=$VERSION -X $built.commit=$COMMIT -X $built.date=$DATE"
export COMMIT EPOCH DATE HOST LDFLAGS SOURCE_DATE_EPOCH=$EPOCH TZ=UTC LC_ALL=C

config=.goreleaser.yaml
if [ -n "$target" ]; then
  [ "$target" = "$HOST" ] || fail "$target alone cannot be made on $HOST: its program writes the pages"
  mkdir -p bin
  config=bin/goreleaser.yaml
  sed "s,^    targets: .*,    targets: [${target/\//_}]," .goreleaser.yaml >"$config"
fi
PATH=$(cd "$tools" && pwd):$PATH goreleaser release --config "$config" --snapshot --clean --skip=publish
clean # and nobody has changed it since

program=(dist/plimsoll_linux_amd64*/plimsoll)
image='without an image'
if [ -z "$target" ] && command -v podman >/dev/null; then
  contrib/agents/image/build.sh "localhost/plimsoll:$VERSION" "${program[0]}" >/dev/null
  # The archive that podman itself writes has the time of day in it.
  rm -rf bin/release/oci
  podman save --quiet --format oci-dir --output bin/release/oci "localhost/plimsoll:$VERSION"
  tar --sort=name --mtime="@$EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -C bin/release/oci \
    -cf "dist/plimsoll_${VERSION}_linux_amd64.oci.tar" .
  image='with an image'
fi

# Everything beside these is goreleaser's own notes.
cd dist
find . -mindepth 1 -maxdepth 1 ! -name 'plimsoll[_-]*.*' -exec rm -rf {} +
find . -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
sums=plimsoll_${VERSION}_checksums.txt
sha256sum plimsoll[_-]*.* >"../bin/release/$sums"
mv "../bin/release/$sums" .

# The statement of the build (in-toto, SLSA provenance). Who builds for others signs one of their own over the same
# files, as actions/attest-build-provenance does: this one is not signed, and says so.
{
  printf '{"_type":"https://in-toto.io/Statement/v1","subject":['
  comma=''
  while read -r sum name; do
    printf '%s{"name":"%s","digest":{"sha256":"%s"}}' "$comma" "$name" "$sum"
    comma=,
  done <"$sums"
  printf '],"predicateType":"https://slsa.dev/provenance/v1","predicate":{"buildDefinition":{"buildType":"urn:plimsoll:make-release","externalParameters":{"command":"make release VERSION=%s"},"resolvedDependencies":[{"uri":"git+urn:plimsoll","digest":{"gitCommit":"%s"}},{"uri":"urn:go","name":"%s"}]},"runDetails":{"builder":{"id":"urn:plimsoll:local-and-unsigned"}}}}\n' \
    "$VERSION" "$COMMIT" "$("$GO" env GOVERSION)"
} >"plimsoll_${VERSION}_provenance.intoto.json"
echo "release: $VERSION of commit ${COMMIT:0:12} in dist/, $image"
