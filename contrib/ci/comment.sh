#!/usr/bin/env bash
# comment.sh writes $REPORT/comment.md as the one comment of this check on a pull request of GitHub or a merge request of
# GitLab: it updates the comment of an earlier run. It runs in a job that has a token and runs no code of the change.
# The report was made by a job that ran such code, so every byte of it is untrusted: only a regular file of at most
# 1 MiB is read, and nothing in it mentions, refers, links, embeds, or commands (GitLab carries out lines that begin
# with a slash). Its environment:
#
#   REPORT        the directory of the report
#   KEY           names the check; two checks of one repository have two comments
#   TOKEN         may write comments
#   LINK          the address of the job that measured
#   On GitHub     GITHUB_API_URL, GITHUB_REPOSITORY, AUTHOR (whom the token comments as), and NUMBER of the pull request,
#                 or HEAD_OWNER, HEAD_BRANCH and HEAD_SHA, by which its open pull request is found
#   On GitLab     GITLAB_CI, CI_API_V4_URL, CI_PROJECT_ID, CI_MERGE_REQUEST_IID
set -euo pipefail
export LC_ALL=C

readonly most_file=1048576 most_bytes=60000 most_pages=50 most_wait=120
fail() {
  echo "comment.sh: $*" >&2
  exit 1
}

[[ ${KEY:-plimsoll} =~ ^[A-Za-z0-9._-]{1,40}$ ]] || fail "key is ${KEY@Q}: want at most 40 letters, digits, points, - or _"
marker="<!-- plimsoll check ${KEY:-plimsoll} -->"
[ -n "${TOKEN:-}" ] || fail "there is no token"
file=$REPORT/comment.md
if [ -L "$REPORT" ] || [ -L "$file" ]; then
  fail "$file is a link: want a file"
elif [ ! -f "$file" ]; then
  echo "comment.sh: there is no $file: the job that measures ended before its report; nothing is posted"
  exit 0
elif [ "$(stat -c %s "$file")" -gt $most_file ]; then
  fail "$file is larger than $most_file bytes"
fi

# inert writes Markdown so that a forge shows its words and tables and does nothing else. What the report writes passes
# without a change that could be seen: a zero-width space ($z) breaks what a forge would act on.
z=$'\xe2\x80\x8b'
inert() {
  tr -d '\000-\010\013-\037\177' | sed -E \
    -e '1{/^<!-- plimsoll [A-Za-z0-9._]* -->$/d;}' \
    -e $'s/\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]//g' \
    -e 's/\\?&(lt;|gt;|amp;)/\x01\1/g' -e 's/\\?&/\&amp;/g' -e 's/\x01/\&/g' \
    -e 's/<span>\$<\/span>/\x02/g' -e 's/\\?</\&lt;/g' -e 's/\x02/<span>$<\/span>/g' \
    -e "s/@($z)*/@$z/g" \
    -e "s/(#|!|~|%|&amp;)([[:alnum:]_\"])/\\1$z\\2/g" -e "s/\\\$([0-9])/\$$z\\1/g" \
    -e "s/([Gg][Hh])-([0-9])/\\1$z-\\2/g" \
    -e "s/:(\\\\*\\/)/:$z\\1/g" -e "s/([Ww][Ww][Ww])(\\\\*\\.)/\\1$z\\2/g" \
    -e "s/\\](\\(|:|\\[)/]${z}\\1/g" -e "s/\\[(\\[)/[${z}\\1/g" \
    -e "s/\`\`\`/\`$z\`$z\`/g" -e "s/~~~/~$z~$z~/g" \
    -e "s/^([[:space:]]*)\\/([[:alnum:]_])/\\1$z\\/\\2/"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  printf '%s\n' "$marker"
  [ -z "${LINK:-}" ] || printf '<sub>From [this job](%s), which ran the code of this change.</sub>\n\n' "$LINK"
  inert <"$file" | awk -v most=$most_bytes '{ n += length($0) + 1 }
    n <= most { print }
    n > most && !cut++ { print "\n(cut here: the artifact of the job has the whole report)" }'
} >"$work/text"
jq -Rs '{body: .}' <"$work/text" >"$work/post"

