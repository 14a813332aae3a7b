package refnull

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"plimsoll/internal/failure"
	"plimsoll/internal/race"
)

var noError = failure.None

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	noError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Run does not end")
		}
	})
	return s
}

func do(
	t *testing.T,
	c *http.Client,
	method, url, token, body string,
	header ...string,
) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	noError(t, err)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	noError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	noError(t, err)
	return resp, b
}

func TestFixed(t *testing.T) {
	s := start(t, Config{Body: 77})
	resp, body := do(t, http.DefaultClient, "GET", s.URL()+"/anything?x=y", "", "")
	if resp.StatusCode != 200 || len(body) != 77 || !json.Valid(body) ||
		resp.Header.Get("X-Refnull-Took") != "" {
		t.Errorf("%s, %d bytes %q, took %q", resp.Status, len(body), body,
			resp.Header.Get("X-Refnull-Took"))
	}
}

// Every answer of the table is one JSON value, holds the requested ids, and no variable that was
// not filled.
func TestTable(t *testing.T) {
	s := start(t, Config{})
	ids := []string{"1111111111111111111111111a", "2222222222222222222222222b",
		"3333333333333333333333333c", "1600000000000"}
	const me = "mememememememememememememe"
	body := `{"login_id":"ann","username":"ann","name":"room","display_name":"Room","type":"O","channel_id":"cccc","root_id":"rrrr","message":"a \"b\"",` +
		`"user_id":"uuuu","post_id":"pppp","emoji_name":"+1","file_ids":["x","y]"]}`
	for _, a := range readAnswers() {
		t.Run(a.route, func(t *testing.T) {
			method, path, _ := strings.Cut(a.route, " ")
			n := 0
			for strings.Contains(path, "*") {
				path = strings.Replace(path, "*", ids[n], 1)
				n++
			}
			send := body
			if a.list && a.each == "" {
				send = `["x","y"]`
			} else if a.list && a.each == "#" {
				send = "1"
			} else if a.list {
				send = `[{"team_id":"t","user_id":"x"},{"team_id":"t","user_id":"y"}]`
			}
			resp, got := do(t, http.DefaultClient, method, s.URL()+"/api/v4"+path, me, send)
			if resp.StatusCode != a.status || !json.Valid(got) || bytes.ContainsAny(got, "$") {
				t.Fatalf("%s: %s", resp.Status, got)
			}
			if a.list {
				var list []map[string]any
				if err := json.Unmarshal(got, &list); err != nil || len(list) != 2 {
					t.Errorf("%v: %s", err, got)
				}
			}
			for i := range n {
				if strings.Contains(a.text, fmt.Sprintf(`"$%d"`, i+1)) &&
					!bytes.Contains(got, []byte(ids[i])) {
					t.Errorf("%s is not in %s", ids[i], got)
				}
			}
		})
	}
	if st := s.Stats(); len(st.Unknown) != 0 {
		t.Errorf("unknown paths %v", st.Unknown)
	}
	do(
		t,
		http.DefaultClient,
		"GET",
		s.URL()+"/api/v4/channels/1111111111111111111111111a/novelty",
		me,
		"",
	)
	if st := s.Stats(); st.Unknown["GET /channels/*/novelty"] != 1 {
		t.Errorf("unknown paths %v, want the new one", st.Unknown)
	}
}

