package verbs

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/reference/refnull"
)

// beforeNull starts a null server and before it a server of the test, which answers itself or hands
// on to forward; it returns the latter's URL. Both end with the test.
func beforeNull(
	t *testing.T,
	answer func(w http.ResponseWriter, r *http.Request, forward http.Handler),
) string {
	t.Helper()
	forward := nullProxy(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, forward)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// nullProxy starts a null server, which ends with the test, and returns a proxy that hands on to
// it.
func nullProxy(t *testing.T) *httputil.ReverseProxy {
	t.Helper()
	null, err := refnull.New(refnull.Config{})
	failure.None(t, err)
	done := inBackground(func() error { return null.Run(t.Context()) })
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	behind, err := url.Parse(null.URL())
	failure.None(t, err)
	return httputil.NewSingleHostReverseProxy(behind)
}

func inBackground(f func() error) <-chan error {
	c := make(chan error, 1)
	go func() { c <- f() }()
	return c
}
