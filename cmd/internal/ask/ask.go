// Package ask asks a person: on a terminal, or by answers that are piped, one a line. It knows no
// question.
package ask

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/plain"
)

// patience is the longest time without an answer.
const patience = 10 * time.Minute

// mostAnswer is the longest answer, in bytes.
const mostAnswer = 4096

// A Person answers. The zero value is not ready; see [New].
type Person struct {
	in       *bufio.Reader
	terminal *os.File // nil: the answers are piped
	out      io.Writer
}

// New returns who answers on in, and reads the questions on out.
func New(in io.Reader, out io.Writer) *Person {
	p := &Person{in: bufio.NewReaderSize(in, mostAnswer), out: out}
	if f, ok := in.(*os.File); ok {
		if _, err := unix.IoctlGetTermios(int(f.Fd()), getTermios); err == nil {
			p.terminal = f
		}
	}
	return p
}

// There reports whether a person is at a terminal, who can be asked again.
func (p *Person) There() bool { return p.terminal != nil }

// Line asks a question until check accepts its answer; an empty one is the usual one. On a pipe the
// first wrong answer is an error, and so is its end.
func (p *Person) Line(
	ctx context.Context,
	question, usual string,
	check func(answer string) error,
) (string, error) {
	for {
		plain.Fprintf(p.out, "%s [%s] ", question, usual)
		answer, err := p.read(ctx)
		if !p.There() {
			plain.Fprintf(p.out, "\n") // and not the answer: nobody typed it here
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", question, err)
		}
		answer = cmp.Or(strings.TrimSpace(answer), usual)
		if err = check(answer); err == nil {
			return answer, nil
		}
		if !p.There() {
			return "", fmt.Errorf("%s: %w", question, err)
		}
		plain.Fprintf(p.out, "  %s\n", err)
	}
}

// Secret asks for a text that the terminal does not show.
func (p *Person) Secret(ctx context.Context, question string) (string, error) {
	if !p.There() {
		return "", errors.New("there is no terminal to ask on")
	}
	fd := int(p.terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		silent := *before
		silent.Lflag &^= unix.ECHO
		err = unix.IoctlSetTermios(fd, setTermios, &silent)
	}
	if err != nil {
		return "", fmt.Errorf("switching the terminal's echo off: %w", err)
	}
	plain.Fprintf(p.out, "%s: ", question)
	answer, err := p.read(ctx)
	plain.Fprintf(p.out, "\n")
	if back := unix.IoctlSetTermios(fd, setTermios, before); back != nil {
		err = errors.Join(
			err,
			fmt.Errorf("switching the terminal's echo on again (stty echo does it): %w", back),
		)
	}
	return answer, err
}

// read returns the next line without its end. A person who does not answer is left behind: the
// process ends then.
func (p *Person) read(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(
		ctx,
		patience,
		fmt.Errorf("no answer within %v", patience),
	)
	defer cancel()
	type read struct {
		line []byte
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := p.in.ReadSlice('\n')
		got <- read{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case r := <-got:
		switch {
		case errors.Is(r.err, bufio.ErrBufferFull):
			return "", fmt.Errorf("the answer is longer than %d bytes", mostAnswer)
		case errors.Is(r.err, io.EOF) && len(r.line) == 0:
			return "", errors.New("the answers end before it")
		case r.err != nil && !errors.Is(r.err, io.EOF):
			return "", r.err
		}
		return strings.TrimRight(string(r.line), "\r\n"), nil
	}
}
