package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

// TestUpstreams reads a log that grows, also in the middle of a line.
func TestUpstreams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	failure.None(t, os.WriteFile(path, []byte("10.0.0.1:1 200 9.000\n"), 0o600))
	u, err := NewUpstreams(path, Labels("role", "proxy", "instance", "proxy-0")...)
	failure.None(t, err)
	defer u.Close()
	if u.Name() != "upstreams proxy-0" {
		t.Errorf("name %q", u.Name())
	}
	add := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		failure.None(t, err)
		defer f.Close()
		failure.None(t, failure.Of(f.WriteString(text)))
	}
	sample := func() map[string]float64 {
		s, err := u.Sample(t.Context(), time.Now())
		failure.None(t, err)
		out := map[string]float64{}
		for _, x := range s {
			out[strings.TrimPrefix(x.Name, "plimsoll_proxy_upstream_")+" "+labelValues(x.Labels)] = x.Value
		}
		return out
	}
	if got := sample(); len(got) != 0 {
		t.Errorf("what was there before counts: %v", got)
	}
	add("a:1 200 0.250\nb:2 503 0.500\n- - -\na:1 101 30.0\na:1 201 0.25")
	got := sample()
	const want = "map[requests_total proxy proxy-0 a:1 2xx:1 requests_total proxy proxy-0 b:2 5xx:1 seconds_total proxy proxy-0 a:1:0.25 seconds_total proxy proxy-0 b:2:0.5]"
	if fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	add("0\n")
	if got := sample()["requests_total proxy proxy-0 a:1 2xx"]; got != 2 {
		t.Errorf("%v answers of a, want 2: a line in two parts is one", got)
	}
	const n = 200_000 // 3 MB
	add(strings.Repeat("a:1 200 0.001\n", n))
	if got := sample()["requests_total proxy proxy-0 a:1 2xx"]; got != n+2 {
		t.Errorf("%v answers of a, want %d", got, n+2)
	}
	add("a:1 200 0.001\n")
	if got := sample()["requests_total proxy proxy-0 a:1 2xx"]; got != n+3 {
		t.Errorf("%v answers of a after its log was given back, want %d", got, n+3)
	}
}

func labelValues(ls []series.Label) string {
	var v []string
	for _, l := range ls {
		v = append(v, l.Value)
	}
	return strings.Join(v, " ")
}
