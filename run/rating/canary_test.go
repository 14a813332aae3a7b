package rating

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCanary(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/ping" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("ok"))
	}))
	defer s.Close()
	c := &Control{host: strings.TrimPrefix(s.URL, "http://"), path: "/ping"}
	n, err := c.Listen(t.Context())
	if err != nil || n < 10 || asked < int(n/4) {
		t.Errorf("%v per second, asked %d times: %v", n, asked, err)
	}
	c.path = "/other"
	if _, err := c.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "status 404") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Listen(ctx); err == nil {
		t.Error("an ended context went unnoticed")
	}
	s.Close()
	if _, err := c.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "canary") {
		t.Errorf("a server that is gone: %v", err)
	}
}
