package newsfeed

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// TestEveryCallProvesItsEffect: an answer with status 200 that does not show the effect of its call
// is an error of class decode.
func TestEveryCallProvesItsEffect(t *testing.T) {
	var body atomic.Value // of the server's next answer
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		io.WriteString(w, body.Load().(string))
	}))
	defer srv.Close()
	general := []string{
		`{}`,
		`null`,
		`[]`,
		`[null]`,
		`[{}]`,
		`"text"`,
		`7`,
		`{"status":"OK"}`,
		`<html>busy</html>`,
		``,
	}
	for _, tt := range []struct {
		name, good string
		accepts    string
		bad        []string
		do         func(ctx context.Context, c *client) error
	}{
		{"participant", `{"id":3,"name":"n"}`, "", []string{`{"name":"n"}`, `{"id":0,"name":"n"}`, `{"id":"3","name":"n"}`, `{"id":3}`, `{"id":3,"name":"m"}`, `{"id":3,"name":5}`},
			func(ctx context.Context, c *client) error {
				_, err := c.participant(ctx, "n")
				return err
			}},
		{"befriend", `{"id":3,"from":"/participant/1","to":"/participant/2"}`, "", []string{`{"from":"/participant/1","to":"/participant/2"}`, `{"id":3,"to":"/participant/2"}`,
			`{"id":3,"from":"/participant/1"}`, `{"id":3,"from":"/participant/9","to":"/participant/2"}`, `{"id":3,"from":"/participant/1","to":[2]}`},
			func(ctx context.Context, c *client) error { return c.befriend(ctx, 1, 2) }},
		{"story", `{"from":"/participant/1","subject":"s"}`, "", []string{`{"subject":"s"}`, `{"from":"/participant/1"}`, `{"from":"/participant/2","subject":"s"}`, `{"from":"/participant/1","subject":"t"}`, `{"from":"/participant/1","subject":5}`},
			func(ctx context.Context, c *client) error {
				_, err := c.story(ctx, 1, "2014-01-01", "s", "text")
				return err
			}},
		{"search", `["/participant/1",2]`, "[]", []string{`["x"]`, `["/participant/0"]`, `[true]`}, func(ctx context.Context, c *client) error {
			return c.search(ctx, "word")
		}},
		{"outbound", `[{"subject":"s"}]`, "[]", []string{`[{"subject":5}]`, `[{"subject":""}]`}, func(ctx context.Context, c *client) error {
			_, err := c.subjects(ctx, opOutbound, 1)
			return err
		}},
		{"inbound", `[{"subject":"s"}]`, "[]", []string{`[{"from":"/participant/1"}]`}, func(ctx context.Context, c *client) error {
			_, err := c.subjects(ctx, opInbound, 1)
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reg := measure.NewRegistry(1)
			u := workload.NewUser(0, 0, 1, 1, reg.Recorder(0), clock.New(time.Now()))
			caller, err := new(workload.Cast).Caller(workload.Env{
				URL:      srv.URL,
				Timeout:  time.Minute,
				Registry: reg,
			}, u)
			if err != nil {
				t.Fatal(err)
			}
			c := &client{Caller: caller}
			defer c.Close()
			body.Store(tt.good)
			if err := tt.do(t.Context(), c); err != nil {
				t.Errorf("%s: %v", tt.good, err)
			}
			lies := uint64(0)
			for _, lie := range append(general, tt.bad...) {
				if lie == tt.accepts {
					continue
				}
				lies++
				body.Store(lie)
				if err := tt.do(t.Context(), c); err == nil {
					t.Errorf("%s passed", lie)
				}
			}
			for _, w := range reg.Cut() {
				if w.Name == tt.name &&
					(w.Classes[measure.OK] != 1 || w.Classes[measure.Decode] != lies) {
					t.Errorf("classes %v, want one ok and %d decode", w.Classes, lies)
				}
			}
		})
	}
}