// Answers agree with each other.
func TestIdentity(t *testing.T) {
	s := start(t, Config{})
	form := regexp.MustCompile(`^[a-z0-9]{26}$`)
	type user struct{ ID, Username string }
	at := func(method, path, token, body string, v any) http.Header {
		t.Helper()
		resp, b := do(t, http.DefaultClient, method, s.URL()+"/api/v4"+path, token, body)
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatalf("%s: %v in %s", path, err, b)
		}
		return resp.Header
	}
	var ann, again, found, bob user
	token := at("POST", "/users/login", "", `{"login_id":"ann","password":"x"}`, &ann).Get("Token")
	at("GET", "/users/me", token, "", &again)
	at("GET", "/users/username/ann", token, "", &found)
	at("POST", "/users", token, `{"username":"bob"}`, &bob)
	if !form.MatchString(ann.ID) || ann.Username != "ann" || ann != again || ann != found ||
		bob.ID == ann.ID {
		t.Errorf("login %+v, me %+v, by name %+v, another %+v", ann, again, found, bob)
	}
	var posts []string
	for range 2 {
		var p struct {
			ID        string `json:"id"`
			ChannelID string `json:"channel_id"`
			UserID    string `json:"user_id"`
			Message   string
		}
		at("POST", "/posts", token, `{"channel_id":"the-channel","message":"say \"hello\""}`, &p)
		if !form.MatchString(p.ID) || p.ChannelID != "the-channel" || p.UserID != ann.ID ||
			p.Message != `say "hello"` {
			t.Errorf("post %+v", p)
		}
		posts = append(posts, p.ID)
	}
	if posts[0] == posts[1] {
		t.Error("two posts have one id")
	}
	var list struct {
		Order []string
		Posts map[string]struct {
			ID        string
			ChannelID string `json:"channel_id"`
		}
	}
	at("GET", "/channels/cccccccccccccccccccccccccc/posts?page=0", token, "", &list)
	for _, id := range list.Order {
		if p := list.Posts[id]; p.ID != id || p.ChannelID != "cccccccccccccccccccccccccc" ||
			!form.MatchString(id) {
			t.Errorf("post %s of the order: %+v", id, p)
		}
	}
	if len(list.Order) != 3 || len(list.Posts) != 3 {
		t.Errorf("%d posts, %d in order, want 3", len(list.Posts), len(list.Order))
	}
}

func TestUpload(t *testing.T) {
	s := start(t, Config{})
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("files", "a.txt")
	noError(t, err)
	if _, err := io.WriteString(part, "twelve bytes"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var got struct {
		FileInfos []struct{ Size int } `json:"file_infos"`
	}
	_, b := do(
		t,
		http.DefaultClient,
		"POST",
		s.URL()+"/api/v4/files?channel_id=c",
		"t",
		form.String(),
		"Content-Type",
		w.FormDataContentType(),
	)
	if err := json.Unmarshal(b, &got); err != nil || len(got.FileInfos) != 1 ||
		got.FileInfos[0].Size != 12 {
		t.Errorf("%v: %s; want one file of 12 bytes", err, b)
	}
}

func TestPipelined(t *testing.T) {
	s := start(t, Config{Body: 10})
	c, err := net.Dial("tcp", s.Addr())
	noError(t, err)
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	for _, part := range []string{"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nab", "cGET /3 HTTP/1.1\r\nHost: x\r\nconnec", "tion: Close\r\n\r\n"} {
		if _, err := io.WriteString(c, part); err != nil {
			t.Fatal(err)
		}
		// so that they come apart; the outcome does not depend on it
		time.Sleep(10 * time.Millisecond)
	}
	r := bufio.NewReader(c)
	for i := range 3 {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("answer %d: %v", i+1, err)
		}
		if b, _ := io.ReadAll(resp.Body); resp.StatusCode != 200 || len(b) != 10 {
			t.Errorf("answer %d: %s, %q", i+1, resp.Status, b)
		}
	}
	if _, err := r.ReadByte(); err != io.EOF {
		t.Errorf("after Connection: close: %v, want EOF", err)
	}
	if n := s.Stats().Requests; n != 3 {
		t.Errorf("counted %d requests, want 3", n)
	}
}

func TestDelay(t *testing.T) {
	s := start(t, Config{Delay: time.Millisecond})
	for _, delay := range []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond} {
		for _, path := range []string{"/", "/api/v4/users/me"} {
			resp, _ := do(
				t,
				http.DefaultClient,
				"GET",
				s.URL()+path,
				"t",
				"",
				"X-Refnull-Delay",
				delay.String(),
			)
			ns, err := strconv.ParseInt(resp.Header.Get("X-Refnull-Took"), 10, 64)
			if err != nil || time.Duration(ns) < delay {
				t.Errorf("%s with delay %v took %v, %v", path, delay, time.Duration(ns), err)
			}
		}
	}
	took := s.Stats().Took
	if took["count"] != 6 || took["max"] < 0.020 || took["min"] > took["p50"] ||
		took["p50"] > took["max"] {
		t.Errorf("took %v", took)
	}
	do(
		t,
		http.DefaultClient,
		"GET",
		s.URL()+"/refnull/stats?reset",
		"",
		"",
		"X-Refnull-Delay",
		"0s",
	)
	if st := s.Stats(); st.Took != nil {
		t.Errorf("after reset: %+v", st)
	}
}

