package wire

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// TestNoRequestFollowsARedirect: a target that names another host gets its answer recorded, and
// that host gets no request and no token.
func TestNoRequestFollowsARedirect(t *testing.T) {
	var strayed, asked atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		strayed.Add(1)
	}))
	defer other.Close()
	requests := int32(0)
	overAll(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		status, _ := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/base/"))
		http.Redirect(w, r, other.URL+"/taken", status)
	}, func(t *testing.T, _ *httptest.Server, c *Client) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, method := range []string{"GET", "POST"} {
				requests++
				resp, err := c.Do(t.Context(), &Request{Method: method,
					Path: "/" + strconv.Itoa(status), Token: "secret"})
				if err != nil || resp.Status != status {
					t.Errorf("%s of a redirect %d: status %d, %v", method, status, resp.Status, err)
				}
			}
		}
	})
	if asked.Load() != requests || strayed.Load() != 0 {
		t.Errorf("the servers got %d requests of %d, and the other host %d", asked.Load(), requests,
			strayed.Load())
	}
}
