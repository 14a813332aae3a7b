package mixfile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
)

// logLine is a line as nginx writes it.
func logLine(second int, request string) string {
	return fmt.Sprintf(`10.0.0.%d - - [07/May/2026:18:%02d:%02d +0200] "%s" 200 512 "https://chat.example/" "Mozilla/5.0 (X11; \"quoted\")"`+"\n",
		second%250, second/60, second%60, request)
}

func TestReadLog(t *testing.T) {
	t.Parallel()
	text := logLine(0, "POST /api/v4/posts HTTP/2.0") + "\n" +
		logLine(9, "GET /api/v4/users/me HTTP/1.1") +
		"not a request\n" +
		"chat.example:443 " + logLine(10, "POST /api/v4/posts HTTP/1.1") +
		logLine(5, "GET /plugins/calls/17/w6qk1n3bqjgnzptcfzxgo1yhmo?x=1 HTTP/1.1") +
		`10.0.0.1 - - [99/May/2026:18:00:00 +0200] "GET / HTTP/1.1" 200 1` + "\n" +
		`10.0.0.1 - - [07/May/2026:18:00:03 +0200] "\x16\x03\x01" 400 0 "-" "-"` + "\n" +
		logLine(7, "GET /"+strings.Repeat("a", mostLogLine)+" HTTP/1.1") +
		strings.TrimSuffix(logLine(3, "POST /api/v4/posts HTTP/1.0"), "\n")
	want := map[string]float64{"createPost": 3, "getUser": 1, "GET /plugins/calls/{id}/{id}": 1}
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	failure.None(t, failure.Of(io.WriteString(z, text)))
	failure.None(t, z.Close())
	for name, in := range map[string]io.Reader{"plain": strings.NewReader(text), "gzip": bytes.NewReader(zipped.Bytes())} {
		l, err := readLog(t.Context(), in)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, l.calls); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if l.bad != 4 || l.badLine != 4 || l.last.Sub(l.first) != 10*time.Second {
			t.Errorf("%s: %d bad lines, the first %d, over %v; want 4, 4, 10s", name, l.bad, l.badLine, l.last.Sub(l.first))
		}
	}
	if _, err := readLog(t.Context(), bytes.NewReader(zipped.Bytes()[:zipped.Len()-9])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file that is cut off: %v", err)
	}
}

// TestReadLogIsBounded: no log can make many names, and a signal ends the reading.
func TestReadLogIsBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 3 * mostLogKept {
		b.WriteString(logLine(i%3600, fmt.Sprintf("GET /page-%d HTTP/1.1", i)))
	}
	l, err := readLog(t.Context(), strings.NewReader(b.String()))
	failure.None(t, err)
	if len(l.calls) != mostLogKept+1 || l.calls["other paths"] != 2*mostLogKept {
		t.Errorf("%d names, %v of other paths", len(l.calls), l.calls["other paths"])
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := readLog(ctx, strings.NewReader(b.String())); !errors.Is(err, context.Canceled) {
		t.Errorf("after the signal: %v", err)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add([]byte(logLine(1, "POST /api/v4/posts HTTP/1.1")))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := readLog(t.Context(), bytes.NewReader(data))
		if err != nil {
			return
		}
		n := 0.0
		for _, x := range l.calls {
			n += x
		}
		if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) && int(n)+l.bad > bytes.Count(data, []byte("\n"))+1 {
			t.Errorf("%v requests and %d bad lines of %q", n, l.bad, data)
		}
	})
}