func TestStall(t *testing.T) {
	st := stall{length: 300 * time.Millisecond, after: 50 * time.Millisecond}
	st.armed.Store(true)
	first := time.Now()
	for _, tt := range []struct{ at, left time.Duration }{{0, 0}, {49, 0}, {50, 300}, {150, 200}, {349, 1}, {350, 0}} {
		if left := st.left(first.Add(tt.at * time.Millisecond)); left != tt.left*time.Millisecond {
			t.Errorf("%d ms after the first request %v are left, want %d ms", tt.at, left, tt.left)
		}
	}
	if st.armed.Load() {
		t.Error("the stall is over, and armed")
	}
	s := start(t, Config{StallFor: 300 * time.Millisecond})
	began := time.Now()
	do(t, http.DefaultClient, "GET", s.URL(), "", "")
	if d := time.Since(began); d < 300*time.Millisecond {
		t.Errorf("an answer came after %v in a stall of 300 ms", d)
	}
	began = time.Now()
	do(t, http.DefaultClient, "GET", s.URL()+"/refnull/stall?for=100ms", "", "")
	do(t, http.DefaultClient, "GET", s.URL(), "", "")
	if d := time.Since(began); d < 100*time.Millisecond {
		t.Errorf("an answer came after %v in a stall of 100 ms", d)
	}
	resp, _ := do(t, http.DefaultClient, "GET", s.URL()+"/refnull/stall?for=2h", "", "")
	if resp.StatusCode != 400 {
		t.Errorf("a stall of 2h: %s, want 400", resp.Status)
	}
}

func TestTLS(t *testing.T) {
	s := start(t, Config{TLS: true})
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(s.Certificate()) {
		t.Fatal("no certificate")
	}
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer tr.CloseIdleConnections()
	if resp, _ := do(t, &http.Client{Transport: tr}, "GET", s.URL()+"/", "", ""); resp.StatusCode != 200 {
		t.Error(resp.Status)
	}
}

