package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNoRequestFollowsARedirect: a target that names another host gets its answer recorded, and that host gets no
// request and no token.
func TestNoRequestFollowsARedirect(t *testing.T) {
	var strayed atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer other.Close()
	for _, kind := range []string{"HTTP/1.1", "HTTP/1.1 over TLS", "HTTP/2 over TLS"} {
		var asked atomic.Int32
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			http.Redirect(w, r, other.URL+"/taken", map[string]int{"/301": 301, "/302": 302, "/303": 303, "/307": 307, "/308": 308}[r.URL.Path])
		}))
		srv.EnableHTTP2 = strings.HasPrefix(kind, "HTTP/2")
		if strings.HasSuffix(kind, "TLS") {
			srv.StartTLS()
		} else {
			srv.Start()
		}
		defer srv.Close()
		c := newClient(t, clientConfig(srv, ""))
		requests := int32(0)
		for status, path := range map[int]string{301: "/301", 302: "/302", 303: "/303", 307: "/307", 308: "/308"} {
			for _, method := range []string{"GET", "POST"} {
				requests++
				resp, err := c.Do(t.Context(), &Request{Method: method, Path: path, Token: "secret"})
				if err != nil || resp.Status != status {
					t.Errorf("%s: %s of a redirect %d: status %d, %v", kind, method, status, resp.Status, err)
				}
			}
		}
		if asked.Load() != requests {
			t.Errorf("%s: the server got %d requests, want %d", kind, asked.Load(), requests)
		}
	}
	if n := strayed.Load(); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
}
