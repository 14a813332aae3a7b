package deploy

import (
	"bytes"
	"strings"
	"testing"
)

func TestExcerptOfALongOutput(t *testing.T) {
	e := new(excerpt)
	for range 3 {
		if _, err := e.Write(bytes.Repeat([]byte("x"), mostOutput/2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.Write([]byte("the end")); err != nil {
		t.Fatal(err)
	}
	got := string(e.bytes())
	if len(got) > mostOutput+100 || !strings.HasSuffix(got, "the end") ||
		!strings.Contains(got, "# 2097159 bytes are left out here") {
		t.Errorf("%d bytes, which end %q", len(got), got[len(got)-20:])
	}
}
