package workload_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/wire"
	"plimsoll/load/workload"
)

// classesOf returns the operations of a registry by name and class.
func classesOf(reg *measure.Registry) map[string]map[measure.Class]uint64 {
	out := map[string]map[measure.Class]uint64{}
	for _, w := range reg.Cut() {
		for c, n := range w.Classes {
			if n > 0 {
				if out[w.Name] == nil {
					out[w.Name] = map[measure.Class]uint64{}
				}
				out[w.Name][measure.Class(c)] += n
			}
		}
	}
	return out
}

func TestCallerRecordsEachRequestOnce(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/busy":
			http.Error(w, "come back later", http.StatusServiceUnavailable)
			return
		case "/made":
			w.WriteHeader(http.StatusCreated)
		case "/cut":
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, "hello")
	}))
	srv.Config.ErrorLog = nil
	defer srv.Close()
	reg := measure.NewRegistry(1)
	var told []string
	env := workload.Env{URL: srv.URL, Timeout: time.Minute, Registry: reg,
		Log: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }}
	var cast workload.Cast
	u := workload.NewUser(0, 0, 1, 1, reg.Recorder(0), clock.New(time.Now()))
	c, err := cast.Caller(env, u)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	lie := func([]byte) error { return errors.New("no effect") }
	for _, tt := range []struct {
		name, path string
		read       func([]byte) error
		want       string
	}{
		{"get", "/", nil, ""},
		{"get", "/made", nil, ""},
		{"get", "/", lie, "get: status 200 no effect (decode)"},
		{"get", "/", func([]byte) error { panic("no such field") }, "(decode)"},
		{"get", "/busy", lie, `get: status 503 "come back later" (5xx)`},
		{"get", "/busy", nil, `get: status 503 "come back later" (5xx)`},
		{"post", "/cut", nil, "(header)"},
	} {
		req := &wire.Request{Method: map[string]string{"post": "POST"}[tt.name], Path: tt.path}
		resp, err := c.Do(t.Context(), tt.name, req, tt.read)
		if tt.want == "" && err != nil || tt.want != "" &&
			(err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s %s: %v, want %q", tt.name, tt.path, err, tt.want)
		}
		if resp.Sent.IsZero() || resp.Done.Before(resp.Sent) {
			t.Errorf("%s %s: sent at %v, done at %v", tt.name, tt.path, resp.Sent, resp.Done)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(over, "get", &wire.Request{Path: "/"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the run: %v", err)
	}
	want := map[string]map[measure.Class]uint64{
		"get":          {measure.OK: 2, measure.Decode: 2, measure.Status5xx: 2},
		"http_503 get": {measure.Status5xx: 2},
		"post":         {measure.Header: 1},
	}
	if diff := cmp.Diff(want, classesOf(reg)); diff != "" {
		t.Error(diff)
	}
	if len(told) != 3 { // decode, with a panic or not, 503, header
		t.Errorf("printed %q, want each kind once", told)
	}
}
