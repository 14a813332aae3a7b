package api

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// answering is a client of a server that answers everything with one status and one identifier of
// an error, and the registry of its operations.
func answering(t *testing.T, status int, id, prefix string) (*Client, *measure.Registry) {
	t.Helper()
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"id":%q,"message":"no","status_code":%d}`, id, status)
	})
	env := workload.Env{Registry: measure.NewRegistry(1)}
	c, err := NewClient(Options{URL: addr, Recorder: userOf(env),
		Table: NewTable(env.Registry, prefix)})
	failure.None(t, err)
	t.Cleanup(c.Close)
	return c, env.Registry
}

// userOf returns a user that records.
func userOf(env workload.Env) *workload.User {
	return workload.NewUser(0, 0, 1, 1, env.Registry.Recorder(0), clock.New(time.Now()))
}

// calls are the operations of which the dialect expects answers, by name.
func calls() map[string]effect {
	id := strings.Repeat("g", 26)
	return map[string]effect{
		"get_thread":       ask("Thread", id),
		"read_thread":      ask("ReadThread", id, id, id, 1),
		"react":            ask("React", id, id, "tada"),
		"acknowledge_post": ask("Acknowledge", id, id),
	}
}

func windows(reg *measure.Registry) map[string]*measure.Window {
	out := map[string]*measure.Window{}
	for _, w := range reg.Cut() {
		out[w.Name] = w
	}
	return out
}

// TestExpectedAnswerIsNamedAndIsNoError: an answer of the list is recorded as ok with its latency
// and counted by its name; the calling action still learns that it got nothing. So for each of the
// list.
func TestExpectedAnswerIsNamedAndIsNoError(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range expected {
		name := ops[x.op].name
		c, reg := answering(t, x.status, x.id, "")
		if err := calls()[name].do(t.Context(), c); err == nil || x.why == "" {
			t.Errorf("%s: error %v, reason %q; want both", name, err, x.why)
		}
		merged := windows(reg)
		w := merged[name]
		if w == nil || w.Errors() != 0 || w.Classes[measure.OK] != 1 || w.Response.Count() != 1 {
			t.Errorf("%s: %+v, want one ok operation with a latency", name, w)
		}
		got := workload.ExpectedOf(merged, workload.Steady)
		if len(got) != 1 || got[0] != (workload.ExpectedCount{Op: name, Status: x.status, ID: x.id,
			N: 1}) {
			t.Errorf("%s: counted %+v", name, got)
		}
		seen[name] = true
	}
	if len(seen) == 0 {
		t.Error("the dialect expects nothing")
	}
}

// TestAnotherIDIsAnError: the same status with another identifier, the same identifier with another
// status, none at all, another operation, or a phase that is not counted: an error.
func TestAnotherIDIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name, id, prefix string
		status           int
		class            measure.Class
	}{
		{"another identifier", "app.post.get.other_error", "", 404, measure.Status4xx},
		{"a longer one", noPost + ".x", "", 404, measure.Status4xx},
		{"none", "", "", 404, measure.Status4xx},
		{"an unknown path", "api.context.404.app_error", "", 404, measure.Status4xx},
		{"another status", noPost, "", 400, measure.Status4xx},
		{"it could not be read", noPost, "", 500, measure.Status5xx},
		{"in a login", noPost, workload.Login, 404, measure.Status4xx},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, reg := answering(t, tt.status, tt.id, tt.prefix)
			if err := calls()["get_thread"].do(t.Context(), c); err == nil {
				t.Error("no error")
			}
			merged := windows(reg)
			w := merged[phased("get_thread", tt.prefix)]
			if w == nil || w.Classes[tt.class] != 1 || w.Classes[measure.OK] != 0 {
				t.Errorf("%+v, want one of class %v", w, tt.class)
			}
			if got := workload.ExpectedOf(merged, func(string) bool { return true }); got != nil {
				t.Errorf("counted as expected: %v", got)
			}
		})
	}
	c, reg := answering(t, 404, noPost, "")
	if err := c.DeletePost(t.Context(), "gggggggggggggggggggggggggg"); err == nil {
		t.Error("no error")
	}
	if w := windows(reg)["delete_post"]; w == nil || w.Classes[measure.Status4xx] != 1 {
		t.Errorf("another operation: %+v", w)
	}
}

// TestEveryExpectedAnswerIsDocumented: docs/method/workload.md has the list as it is.
func TestEveryExpectedAnswerIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/method/workload.md")
	failure.None(t, err)
	for _, x := range expected {
		if row := fmt.Sprintf("| `%s` | %d | `%s` | %s |\n", ops[x.op].name, x.status, x.id,
			x.why); !strings.Contains(string(doc), row) {
			t.Errorf("docs/method/workload.md lacks %q", row)
		}
	}
	if rows := strings.Count(string(doc), "| 404 | `"); rows != len(expected) {
		t.Errorf("%d rows, want %d", rows, len(expected))
	}
}
