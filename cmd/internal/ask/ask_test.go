package ask

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

func noBlack(answer string) error {
	if answer == "black" {
		return errors.New("no black")
	}
	return nil
}

// Answers may be piped: an empty one is the usual one, a wrong one and the end are errors with the
// question.
func TestPipedAnswers(t *testing.T) {
	var out bytes.Buffer
	p := New(strings.NewReader("\n  red \r\nblack\nlast"), &out)
	for _, want := range []string{"blue", "red", "color: no black", "last", "color: the answers end before it"} {
		got, err := p.Line(t.Context(), "color", "blue", noBlack)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, err := p.Secret(t.Context(), "password"); err == nil {
		t.Error("a secret is asked for where no terminal is")
	}
	failure.Says(t, failure.Of(New(strings.NewReader(strings.Repeat("x", mostAnswer+1)), &out).Line(t.Context(), "color", "blue", noBlack)),
		"longer than 4096")
}
