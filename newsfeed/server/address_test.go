package server

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddresses(t *testing.T) {
	for _, c := range []struct {
		role, text string
		want       address
	}{
		{KindWide, "127.0.0.1:9", address{hosts: []string{"127.0.0.1:9"}}},
		{KindWide, "cassandra://a:1,b:2", address{
			scheme: "cassandra",
			hosts:  []string{"a:1", "b:2"},
			name:   "activity",
		}},
		{KindWide, "cassandra://me:s@cr:t@a:1/other", address{
			scheme:   "cassandra",
			hosts:    []string{"a:1"},
			name:     "other",
			user:     "me",
			password: "s@cr:t",
		}},
		{KindSearch, "http://[::1]:9200/", address{
			scheme: "http",
			hosts:  []string{"[::1]:9200"},
			name:   "feed",
		}},
		{KindSearch, "https://me:secret@h:1/stories_1", address{
			scheme:   "https",
			hosts:    []string{"h:1"},
			name:     "stories_1",
			user:     "me",
			password: "secret",
		}},
		{KindBus, "kafka://a:1,b:2/telemetry", address{
			scheme: "kafka",
			hosts:  []string{"a:1", "b:2"},
			name:   "telemetry",
		}},
	} {
		got, err := parseAddress(c.role, c.text)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(address{})); diff != "" || err != nil {
			t.Errorf("%s %s: %v (-want +got):\n%s", c.role, c.text, err, diff)
		}
	}
	for _, c := range []struct{ role, text, say string }{
		{KindWide, "kafka://a:1", "another word"},
		{KindWide, "hunter2", "host or port is missing"},
		{KindWide, "a:1,b:2", "several hosts"},
		{KindWide, "a:1/keyspace", "no name"},
		{KindWide, "me:hunter2@a:1", "takes no user"},
		{KindWide, "cassandra://hunter2@a:1", "no password"},
		{KindWide, "cassandra://a:1/x;DROP", "no name"},
		{KindWide, "cassandra://a:1,b", "host or port is missing"},
		{KindSearch, "http://a:1,b:2", "several hosts"},
		{KindSearch, "http://a:1/x/y", "no name"},
		{KindBus, "kafka://me:hunter2@a:1", "takes no user"},
	} {
		_, err := parseAddress(c.role, c.text)
		if err == nil || !strings.Contains(err.Error(), c.say) ||
			!strings.Contains(err.Error(), "want HOST:PORT") ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s %s: %v, want %q, what is right and no secret", c.role, c.text, err, c.say)
		}
	}
}

// TestNoPasswordInACommandLine: it is refused, and the same address comes through the environment.
func TestNoPasswordInACommandLine(t *testing.T) {
	env := map[string]string{
		"NEWSFEED_DSN":    "oracle://x",
		"NEWSFEED_WIDE":   "cassandra://me:hunter2@h:1",
		"NEWSFEED_SEARCH": "http://me:hunter2@h:1",
	}
	run := func(args ...string) error {
		var talk strings.Builder
		err := Main(t.Context(), args, func(name string) string { return env[name] }, &talk, &talk)
		if strings.Contains(talk.String(), "hunter2") ||
			err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the password is told: %v %s", err, talk.String())
		}
		return err
	}
	if err := run("-bus=h:1", "-wide=cassandra://me:hunter2@h:1"); err == nil ||
		!strings.Contains(err.Error(), "NEWSFEED_WIDE") {
		t.Errorf("a password in a flag: %v, want the variable's name", err)
	}
	// all addresses are there
	if err := run("-bus=h:1"); err == nil || !strings.Contains(err.Error(), "DSN") {
		t.Errorf("passwords in the environment: %v, want the complaint about the DSN", err)
	}
	delete(env, "NEWSFEED_SEARCH")
	if err := run("-bus=h:1"); err == nil ||
		!strings.Contains(err.Error(), "no address of the search store") {
		t.Errorf("no address: %v", err)
	}
}