func TestWebSocket(t *testing.T) {
	s := start(t, Config{Push: 100, ping: 50 * time.Millisecond})
	url := "ws" + strings.TrimPrefix(s.URL(), "http") + "/api/v4/websocket"
	c, _, err := websocket.DefaultDialer.DialContext(
		t.Context(),
		url,
		http.Header{"Authorization": {"Bearer t"}},
	)
	noError(t, err)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	pings := 0
	c.SetPingHandler(func(string) error { pings++; return nil })
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"action":"user_typing","seq":42,"data":{"channel_id":"`+strings.Repeat("c", 200)+`"}}`)); err != nil {
		t.Fatal(err)
	}
	next := int64(0)
	replies := 0
	posted := 0
	for posted < 20 || replies < 1 || pings < 2 {
		_, data, err := c.ReadMessage()
		if err != nil {
			t.Fatalf("after %d events, %d replies, %d pings: %v", posted, replies, pings, err)
		}
		var m struct {
			Event    string
			Status   string
			Seq      int64
			SeqReply int64 `json:"seq_reply"`
			Data     struct{ Post string }
		}
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if m.Event == "" {
			if m.Status != "OK" || m.SeqReply != 42 {
				t.Errorf("reply %s", data)
			}
			replies++
			continue
		}
		if m.Seq != next || (m.Event == "hello") != (next == 0) {
			t.Errorf("event %d is %s", next, data)
		}
		next++
		if m.Event == "posted" {
			posted++
			var p struct{ ID string }
			if err := json.Unmarshal([]byte(m.Data.Post), &p); err != nil || len(p.ID) != 26 {
				t.Errorf("post %q: %v", m.Data.Post, err)
			}
		}
	}
	// the last one is counted after it was sent
	if st := s.Stats(); st.Sockets != 1 || st.Pushed < 19 {
		t.Errorf("%+v", st)
	}
}

// Without a token in the handshake, the hello follows the challenge's answer, as the web app does
// it.
func TestChallenge(t *testing.T) {
	s := start(t, Config{})
	c, _, err := websocket.DefaultDialer.DialContext(
		t.Context(),
		"ws"+strings.TrimPrefix(s.URL(), "http")+"/api/v4/websocket",
		nil,
	)
	noError(t, err)
	defer c.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if err := c.WriteMessage(websocket.TextMessage, []byte(`{"seq":1,"action":"authentication_challenge","data":{"token":"t"}}`)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hello", `"seq_reply":1`} {
		if _, data, err := c.ReadMessage(); err != nil || !bytes.Contains(data, []byte(want)) {
			t.Errorf("got %s, %v; want %s", data, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		in        string
		n, status int
	}{
		{"", 0, 0},
		{"GET / HTTP/1.1\r\nHost: x\r\n", 0, 0},
		{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27, 0},
		{"GET / HTTP/1.1\r\n\r\nmore", 18, 0},
		{"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\nab", 40, 0},
		{"POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\na", 0, 0},
		{"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n", 0, 400},
		{"POST / HTTP/1.1\r\ncontent-length: 999999999\r\n\r\n", 0, 413},
		{"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", 0, 411},
		{"GET / HTTP/1.1\r\nx-refnull-delay: 2h\r\n\r\n", 0, 400},
		{"GET\r\n\r\n", 0, 400},
		{"GET / HTTP/1.1\r\nnonsense\r\n\r\n", 0, 400},
		{"GET /" + strings.Repeat("x", mostHead), 0, 431},
	} {
		var r request
		if n, status := parse([]byte(tt.in), &r); n != tt.n || status != tt.status {
			t.Errorf("%.60q: %d, %d; want %d, %d", tt.in, n, status, tt.n, tt.status)
		}
	}
}

// For any input, a request is parsed the same whether it came whole or with more behind it.
func FuzzParse(f *testing.F) {
	f.Add([]byte("POST /a?b HTTP/1.1\r\nContent-Length: 2\r\nAuthorization: Bearer t\r\n\r\nab"))
	f.Add([]byte("GET / HTTP/1.0\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var r, again request
		n, status := parse(b, &r)
		if n < 0 || n > len(b) || n > 0 && status != 0 {
			t.Fatalf("%d of %d bytes, status %d", n, len(b), status)
		}
		if n == 0 {
			return
		}
		if m, _ := parse(append(bytes.Clone(b[:n]), "GET /x HTTP/1.1\r\n\r\n"...), &again); m != n ||
			string(again.path) != string(r.path) ||
			string(again.body) != string(r.body) {
			t.Fatalf("%d bytes alone, %d with more behind them", n, m)
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{0x81, 0x82, 1, 2, 3, 4, 5, 6})
	f.Add([]byte{0x81, 0xfe, 0, 4, 1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, p, n := parseFrame(bytes.Clone(b)); n > len(b) || n > 0 && len(p) > n-6 || n < -1 {
			t.Fatalf("%d of %d bytes, payload %d", n, len(b), len(p))
		}
	})
}

func TestMain_usage(t *testing.T) {
	for _, args := range [][]string{{"-body=1"}, {"-stall=2s"}, {"-delay=2h"}, {"-cert=x"}, {"-push=-1"}, {"x"}, {"-nonsense"}} {
		if err := Main(t.Context(), append([]string{"-listen=127.0.0.1:0"}, args...), io.Discard); !errors.Is(
			err,
			ErrUsage,
		) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
}

// An answer costs no allocation: the server must not limit a measurement.
func TestAllocations(t *testing.T) {
	race.SkipBudget(t)
	s, err := New(Config{})
	noError(t, err)
	defer s.ln.Close()
	in := []byte(
		"GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: x\r\nAuthorization: Bearer abc\r\n\r\n",
	)
	out := make([]byte, 0, 4096)
	var r request
	if n := testing.AllocsPerRun(100, func() {
		if n, status := parse(in, &r); n != len(in) || status != 0 {
			t.Fatal(n, status)
		}
		if _, ok := s.answer(context.Background(), nil, out, &r); !ok {
			t.Fatal("no answer")
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
