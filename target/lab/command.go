package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/plain"
)

// lastLines is how many lines of a command's output an error quotes.
const lastLines = 20

// lastBytes is how much of an unfinished line is kept: a command may never end one.
const lastBytes = 64 << 10

// A GivenCommand is a program that a person has given to be run, without a shell. It gets this
// program's environment, without the variables that this program has for itself (PLIMSOLL_...) and
// without secrets that are known, and an empty standard input.
type GivenCommand struct {
	Name  string // in errors
	Argv  []string
	Env   []string // KEY=value, behind the environment
	Dir   string   // working directory; empty means this program's own
	CPUs  []int    // as in a [Spec]
	Limit time.Duration
	Key   string // what sets the limit, for errors
	// Log gets what the command writes, without secrets.
	Log     io.Writer
	Secrets *plain.Secrets
}

// Run carries out the command and returns how long it took. The error has the end of its output;
// neither has a secret.
func (c GivenCommand) Run(ctx context.Context) (took time.Duration, err error) {
	tail := new(lineTail)
	out := plain.NewLineWriter(io.MultiWriter(c.Log, tail), c.Secrets)
	began := time.Now()
	within, cancel := context.WithTimeoutCause(
		ctx,
		c.Limit,
		fmt.Errorf("not done within %v (%s)", c.Limit, c.Key),
	)
	defer cancel()
	err = Run(within, Spec{
		Name:   c.Name,
		Path:   c.Argv[0],
		Args:   c.Argv[1:],
		Env:    c.environment(),
		Dir:    c.Dir,
		CPUs:   c.CPUs,
		Stdout: out,
		Stderr: out,
	})
	_ = out.Flush() // to memory, or a log whose error the caller sees
	took = time.Since(began).Round(time.Millisecond)
	if err != nil {
		return took, fmt.Errorf("%s%w", c.Secrets.Redact(err.Error()), plain.Output(tail.String()))
	}
	return took, nil
}

func (c GivenCommand) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		_, value, _ := strings.Cut(kv, "=")
		return strings.HasPrefix(kv, "PLIMSOLL_") || c.Secrets.Redact(value) == plain.Redacted
	})
	return append(env, c.Env...)
}

// A lineTail keeps the last lines that are written to it.
type lineTail struct {
	lines []string
	rest  string
}

// Write implements io.Writer.
func (t *lineTail) Write(p []byte) (int, error) {
	lines := strings.Split(t.rest+string(p), "\n")
	t.rest = lines[len(lines)-1]
	t.rest = t.rest[max(0, len(t.rest)-lastBytes):]
	t.lines = append(t.lines, lines[:len(lines)-1]...)
	t.lines = slices.Delete(t.lines, 0, max(0, len(t.lines)-lastLines))
	return len(p), nil
}

// String returns the kept lines.
func (t *lineTail) String() string {
	lines := t.lines
	if t.rest != "" {
		lines = append(slices.Clone(lines), t.rest)
	}
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}
