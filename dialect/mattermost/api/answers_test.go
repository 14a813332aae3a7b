package api

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

const longID = "an-identifier-of-36-characters-as-it"

// without returns the answer with the value at the path replaced; nil removes it.
func without(t *testing.T, good, path string, by *any) string {
	t.Helper()
	var root any
	if err := json.Unmarshal([]byte(good), &root); err != nil {
		t.Fatalf("%s: %v", good, err)
	}
	at := root
	keys := strings.Split(path, ".")
	for i, key := range keys {
		last := i == len(keys)-1
		switch v := at.(type) {
		case map[string]any:
			if _, ok := v[key]; !ok {
				t.Fatalf("%s has no %s", good, path)
			}
			switch {
			case !last:
				at = v[key]
			case by == nil:
				delete(v, key)
			default:
				v[key] = *by
			}
		case []any:
			k, err := strconv.Atoi(key)
			if err != nil || k >= len(v) || last {
				t.Fatalf("%s has no %s", good, path)
			}
			at = v[k]
		default:
			t.Fatalf("%s has no %s", good, path)
		}
	}
	out, err := json.Marshal(root)
	failure.None(t, err)
	return string(out)
}

// lies are the answers that must not pass: the general ones, and the good one in which something is
// missing, null, of another type or another's.
func (e effect) lies(t *testing.T) []string {
	t.Helper()
	accepted := strings.Fields(e.accepts)
	var out []string
	for _, g := range general {
		if !slices.Contains(accepted, cmp.Or(g, "(empty)")) {
			out = append(out, g)
		}
	}
	for m := range strings.FieldsSeq(e.must) {
		path := strings.TrimRight(m, "=?+#@")
		out = append(out, without(t, e.good, path, nil))
		bad := []any{5.0, "x7", []any{"x"}, nil}
		if strings.HasSuffix(m, "?") {
			bad = bad[:3]
		}
		var have any // the present value, for its type
		failure.None(t, json.Unmarshal([]byte(e.good), &have))
		for key := range strings.SplitSeq(path, ".") {
			if m, ok := have.(map[string]any); ok {
				have = m[key]
			} else {
				k, _ := strconv.Atoi(key)
				have = have.([]any)[k]
			}
		}
		if strings.HasSuffix(m, "@") {
			bad = append(bad, longID, "a/b", "u&in_team=t", "t\x00")
		}
		switch v, is := have.(bool); {
		case strings.HasSuffix(m, "+"):
			out = append(out, without(t, e.good, path, new(any(0.0))))
		case strings.HasSuffix(m, "#"):
			out = append(out, without(t, e.good, path, new(any([]any{}))))
		case is:
			out = append(out, without(t, e.good, path, new(any(!v))))
		}
		for _, b := range bad {
			if b != nil && reflect.TypeOf(b) == reflect.TypeOf(have) &&
				!strings.HasSuffix(m, "=") &&
				(b == "x7" || m[len(m)-1] != '@') {
				continue
			}
			out = append(out, without(t, e.good, path, &b))
		}
	}
	return out
}

// A stub answers all requests alike, and holds the last one.
type stub struct {
	code              int
	body, etag, asked string
}

func (s *stub) serve(t *testing.T) string {
	addr := inTurn(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		s.asked = strings.TrimSpace(
			r.Method + " " + strings.TrimPrefix(r.URL.RequestURI(), "/api/v4") + " " + string(b),
		)
		w.Header().Set("Token", "t")
		if s.etag != "" {
			w.Header().Set("Etag", s.etag)
		}
		if s.etag != "" && r.Header.Get("If-None-Match") == s.etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(s.code)
		io.WriteString(w, s.body)
	})
	return addr
}

// TestEveryCallProvesItsEffect: each call sends the request of the API reference, and an answer
// with a good status that does not show its effect is an error of class decode.
func TestEveryCallProvesItsEffect(t *testing.T) {
	var s stub
	c, rec := newTestClient(t, s.serve(t))
	// of WebSockets: see socket_test.go
	tested := map[string]bool{"Connect": true, "Resume": true, "Typing": true,
		"Await": true, "Call": true, "FireWebhook": true} // see integrations_test.go
	lies := 0
	for _, e := range effects() {
		tested[e.call] = true
		op, asks, _ := strings.Cut(e.asks, " ")
		row := ops[slices.IndexFunc(ops, func(r request) bool { return r.name == op })]
		s.code = 200
		if row.traits.has(created) {
			s.code = 201
		}
		for _, s.body = range append(strings.Fields(e.accepts), e.good) {
			s.body = strings.TrimPrefix(s.body, "(empty)")
			if err := e.do(t.Context(), c); err != nil {
				t.Errorf("%s: %s: %v", e.call, s.body, err)
			}
			if got := rec.take(); got != op+":ok" {
				t.Errorf("%s: recorded %q", e.call, got)
			}
			if asks != "" && s.asked != asks {
				t.Errorf("%s asks %s\nwant %s", e.call, s.asked, asks)
			}
		}
		for _, s.body = range e.lies(t) {
			lies++
			err := e.do(t.Context(), c)
			if got := rec.take(); err == nil || got != op+":decode" {
				t.Errorf("%s: %s passed: %v, recorded %q", e.call, s.body, err, got)
			}
		}
	}
	of := reflect.TypeFor[*Client]()
	for m := range of.Methods() {
		if m.Type.NumIn() > 1 && m.Type.In(1) == reflect.TypeFor[context.Context]() &&
			!tested[m.Name] {
			t.Errorf("%s is not tested", m.Name)
		}
	}
	t.Logf("%d answers that show nothing", lies)
}
