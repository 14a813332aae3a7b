package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/load/measure"
)

const (
	anID    = "abcdefghijklmnopqrstuvwxyz"
	otherID = "zyxwvutsrqponmlkjihgfedcba"
)

// turn is held by the handler of a server that shares variables with its test, and is passed by the
// client before a request and after it: the network alone is not an order that the race detector
// knows.
var turn sync.Mutex

func passTurn() {
	turn.Lock()
	defer turn.Unlock()
}

// serve starts a server and returns its address.
func serve(t testing.TB, h http.HandlerFunc) (addr string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// inTurn starts a server whose handler may use the variables of a test that waits for each answer.
func inTurn(t testing.TB, h http.HandlerFunc) (addr string) {
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		turn.Lock()
		defer turn.Unlock()
		h(w, r)
	})
}

// tally is a Recorder that keeps all ops.
type tally struct {
	reg *measure.Registry
	mu  sync.Mutex
	ops []string // name:class
}

func (r *tally) Begin(measure.Name) { passTurn() }

func (r *tally) Done(
	n measure.Name, _, sent, done time.Time, class measure.Class, _ int64,
) time.Duration {
	passTurn()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range append(SeriesOf(""), "login_poll") {
		if r.reg.Name(name) == n {
			if sent.IsZero() || done.Before(sent) {
				class = measure.NumClasses
			}
			r.ops = append(r.ops, name+":"+class.String())
		}
	}
	return 0
}

func (r *tally) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.ops, " ")
	r.ops = nil
	return s
}

func newTestClient(t *testing.T, url string) (*Client, *tally) {
	t.Helper()
	rec := &tally{reg: measure.NewRegistry(1)}
	c, err := NewClient(Options{URL: url, Token: "tok", Timeout: 1500 * time.Millisecond,
		Recorder: rec, Table: NewTable(rec.reg, "")})
	failure.None(t, err)
	t.Cleanup(c.Close)
	return c, rec
}

// silent answers nothing for as long as the client is there.
func silent(_ http.ResponseWriter, r *http.Request) {
	// net/http notices that a client has gone only after it has read the request
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// Every way in which a post can fail ends in exactly one class, and the error describes the
// failure.
func TestClasses(t *testing.T) {
	answer := func(status int, contentType, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	hijack := func(raw string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				return
			}
			io.WriteString(conn, raw)
			conn.Close()
		}
	}
	page := `<html><title>Just a moment...</title><script src="/cdn-cgi/challenge-platform/x"></script></html>`
	for _, tt := range []struct {
		name  string
		h     http.HandlerFunc
		class measure.Class
		text  string
	}{
		{"ok", answer(201, "application/json", `{"id":"`+anID+`","create_at":7,"channel_id":"c"}`),
			measure.OK, ""},
		{"200 is not 201", answer(200, "application/json",
			`{"id":"`+anID+`","create_at":7,"channel_id":"c"}`), measure.Decode, "status 200"},
		{"another channel", answer(201, "application/json",
			`{"id":"`+anID+`","create_at":7,"channel_id":"d"}`), measure.Decode, "does not show"},
		{"no id", answer(201, "application/json", `{"create_at":7,"channel_id":"c"}`), measure.Decode,
			"does not show"},
		{"not an object", answer(201, "application/json", `"ok"`), measure.Decode, "malformed"},
		{"cut", answer(201, "application/json", `{"id":"`+anID+`","chan`), measure.Decode, "malformed"},
		{"empty", answer(201, "application/json", ``), measure.Decode, "malformed"},
		{"forbidden", answer(403, "application/json",
			`{"id":"api.context.permissions.app_error","message":"secret"}`), measure.Status4xx,
			"status 403 api.context.permissions.app_error"},
		{"rate limit", answer(429, "text/plain", `limit exceeded`), measure.Status4xx,
			"too many requests"},
		{"proxy's 403", answer(403, "text/html", `<html>nginx</html>`), measure.Status4xx,
			"forbidden by a proxy"},
		{"challenge 403", answer(403, "text/html; charset=UTF-8", page), measure.Status4xx,
			"challenge page"},
		{"challenge 503", answer(503, "text/html", page), measure.Status5xx, "challenge page"},
		{"challenge by header", answer(403, "text/html", "", "cf-mitigated", "challenge"),
			measure.Status4xx, "challenge page"},
		{"challenge 201", answer(201, "text/html", page), measure.Decode, "challenge page"},
		{"bad gateway", answer(502, "text/html", `<html>nginx</html>`), measure.Status5xx,
			"could not reach"},
		{"server error", answer(500, "application/json", `{"id":"app.post.save.app_error"}`),
			measure.Status5xx, "app.post.save"},
		{"redirect", answer(302, "text/html", ``), measure.Decode, "status 302"},
		{"closed", hijack(""), measure.Header, "without a response"},
		{"not http", hijack("hello\r\n\r\n"), measure.Header, "status line"},
		{"short body", hijack("HTTP/1.1 201 Created\r\nContent-Length: 99\r\n\r\n{}"), measure.Body,
			"EOF"},
		{"slow", silent, measure.Timeout, "timed out"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, rec := newTestClient(t, serve(t, tt.h))
			p, err := c.Post(t.Context(), Draft{ChannelID: "c", Message: "m"})
			if got := rec.take(); got != "post:"+tt.class.String() {
				t.Errorf("recorded %q, want one post:%s", got, tt.class)
			}
			if tt.class == measure.OK {
				if err != nil || p.ID != anID || p.Sent.IsZero() {
					t.Errorf("got %+v, %v", p, err)
				}
				return
			}
			e, ok := errors.AsType[*OpError](err)
			if !ok || e.Class != tt.class || !strings.Contains(err.Error(), tt.text) ||
				strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "tok") {
				t.Errorf("got %v, want %s with %q", err, tt.class, tt.text)
			}
			byProxy := tt.name == "rate limit" || tt.name == "proxy's 403" ||
				strings.HasPrefix(tt.name, "challenge")
			if Refused(err.Error()) != byProxy {
				t.Errorf("%v: refused by a proxy %v, want %v", err, !byProxy, byProxy)
			}
		})
	}
	t.Run("dial", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		failure.None(t, err)
		l.Close()
		c, rec := newTestClient(t, "http://"+l.Addr().String())
		c.Post(t.Context(), Draft{ChannelID: "c"})
		if got := rec.take(); got != "post:dial" {
			t.Errorf("recorded %q", got)
		}
	})
	t.Run("tls", func(t *testing.T) {
		srv := httptest.NewTLSServer(http.NotFoundHandler())
		srv.Config.ErrorLog = nil
		defer srv.Close()
		c, rec := newTestClient(t, srv.URL)
		c.Post(t.Context(), Draft{ChannelID: "c"})
		if got := rec.take(); got != "post:tls" {
			t.Errorf("recorded %q", got)
		}
	})
	t.Run("end of the run", func(t *testing.T) {
		addr := serve(t, silent)
		c, rec := newTestClient(t, addr)
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("over")
		time.AfterFunc(30*time.Millisecond, func() { cancel(over) })
		if _, err := c.Post(ctx, Draft{ChannelID: "c"}); !errors.Is(err, over) {
			t.Errorf("got %v, want the cause", err)
		}
		if got := rec.take(); got != "" {
			t.Errorf("recorded %q, want nothing", got)
		}
	})
}

