package api

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A picture or a file that the application refuses is refused by it: its own error is in the
// answer, which is no evidence of a proxy.
func TestWhoRefusesAFile(t *testing.T) {
	for _, tt := range []struct {
		kind, body string
		status     int
		text       string
		byProxy    bool
	}{
		{"application/json", `{"id":"api.context.permissions.app_error"}`, 403,
			"status 403 api.context.permissions.app_error", false},
		{"application/json", `{"id":"api.file.get_file.app_error"}`, 503,
			"status 503 api.file.get_file.app_error (5xx)", false},
		{"text/html", `<html>nginx</html>`, 403, forbidden, true},
		{"text/html", `<script src="/cdn-cgi/challenge-platform/x">`, 403, challenged, true},
	} {
		addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", tt.kind)
			w.WriteHeader(tt.status)
			io.WriteString(w, tt.body)
		})
		c, _ := newTestClient(t, addr)
		_, _, picture := c.UserImage(t.Context(), "u", "")
		for _, err := range []error{picture, c.Thumbnail(t.Context(), "f"), c.File(t.Context(), "f")} {
			if err == nil || !strings.Contains(err.Error(), tt.text) ||
				Refused(err.Error()) != tt.byProxy {
				t.Errorf("got %v; want %q, by a proxy %v", err, tt.text, tt.byProxy)
			}
		}
	}
}