# request METHOD URL [FILE] leaves the answer in $work/answer. A rate limit is waited for, up to $most_wait seconds a
# time; a server that fails is asked again unless that could post twice.
request() {
  local try wait code
  for try in 1 2 3 4; do
    code=$(printf 'header = "%s"\n' "$authorization" | curl --config - -sS --proto =https --max-time 30 -X "$1" \
      -H 'Content-Type: application/json' ${3:+--data-binary "@$3"} -o "$work/answer" -D "$work/head" -w '%{http_code}' "$2") || code=000
    wait=
    case $code in
      2??) return 0 ;;
      403 | 429) wait=$(limited) ;;
      000 | 5??) [ "$1" = POST ] || wait=$try ;;
    esac
    if [ -z "$wait" ] || [ "$wait" -gt $most_wait ] || [ "$try" = 4 ]; then
      break
    fi
    echo "comment.sh: $1 answered $code; asking again in $wait s" >&2
    sleep "$wait"
  done
  case $code in
    401 | 403 | 404) [ -n "$wait" ] || fail "$1 answered $code: the token may not do this. The job needs the permission pull-requests: write (GitLab: a token with the scope api); the token of a pull request from a fork never has it: see workflow_run in docs/ci.md" ;;
    422) fail "$1 answered 422: $(jq -r '.message // empty' "$work/answer" 2>/dev/null | head -c 300 | tr -cd '[:print:]')" ;;
  esac
  [ -z "$wait" ] || fail "$1 answered $code, and asks to wait $wait s: run this job again then"
  fail "$1 answered $code"
}

# limited prints for how many seconds an answer with a rate limit asks, and nothing for any other answer.
limited() {
  awk -v now="$(date +%s)" '
    { sub(/\r$/, ""); colon = index($0, ":"); name = tolower(substr($0, 1, colon - 1)); value = substr($0, colon + 1) + 0 }
    name == "retry-after" { after = value; is = 1 }
    name ~ /ratelimit-remaining$/ && value == 0 { none = 1 }
    name ~ /ratelimit-reset$/ { reset = value }
    END {
      if (is) print after
      else if (none) print (reset > now ? reset - now + 1 : 1)
    }' "$work/head"
}

if [ -n "${GITLAB_CI:-}" ]; then
  authorization="PRIVATE-TOKEN: $TOKEN"
  comments=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
  own=$comments
  update=PUT
  request GET "$CI_API_V4_URL/user"
  AUTHOR=$(jq -r .username "$work/answer")
else
  authorization="Authorization: Bearer $TOKEN"
  api=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY
  if [ -z "${NUMBER:-}" ]; then
    head=$(jq -rn --arg h "$HEAD_OWNER:$HEAD_BRANCH" '$h | @uri')
    request GET "$api/pulls?state=open&per_page=100&head=$head"
    NUMBER=$(jq -r --arg sha "$HEAD_SHA" '[.[] | select(.head.sha == $sha)][0].number // empty' "$work/answer")
  fi
  if [ -z "$NUMBER" ]; then
    echo "comment.sh: no open pull request has $HEAD_SHA as its head: there was another push, or it is closed; nothing is posted"
    exit 0
  fi
  [[ $NUMBER =~ ^[0-9]+$ ]] || fail "the number of the pull request is ${NUMBER@Q}"
  comments=$api/issues/$NUMBER/comments
  own=$api/issues/comments
  update=PATCH
fi

# Only a comment of this token's own user counts: others may write the marker, too.
id=
for ((page = 1; page <= most_pages; page++)); do
  request GET "$comments?per_page=100&page=$page"
  id=$(jq -r --arg marker "$marker" --arg author "$AUTHOR" \
    '[.[] | select((.user // .author | .login // .username) == $author and (.body // "" | startswith($marker)))][0].id // empty' "$work/answer")
  if [ -n "$id" ] || [ "$(jq length "$work/answer")" -lt 100 ]; then
    break
  fi
done
if [ -n "$id" ]; then
  request $update "$own/$id" "$work/post"
  echo "comment.sh: updated comment $id"
else
  request POST "$comments" "$work/post"
  echo "comment.sh: posted comment $(jq -r .id "$work/answer")"
fi
