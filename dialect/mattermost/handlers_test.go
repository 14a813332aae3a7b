package mattermost

import (
	"strings"
	"testing"
)

func TestHandlerOf(t *testing.T) {
	const id = "w6qk1n3bqjgnzptcfzxgo1yhmo"
	for _, tt := range []struct{ method, path, want string }{
		{"POST", "/api/v4/posts", "createPost"},
		{"POST", "/chat/api/v4/posts?x=/api/v4/users", "createPost"},
		{"GET", "/api/v4/posts", ""},
		{"GET", "/api/v4/posts/" + id, "getPost"},
		{"GET", "/api/v4/users/me", "getUser"},
		{"POST", "/api/v4/users/ids", "getUsersByIds"},
		{"GET", "/api/v4/channels/" + id + "/posts?page=0", "getPostsForChannel"},
		{"GET", "/api/v4/channels/" + id + "/stats/", "getChannelStats"},
		{"POST", "/api/v4/channels/direct", "createDirectChannel"},
		{"GET", "/api/v4/channels//stats", ""},
		{"GET", "/api/v4/", ""},
		{"GET", "/api/v4/" + strings.Repeat("a/", 1000), ""},
		{"GET", "/static/main.js", ""},
	} {
		if got := HandlerOf(tt.method, tt.path); got != tt.want {
			t.Errorf("%s %.80s: %q, want %q", tt.method, tt.path, got, tt.want)
		}
	}
}

// TestActionsHaveRoutes: an access log can count each action that metrics count.
func TestActionsHaveRoutes(t *testing.T) {
	known := map[string]bool{}
	for line := range strings.Lines(handlerTable) {
		f := strings.Fields(line)
		if len(f) != 3 {
			t.Fatalf("handlers.txt has the line %q", line)
		}
		known[f[2]] = true
		path := "/api/v4" + strings.ReplaceAll(f[1], "{}", "abcdefghijklmnopqrstuvwxyz")
		if got := HandlerOf(f[0], path); got != f[2] {
			t.Errorf("%s %s: %q, want %q", f[0], path, got, f[2])
		}
	}
	for i := range actions {
		found := actions[i].handlers == ""
		for h := range strings.FieldsSeq(actions[i].handlers) {
			found = found || known[h]
		}
		if !found {
			t.Errorf("%s: no line of handlers.txt has one of %q", actions[i].name, actions[i].handlers)
		}
	}
}
