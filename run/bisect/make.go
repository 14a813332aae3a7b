package bisect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/source"
	"plimsoll/target/lab"
)

// The words of a command that stand for something else.
const (
	CommitWord  = "{commit}"  // the commit's name
	DirWord     = "{dir}"     // an empty directory, for a release
	ProgramWord = "{program}" // a file that does not exist yet, for a single program
	SourceWord  = "{source}"  // a work tree of the commit
)

// A BuildMaker makes builds of commits by a command, and keeps them below the root of a store.
type BuildMaker struct {
	Command    []string
	Repository source.Repository // of {source}
	Root       string
	Limit      time.Duration // of one build
	CPUs       []int         // that it may use; nil for those of this process
	Secrets    *plain.Secrets
}

// SplitCommand returns the words of a command. They are separated by spaces, and no shell reads
// them. The error is a [plan.UsageError].
func SplitCommand(text string) ([]string, error) {
	words := strings.Fields(text)
	has := func(word string) bool { return strings.Contains(text, word) }
	switch {
	case len(words) == 0:
		return nil, plan.Usagef("-build is missing; want a command such as './build %s %s'",
			CommitWord, DirWord)
	case !has(CommitWord) && !has(SourceWord):
		return nil, plan.Usagef("-build %q: every commit would give the same build; want %s or %s in it",
			text, CommitWord, SourceWord)
	case has(DirWord) == has(ProgramWord):
		return nil, plan.Usagef("-build %q: want either %s, for the directory of a release, or %s, for a "+
			"single program", text, DirWord, ProgramWord)
	}
	return words, nil
}

// Make returns the build of a commit, which an earlier call may have made: what {dir} or {program}
// stands for. An error that wraps [ErrMake] is one of the command; its output is in the file of the
// error.
func (m *BuildMaker) Make(ctx context.Context, b Build) (binary string, err error) {
	key := record.DigestOf([]byte(strings.Join(append(slices.Clone(m.Command), b.Name), "\x00")))
	root, err := filepath.Abs(filepath.Join(m.Root, "builds", strings.TrimPrefix(key, "sha256:")[:20]))
	if err != nil {
		return "", err
	}
	dir, whole := filepath.Join(root, "out"), filepath.Join(root, "made")
	binary = dir
	if strings.Contains(strings.Join(m.Command, " "), ProgramWord) {
		binary = filepath.Join(dir, "server")
	}
	if _, err := os.Stat(whole); err == nil {
		return binary, nil
	}
	// What a build that was cut has left may be anything.
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return "", err
	}
	if err := m.run(ctx, b.Name, root, dir, binary); err != nil {
		return "", err
	}
	found, err := os.Stat(binary)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: the command left no %s", ErrMake, ProgramWord)
	case !found.IsDir() && found.Mode()&0o111 == 0:
		return "", fmt.Errorf("%w: the command's %s is not executable", ErrMake, ProgramWord)
	}
	if some, err := os.ReadDir(dir); err != nil || len(some) == 0 {
		return "", errors.Join(fmt.Errorf("%w: the command left an empty %s", ErrMake, DirWord), err)
	}
	return binary, files.ReplaceMode(whole, []byte(b.Name+"\n"), 0o600)
}

// run runs the command, and keeps its output beside the build.
func (m *BuildMaker) run(ctx context.Context, commit, root, dir, binary string) (err error) {
	tree := filepath.Join(root, "source")
	if strings.Contains(strings.Join(m.Command, " "), SourceWord) {
		if err := os.RemoveAll(tree); err != nil {
			return err
		}
		remove, err := m.Repository.CheckOut(ctx, commit, tree)
		if err != nil {
			return err
		}
		defer remove()
	}
	words := strings.NewReplacer(CommitWord, commit, DirWord, dir, ProgramWord, binary, SourceWord, tree)
	c := lab.GivenCommand{
		Name:    "build command",
		Limit:   m.Limit,
		Key:     "-build-limit",
		CPUs:    m.CPUs,
		Secrets: m.Secrets,
	}
	for _, word := range m.Command {
		c.Argv = append(c.Argv, words.Replace(word))
	}
	path := filepath.Join(root, "build.log")
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	bounded := &most{log, mostLog}
	c.Log = bounded
	if _, err := c.Run(ctx); err != nil {
		return fmt.Errorf("%w: %w (all of its output: %s)", ErrMake, err, path)
	}
	return nil
}

// mostLog bounds the kept output of a build, in bytes.
const mostLog = 16 << 20

// most writes so many bytes and drops the rest.
type most struct {
	*os.File
	left int
}

// Write implements io.Writer.
func (m *most) Write(p []byte) (int, error) {
	n := min(len(p), m.left)
	m.left -= n
	if _, err := m.File.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
