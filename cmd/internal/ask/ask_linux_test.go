package ask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/failure"
)

// pty returns both ends of a new terminal: what a person types and sees, and the program's.
func pty(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { person.Close() })
	failure.None(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	failure.None(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	failure.None(t, err)
	t.Cleanup(func() { program.Close() })
	return person, program
}

func echoes(t *testing.T, f *os.File) bool {
	t.Helper()
	now, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	failure.None(t, err)
	return now.Lflag&unix.ECHO != 0
}

// prompt is a writer that sends the first text that it gets.
type prompt chan string

func (p prompt) Write(b []byte) (int, error) {
	select {
	case p <- string(b):
	default:
	}
	return len(b), nil
}

// A secret is not shown while it is typed, and the terminal echoes again after it.
func TestSecretIsNotShown(t *testing.T) {
	person, program := pty(t)
	asked := make(prompt, 1)
	go func() {
		<-asked // the echo is off now
		if _, err := person.WriteString("hush hush\n"); err != nil {
			t.Error(err)
		}
	}()
	p := New(program, asked)
	if !p.There() {
		t.Fatal("a terminal is taken for a pipe")
	}
	got, err := p.Secret(t.Context(), "password")
	if err != nil || got != "hush hush" {
		t.Errorf("%q, %v", got, err)
	}
	if !echoes(t, program) {
		t.Error("the terminal does not echo any more")
	}
	// The echo of this line is the first that the person sees.
	failure.None(t, failure.Of(person.WriteString("seen\n")))
	buf := make([]byte, 100)
	n, err := person.Read(buf)
	if err != nil || !strings.HasPrefix(string(buf[:n]), "seen") {
		t.Errorf("the terminal shows %q, %v", buf[:n], err)
	}
}

// Ctrl-C, which ends the context, ends a question, and the terminal echoes again.
func TestEndedQuestion(t *testing.T) {
	_, program := pty(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := make(prompt, 1)
	go func() {
		<-asked
		cancel(errors.New("ended by a person"))
	}()
	if _, err := New(program, asked).Secret(ctx, "password"); err == nil ||
		err.Error() != "ended by a person" {
		t.Error(err)
	}
	if !echoes(t, program) {
		t.Error("the terminal does not echo any more")
	}
}

// A person at a terminal is asked again.
func TestAskedAgain(t *testing.T) {
	person, program := pty(t)
	failure.None(t, failure.Of(person.WriteString("black\nred\n")))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	got, err := New(program, &out).Line(ctx, "color", "blue", noBlack)
	if err != nil || got != "red" || strings.Count(out.String(), "color [blue]") != 2 ||
		!strings.Contains(out.String(), "no black") {
		t.Errorf("%q, %v\n%s", got, err, &out)
	}
}