func TestReadPosts(t *testing.T) {
	got, err := readPosts(
		[]byte(
			`{"order":["b","a"],"posts":{"a":{"id":"a","root_id":"","user_id":"u","create_at":7,"delete_at":8,"reply_count":1,
		"type":"system_x","message":"(a@b) @all"},"b":{"id":"b","root_id":"a","user_id":"v","message":"hi @eve-2. @bob","metadata":{"priority":{"requested_ack":true},
		"files":[{"id":"f","mime_type":"image/png","has_preview_image":true},{"id":"g","mime_type":"text/plain"}]}},"x":{"id":"x"}},"next_post_id":""}`,
		),
	)
	want := []Seen{
		{ID: ParseID("b"), RootID: ParseID("a"), UserID: ParseID("v"), Mention: "eve-2",
			Flags:  PostWantsAck | PostHasFiles | PostHasImage,
			Images: []Image{{ParseID("f"), true}}},
		{ID: ParseID("a"), UserID: ParseID("u"), CreateAt: 7, Deleted: true,
			Flags: PostHasReplies | PostSystem},
	}
	if err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
	for _, bad := range []string{`{}`, `{"order":["a"],"posts":{}}`,
		`{"order":["a"],"posts":{"b":{}}}`, `{"order":["a"],"posts":{"a":{}`, `[]`} {
		if got, err := readPosts([]byte(bad)); err == nil {
			t.Errorf("%s: got %+v, want an error", bad, got)
		}
	}
	if got, err := readPosts([]byte(`{"order":["r","b","r"],"posts":{"b":{"id":"b","user_id":"u"},"r":{"id":"r","user_id":"v"}}}`)); err != nil ||
		len(got) != 2 ||
		got[0].UserID.String() != "v" {
		t.Errorf("an id that is listed twice: %+v, %v", got, err)
	}
	if got, err := readPosts([]byte(`{"order":[],"posts":{}}`)); err != nil || len(got) != 0 {
		t.Errorf("empty channel: %+v, %v", got, err)
	}
}
