package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
	"plimsoll/target/lab"
)

const (
	// answerTime bounds a call of git: a log of a year's changes of a large server takes seconds.
	answerTime = 2 * time.Minute
	// mostAnswer bounds what is read of an answer, in bytes.
	mostAnswer = 64 << 20
)

// errLong reports an answer of which the rest is not read.
var errLong = fmt.Errorf("the answer is longer than %d MiB", mostAnswer>>20)

// A Repository is a git repository, or a directory in its work tree. It is only read, and nothing
// is fetched for it, also where it is a partial clone.
type Repository struct {
	Dir     string
	Secrets *plain.Secrets // not shown in errors; nil for none
}

// git returns the answer of a command, at most [mostAnswer] bytes of it with [errLong].
func (r Repository) git(ctx context.Context, args ...string) ([]byte, error) {
	var answer, trouble bounded
	answer.most, trouble.most = mostAnswer, 4<<10
	all := append([]string{
		"-C", r.Dir, "-c", "protocol.allow=never", "-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=/dev/null",
		"-c", "core.quotePath=false", "-c", "log.showSignature=false",
		"-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false",
	}, args...)
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("no answer within %v", answerTime))
	defer cancel()
	err := lab.Run(ctx, lab.Spec{
		Name:   "git " + args[0],
		Path:   "git",
		Args:   all,
		Env:    environment(),
		Stdout: &answer,
		Stderr: &trouble,
	})
	if err != nil {
		text := strings.TrimSpace(trouble.String())
		return nil, fmt.Errorf("%s%w", r.Secrets.Redact(err.Error()), plain.Output(r.Secrets.Redact(text)))
	}
	if answer.over {
		return answer.Bytes(), errLong
	}
	return answer.Bytes(), nil
}

// environment is this program's, without variables that lead git to another repository.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "GIT_")
	})
}

// A bounded buffer leaves out what does not fit.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.most-b.Len())
	b.over = b.over || n < len(p)
	b.Buffer.Write(p[:n])
	return len(p), nil
}

// line returns an answer of one line.
func (r Repository) line(ctx context.Context, args ...string) (string, error) {
	answer, err := r.git(ctx, args...)
	return strings.TrimSpace(string(answer)), err
}

// Check returns the reason why the repository cannot be read as a whole: no git, no repository, or
// a shallow clone.
func (r Repository) Check(ctx context.Context) error {
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("git is not installed here; install it, such as by apt-get install git")
	}
	shallow, err := r.line(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return fmt.Errorf("%s is no git repository that can be read: %w", r.Dir, err)
	}
	if shallow == "true" {
		return fmt.Errorf("%s is a shallow clone, without the history; git fetch --unshallow adds it",
			r.Dir)
	}
	return nil
}

// Resolve returns the commit of a revision. The error is a [plan.UsageError].
func (r Repository) Resolve(ctx context.Context, revision string) (commit string, err error) {
	if revision == "" || strings.HasPrefix(revision, "-") {
		return "", plan.Usagef("%q is no revision; want a tag, branch or commit", revision)
	}
	commit, err = r.line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options",
		revision+"^{commit}")
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "", plan.Usagef("%s has no revision %s; git fetch --tags may bring it", r.Dir, revision)
	}
	return commit, nil
}

// Range returns the commits from good to bad, both included, oldest first, without their hunks: along the first parents,
// or with merged also those of merged branches, each after its parents.
func (r Repository) Range(ctx context.Context, good, bad string, merged bool) ([]suspects.Commit, error) {
	from, err := r.Resolve(ctx, good)
	if err != nil {
		return nil, err
	}
	to, err := r.Resolve(ctx, bad)
	if err != nil {
		return nil, err
	}
	base, err := r.line(ctx, "merge-base", from, to)
	if err != nil || base != from || from == to {
		return nil, plan.Usagef("%s is not an ancestor of %s; want an earlier commit of the same "+
			"line, such as %.12s, where both branched", good, bad, base)
	}
	args := []string{"log", "--reverse", "--topo-order", "--format=%H %s"}
	if !merged {
		args = append(args, "--first-parent")
	}
	answer, err := r.git(ctx, append(args, from+".."+to)...)
	if err != nil {
		return nil, err
	}
	title, err := r.line(ctx, "log", "-1", "--format=%s", from)
	if err != nil {
		return nil, err
	}
	commits := []suspects.Commit{{ID: from, Title: title}}
	for line := range strings.Lines(string(answer)) {
		id, title, _ := strings.Cut(strings.TrimSpace(line), " ")
		commits = append(commits, suspects.Commit{ID: id, Title: plain.Text(title)})
	}
	return commits, nil
}

// CheckOut puts the files of a commit into a directory that does not exist yet, as a work tree of
// the repository; remove takes it away again.
func (r Repository) CheckOut(ctx context.Context, commit, dir string) (remove func(), err error) {
	if _, err := r.git(ctx, "worktree", "add", "--quiet", "--detach", "--force", dir, commit); err != nil {
		return nil, err
	}
	return func() {
		_, _ = r.git(context.WithoutCancel(ctx), "worktree", "remove", "--force", dir)
	}, nil
}
