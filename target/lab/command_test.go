package lab

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

// A command that never ends its line, such as one that draws its progress, fills no memory.
func TestTailOfALineWithoutAnEnd(t *testing.T) {
	tail := new(lineTail)
	part := strings.Repeat("x", 60<<10)
	for range 20 {
		failure.None(t, failure.Of(tail.Write([]byte(part))))
	}
	failure.None(t, failure.Of(tail.Write([]byte(" failed"))))
	if got := tail.String(); len(got) > lastBytes || !strings.HasSuffix(got, "xx failed") {
		t.Errorf("%d bytes are kept, which end in %q", len(got), got[len(got)-9:])
	}
}
