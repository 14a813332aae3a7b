package promapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"plimsoll/internal/boundary"
	"plimsoll/internal/failure"
	"plimsoll/watch/series"
)

// TestPagesOfOthersAreRefused sends what a browser sends for a page of another server, by each
// method and listener.
func TestPagesOfOthersAreRefused(t *testing.T) {
	db := stored(t)
	for _, c := range []struct {
		method, host, header, value string
		listener                    func(string) bool
		want                        int
	}{
		{"GET", "127.0.0.1:9090", "", "", boundary.Loopback, 200},
		{"POST", "localhost:9090", "Origin", "http://localhost:9090", boundary.Loopback, 200},
		{"POST", "127.0.0.1:9090", "Sec-Fetch-Site", "same-origin", boundary.Loopback, 200},
		{"GET", "127.0.0.1:9090", "Sec-Fetch-Site", "none", boundary.Loopback, 200},
		{"POST", "127.0.0.1:9090", "Origin", "http://evil.example", boundary.Loopback, 403},
		{"POST", "127.0.0.1:9090", "Origin", "null", boundary.Loopback, 403},
		{"POST", "127.0.0.1:9090", "Origin", "https://127.0.0.1:9090", boundary.Loopback, 403},
		{"GET", "127.0.0.1:9090", "Origin", "http://evil.example", boundary.Loopback, 403},
		{"GET", "127.0.0.1:9090", "Sec-Fetch-Site", "cross-site", boundary.Loopback, 403},
		{"POST", "127.0.0.1:9090", "Sec-Fetch-Site", "same-site", boundary.Loopback, 403},
		{"GET", "evil.example:9090", "", "", boundary.Loopback, 403},
		{"GET", "10.0.0.7:9090", "", "", boundary.Loopback, 403},
		{"GET", "10.0.0.7:9090", "", "", boundary.Network, 200},
		{"GET", "[fd00::7]:9090", "", "", boundary.Network, 200},
		{"GET", "generator", "", "", boundary.Network, 200},
		{"GET", "host.docker.internal:9090", "", "", boundary.Network, 200},
		{"GET", "evil.example:9090", "", "", boundary.Network, 403},
		{"GET", "evil.example.:9090", "", "", boundary.Network, 403},
		{"POST", "10.0.0.7:9090", "Origin", "http://evil.example", boundary.Network, 403},
		{"GET", "console.example", "", "", nil, 200}, // the console has checked it
		{"GET", "console.example", "Sec-Fetch-Site", "cross-site", nil, 403},
	} {
		r := httptest.NewRequest(c.method, "/api/v1/query?query=1", nil)
		r.Host = c.host
		if c.header != "" {
			r.Header.Set(c.header, c.value)
		}
		w := httptest.NewRecorder()
		Handler(Config{Source: of(db), Hosts: c.listener}).ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf(
				"%s at %s, %s: %s: status %d, want %d",
				c.method,
				c.host,
				c.header,
				c.value,
				w.Code,
				c.want,
			)
		}
	}
}

// TestCostlyRequestIsRefused sends requests that would take gigabytes.
func TestCostlyRequestIsRefused(t *testing.T) {
	addr := serve(t, Config{Source: of(stored(t))}) + "/api/v1/"
	for name, c := range map[string]struct{ path, want string }{
		"subquery":       {"query?query=max_over_time(vector(1)[100y:1s])", "bad_data"},
		"range of one":   {"query_range?query=max_over_time(vector(1)[100y:1s])&start=1&end=60&step=1", "bad_data"},
		"many selectors": {"series?" + strings.Repeat("match[]=odd&", series.MaxSelectors+1), "bad_data"},
		"long selectors": {"labels?match[]=" + strings.Repeat("a", series.MaxExpression+1), "bad_data"},
	} {
		if status, got := get(t, addr+c.path); status/100 != 4 || !strings.Contains(got, c.want) ||
			len(got) > 2000 {
			t.Errorf("%s: %d %.2000s", name, status, got)
		}
	}
}

// TestLargeAnswerIsRefused encodes about 80 MB.
func TestLargeAnswerIsRefused(t *testing.T) {
	points := slices.Repeat([]promql.FPoint{{T: 1_700_000_000_005, F: 1. / 3}}, 2<<20)
	failure.Is(t, failure.Of(encodeValue(promql.Matrix{{Floats: points}})), errLarge)
}

// TestQueryEndsWithItsClient lets the client go while its query, a form, is being answered.
// The query has steps enough that the end of the request is seen before its last.
func TestQueryEndsWithItsClient(t *testing.T) {
	db := stored(t)
	ctx, leave := context.WithCancel(t.Context())
	answering, status := make(chan *http.Request, 1), make(chan int, 1)
	api := Handler(Config{Source: func() (*series.DB, func(), error) {
		leave()
		<-(<-answering).Context().Done()
		return db, func() {}, nil
	}})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		answering <- r
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		status <- w.Code
	}))
	t.Cleanup(srv.Close)
	req, err := http.NewRequestWithContext(
		ctx,
		"POST",
		srv.URL+"/api/v1/query",
		strings.NewReader("query=count_over_time(vector(1)[1h:1s])"),
	)
	failure.None(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if resp, err := http.DefaultClient.Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("the client did not leave")
	}
	select {
	case got := <-status:
		if got != canceled.status {
			t.Errorf("status %d, want %d", got, canceled.status)
		}
	case <-time.After(20 * time.Second):
		t.Error("the query did not end")
	}
}
