package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/attribution"
	"plimsoll/judge/suspects"
)

// commitMark begins the line of a commit in a log: no line of a patch begins so.
const commitMark = "\x01"

// Search ranks the commits that lie between two revisions and touch what an attribution has found
// or a statement that changed. It always returns a search, with the reason where there is none.
func (r Repository) Search(
	ctx context.Context, base, fresh string,
	of attribution.Attribution, statements []suspects.SuspectStatement,
) suspects.SuspectSearch {
	out := suspects.SuspectSearch{Base: base, New: fresh}
	if len(of.Findings)+len(statements) == 0 {
		out.Withheld = "no function and no statement is known to have changed"
		return out
	}
	commits, err := r.changes(ctx, base, fresh)
	if err != nil {
		out.Withheld = plain.Error(err)
	}
	out.Commits = len(commits)
	out.Suspects = suspects.Rank(of, statements, commits)
	return out
}

// changes returns the commits that are in fresh and not in base, newest first, along the first
// parents, with what they change. An error may come with a part of them.
func (r Repository) changes(ctx context.Context, base, fresh string) ([]suspects.Commit, error) {
	if err := r.Check(ctx); err != nil {
		return nil, err
	}
	from, err := r.Resolve(ctx, base)
	if err != nil {
		return nil, err
	}
	to, err := r.Resolve(ctx, fresh)
	if err != nil {
		return nil, err
	}
	log, err := r.git(ctx, "log", "--first-parent", "-m", "--patch", "--unified=0", "--no-color",
		"--no-ext-diff", "--no-textconv", "--no-renames", "--no-notes", "--no-decorate",
		"--src-prefix=a/", "--dst-prefix=b/",
		"--format="+commitMark+"%H %s", from+".."+to)
	if err != nil && !errors.Is(err, errLong) {
		return nil, err
	}
	commits := parseLog(log)
	if err != nil && len(commits) > 0 {
		commits = commits[:len(commits)-1] // may be half
		err = fmt.Errorf("only the last %d commits before %s were searched: %w",
			len(commits), fresh, err)
	}
	return commits, err
}

// parseLog reads the patches of a log.
func parseLog(log []byte) []suspects.Commit {
	var commits []suspects.Commit
	var file string
	var hunk *suspects.Hunk
	removed, added := 0, 0 // lines that are left of the hunk
	for raw := range bytes.Lines(log) {
		line := strings.TrimSuffix(string(raw), "\n")
		switch {
		case (removed > 0 || added > 0) && strings.HasPrefix(line, "-"):
			removed--
			hunk.Removed = append(hunk.Removed, line[1:])
		case (removed > 0 || added > 0) && strings.HasPrefix(line, "+"):
			added--
			hunk.Added = append(hunk.Added, line[1:])
		case strings.HasPrefix(line, commitMark):
			id, title, _ := strings.Cut(line[len(commitMark):], " ")
			commits = append(commits, suspects.Commit{ID: id, Title: plain.Text(title)})
			file, removed, added = "", 0, 0
		case strings.HasPrefix(line, "diff --git "):
			file, removed, added = "", 0, 0
		case strings.HasPrefix(line, "--- a/"), strings.HasPrefix(line, "+++ b/"):
			file = strings.TrimSuffix(line[len("--- a/"):], "\t") // behind a name with a space
		case strings.HasPrefix(line, "@@ ") && file != "" && len(commits) > 0:
			c := &commits[len(commits)-1]
			var context string
			removed, added, context = hunkHead(line)
			c.Hunks = append(c.Hunks, suspects.Hunk{File: file, Context: context})
			hunk = &c.Hunks[len(c.Hunks)-1]
		}
	}
	return commits
}

// hunkHead reads a line such as "@@ -12,3 +14 @@ func f() {".
func hunkHead(line string) (removed, added int, context string) {
	head, context, _ := strings.Cut(line[len("@@ "):], " @@")
	before, after, _ := strings.Cut(head, " ")
	return count(before), count(after), strings.TrimPrefix(context, " ")
}

// count returns the number of lines in "-12,3": one where it is not written.
func count(text string) (n int) {
	_, length, ok := strings.Cut(text, ",")
	if !ok {
		return 1
	}
	if _, err := fmt.Sscanf(length, "%d", &n); err != nil || n < 0 {
		return 0
	}
	return n
}
