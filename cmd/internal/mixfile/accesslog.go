package mixfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/internal/files"
	"plimsoll/plan"
)

// Bounds of what is kept of a log, whatever its size.
const (
	mostLogLine = 64 << 10 // bytes; the rest of a line that is longer is passed over
	mostLogKept = 1_000    // paths without an action that are kept apart
)

// combined is a line of a log in the common or the combined format of nginx and Apache. Whatever
// stands before the date, a virtual host or a forwarded address, is not looked at.
var combined = regexp.MustCompile(`\[(\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4})\] "([A-Z]+) (\S+)(?: [^"]*)?" \d{3} `)

// idSegment is a segment of a path that is a value and no name.
var idSegment = regexp.MustCompile(`^(?:\d+|[0-9a-fA-F-]{8,}|[0-9a-z]{26}|.{41,})$`)

// A logged is the count of a log's requests.
type logged struct {
	calls       map[string]float64 // by handler, or by method and path where there is none
	first, last time.Time
	bad         int // lines that are no requests
	badLine     int // the first of them
}

// readLog counts the requests of a log, which may be compressed by gzip.
func readLog(ctx context.Context, r io.Reader) (*logged, error) {
	in := bufio.NewReaderSize(r, mostLogLine)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, err
		}
		in = bufio.NewReaderSize(z, mostLogLine)
	}
	l := &logged{calls: map[string]float64{}}
	for n := 1; ; n++ {
		line, more, err := in.ReadLine()
		cut := more
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
		if err == io.EOF {
			return l, nil
		}
		if err == nil && n%1000 == 0 {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(line)) > 0 && (cut || !l.count(line)) {
			if l.bad++; l.badLine == 0 {
				l.badLine = n
			}
		}
	}
}

// count counts a line, and reports whether it is a request.
func (l *logged) count(line []byte) bool {
	m := combined.FindSubmatch(line)
	if m == nil {
		return false
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", string(m[1]))
	if err != nil {
		return false
	}
	if l.first.IsZero() || at.Before(l.first) {
		l.first = at
	}
	if at.After(l.last) {
		l.last = at
	}
	method, path := string(m[2]), string(m[3])
	name := mattermost.HandlerOf(method, path)
	if name == "" {
		name = method + " " + withoutIDs(path)
		if _, known := l.calls[name]; !known && len(l.calls) >= mostLogKept {
			name = "other paths"
		}
	}
	l.calls[name]++
	return true
}

// withoutIDs returns a path with {id} for each value in it, and without its query.
func withoutIDs(path string) string {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if idSegment.MatchString(s) {
			segments[i] = "{id}"
		}
	}
	return strings.Join(segments[:min(len(segments), 8)], "/")
}

// ofLog returns the calls per second of a log, and its description for the file.
func ofLog(ctx context.Context, name string) (rates map[string]float64, about []string, err error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, nil, plan.UsageError{Err: err}
	}
	defer f.Close()
	l, err := readLog(ctx, f)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(l.calls) == 0 {
		return nil, nil, plan.Usagef("%s: no line is a request in the combined format of nginx and Apache", name)
	}
	requests, span := 0.0, max(l.last.Sub(l.first), time.Second)
	for call := range l.calls {
		requests += l.calls[call]
		l.calls[call] /= span.Seconds()
	}
	about = append(about, fmt.Sprintf("log:   %.0f requests from %s to %s", requests,
		l.first.UTC().Format(time.RFC3339), l.last.UTC().Format(time.RFC3339)))
	if l.bad > 0 {
		about = append(about, fmt.Sprintf("Lines that are no requests: %d, the first is line %d", l.bad, l.badLine))
	}
	return l.calls, about, nil
}
