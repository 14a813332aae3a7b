// Package failure holds what tests expect of errors. Only tests import this package.
package failure

import (
	"errors"
	"os"
	"strings"
	"time"
)

// A Test is a *testing.T, *testing.B or *testing.F.
type Test interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Skip(args ...any)
}

// None ends the test unless err is nil.
func None(t Test, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Says fails the test, which goes on, unless err is an error whose text contains all parts.
func Says(t Test, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q in it", err, part)
		}
	}
}

// Is fails the test, which goes on, unless err wraps target.
func Is(t Test, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("error %v, want %v", err, target)
	}
}

// Gone fails the test, which goes on, unless no file is at the path.
func Gone(t Test, path string) {
	t.Helper()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is there (%v)", path, err)
	}
}

// Want is None where the text is empty, and Says where it is not.
func Want(t Test, err error, text string) {
	t.Helper()
	switch {
	case text != "":
		Says(t, err, text)
	case err != nil:
		t.Errorf("error %v, want none", err)
	}
}

// Hides fails the test, which goes on, unless err is an error whose text contains none of the
// secrets.
func Hides(t Test, err error, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error %v, want one without %q", err, secret)
		}
	}
}

// Of returns the error of a call that returns a value as well.
func Of[T any](_ T, err error) error { return err }

// patience bounds the wait of Unless.
const patience = time.Minute

// Unless ends the test with the text unless done reports true within a minute. It calls done again
// and again.
func Unless(t Test, done func() bool, text ...any) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(text...)
		}
	}
}

// Lacks skips a test for which the host lacks something, and ends it under CI, whose hosts lack
// nothing.
func Lacks(t Test, what ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what...)
	}
	t.Skip(what...)
}
