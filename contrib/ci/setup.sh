#!/usr/bin/env bash
# setup.sh checks the inputs of a comparison and provides the program. It prints what is wrong with all of them, and
# ends with status 2 before anything is built. Its environment:
#
#   BUILD, RESULT, PLAN, MINUTES, FAIL_ON   the inputs of action.yml
#   WORK                                    a directory of this job, which is made
#   PLIMSOLL                                the program; empty: RELEASE is downloaded
#   RELEASE, RELEASES, CHECKSUM             v1.2.0, the address below which releases lie, and the SHA-256 of the
#                                           archive (optional: else that of the release's own list)
set -euo pipefail

bad=()
[ -n "${BUILD:-}" ] || bad+=("build is empty: want the command that builds the server")
[ -n "${RESULT:-}${PLAN:-}" ] || bad+=("give result (what the build leaves: a release directory or a binary) or plan")
[[ ${MINUTES:-} =~ ^[0-9]*$ ]] || bad+=("minutes is ${MINUTES@Q}: want a whole number")
read -ra words <<<"${FAIL_ON//,/ }"
for word in "${words[@]}"; do
  case $word in
    worse | inconclusive | invalid | rule | none) ;;
    *) bad+=("fail-on is ${word@Q}: want worse, inconclusive, invalid, rule or none") ;;
  esac
done
if [ -n "${PLIMSOLL:-}" ]; then
  command -v "$PLIMSOLL" >/dev/null || bad+=("plimsoll is ${PLIMSOLL@Q}: there is no such program")
else
  [[ ${RELEASE:-} =~ ^v[0-9]+\.[0-9]+\.[0-9]+ ]] || bad+=("release is ${RELEASE@Q}: want one such as v1.2.0, or plimsoll with the path of the program")
  [ -n "${RELEASES:-}" ] || bad+=("the address of the releases is empty")
fi
case $(uname -sm) in
  "Linux x86_64") platform=linux_amd64 ;;
  "Linux aarch64") platform=linux_arm64 ;;
  *) bad+=("this runner is $(uname -sm): comparisons run on Linux, x86_64 or aarch64") ;;
esac
if [ ${#bad[@]} -gt 0 ]; then
  printf 'setup.sh: %s\n' "${bad[@]}" >&2
  exit 2
fi

mkdir -p "$WORK"
if [ -z "${PLIMSOLL:-}" ]; then
  archive=plimsoll_${RELEASE#v}_$platform.tar.gz
  get() { curl -fsSL --proto =https --retry 3 --max-time 300 -o "$WORK/$1" "$RELEASES/$RELEASE/$1"; }
  get "$archive"
  if [ -z "${CHECKSUM:-}" ]; then
    sums=plimsoll_${RELEASE#v}_checksums.txt
    get "$sums"
    CHECKSUM=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$WORK/$sums")
  fi
  if ! (cd "$WORK" && sha256sum --check --status - <<<"$CHECKSUM  $archive"); then
    echo "setup.sh: $archive does not have the SHA-256 ${CHECKSUM:-of a line in the checksums of the release}" >&2
    exit 1
  fi
  mkdir -p "$WORK/tool"
  tar -xzf "$WORK/$archive" -C "$WORK/tool"
  PLIMSOLL=$(find "$WORK/tool" -name plimsoll -type f -perm -u+x | head -n 1)
fi
command -v "$PLIMSOLL" >"$WORK/plimsoll"
"$PLIMSOLL" version
