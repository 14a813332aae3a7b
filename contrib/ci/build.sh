#!/usr/bin/env bash
# build.sh builds the base and the head of a change, each in a work tree of its own: $WORK/base and $WORK/head. Both are
# built in every job: no number and no binary of an earlier one is used. Its environment:
#
#   BUILD   the command, run by bash in the root of each work tree; PLIMSOLL_ARM is base or head there
#   RESULT  what it leaves, relative to that root; may be empty
#   BASE    the revision of the base; empty: the first parent of HEAD, which is the target branch where HEAD is the
#           merge of a pull request, and the commit before where it is a commit
#   WORK    the directory of this job
set -euo pipefail

revision() {
  git rev-parse --verify --quiet "$1^{commit}" && return
  echo "build.sh: $1 is not in this clone: check out with fetch-depth: 2, or fetch the revision that base names" >&2
  exit 2
}
head=$(revision HEAD)
base=$(revision "${BASE:-HEAD^1}")
if [ "$head" = "$base" ]; then
  echo "build.sh: base and head are the same commit, $head: there is nothing to compare" >&2
  exit 2
fi

build() { # ARM REVISION
  echo "== $1: $2"
  rm -rf "${WORK:?}/$1" # of an earlier job on this runner
  git worktree prune
  git worktree add --quiet --detach "$WORK/$1" "$2"
  (cd "$WORK/$1" && PLIMSOLL_ARM=$1 bash -euo pipefail -c "$BUILD") || {
    echo "build.sh: the build of $1 ($2) failed: ${BUILD@Q}" >&2
    exit 1
  }
  if [ -n "${RESULT:-}" ] && [ ! -e "$WORK/$1/$RESULT" ]; then
    echo "build.sh: the build of $1 ($2) left no ${RESULT@Q}" >&2
    exit 1
  fi
}
build base "$base"
build head "$head"
