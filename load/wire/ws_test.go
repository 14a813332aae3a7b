package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

func mustDialWS(t *testing.T, cfg WSConfig) *WS {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	w, err := DialWS(t.Context(), cfg)
	must(t, err)
	t.Cleanup(func() { w.Close(CloseNormal, "") })
	return w
}

// receives fails the test unless the next message is this one.
func receives(t *testing.T, w *WS, want string) {
	t.Helper()
	if _, data, _, err := w.Read(t.Context()); err != nil || string(data) != want {
		t.Fatalf("%.30q of %d bytes, %v; want %.30q of %d", data, len(data), err, want, len(want))
	}
}

func wsURL(url string) string { return "ws" + strings.TrimPrefix(url, "http") }

// gorilla serves WebSocket with another implementation than ours.
func gorilla(
	t *testing.T,
	secure bool,
	serve func(*websocket.Conn, *http.Request),
) (url string, conf *tls.Config) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	return gorillaOn(t, l, secure, serve)
}

func gorillaOn(
	t *testing.T,
	l net.Listener,
	secure bool,
	serve func(*websocket.Conn, *http.Request),
) (url string, conf *tls.Config) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	closed := false // no handler may begin while they are waited for
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{}
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		mu.Lock()
		if closed {
			mu.Unlock()
			return
		}
		wg.Add(1)
		mu.Unlock()
		defer wg.Done()
		serve(c, r)
	})
	srv := unstarted(l, h)
	if secure {
		srv.StartTLS()
		conf = srv.Client().Transport.(*http.Transport).TLSClientConfig
	} else {
		srv.Start()
	}
	t.Cleanup(func() {
		srv.Close()
		mu.Lock()
		closed = true
		mu.Unlock()
		wg.Wait()
	})
	return wsURL(srv.URL), conf
}

func echo(c *websocket.Conn, _ *http.Request) {
	for {
		kind, data, err := c.ReadMessage()
		if err != nil {
			return
		}
		if c.WriteMessage(kind, data) != nil {
			return
		}
	}
}

func TestWSEcho(t *testing.T) {
	for _, secure := range []bool{false, true} {
		url, conf := gorilla(t, secure, echo)
		w := mustDialWS(t, WSConfig{URL: url + "/ws?a=b", tls: conf})
		for _, n := range []int{0, 1, 125, 126, 4000, 4096, 65535, 65536, 300_000, 1} {
			before := time.Now()
			must(t, w.WriteText(pattern(n)))
			op, data, at, err := w.Read(t.Context())
			if err != nil || op != OpText || !bytes.Equal(data, pattern(n)) {
				t.Fatalf("secure %v, n=%d: got %d bytes, %v", secure, n, len(data), err)
			}
			if at.Before(before) || at.After(time.Now()) {
				t.Errorf("n=%d: read at %v, not between %v and now", n, at, before)
			}
		}
	}
}

// echoFragments echoes long messages in several frames.
func echoFragments(c *websocket.Conn, _ *http.Request) {
	for {
		kind, data, err := c.ReadMessage()
		if err != nil {
			return
		}
		w, err := c.NextWriter(kind)
		if err != nil {
			return
		}
		for ; len(data) > 0; data = data[min(len(data), 1000):] {
			w.Write(data[:min(len(data), 1000)])
		}
		w.Close()
	}
}

func TestWSIdleHoldsNoBuffer(t *testing.T) {
	for _, secure := range []bool{false, true} {
		url, conf := gorilla(t, secure, echoFragments)
		w := mustDialWS(t, WSConfig{URL: url, tls: conf})
		w.WriteText(pattern(100_000))
		receives(t, w, string(pattern(100_000)))
		if w.kept == nil {
			t.Fatal("the message did not come in fragments")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		_, _, _, err := w.Read(ctx)
		cancel()
		if e := timedOut(err); e == nil || e.Phase != PhaseWS {
			t.Fatalf("got %v, want a time-out", err)
		}
		if w.rd.buf != nil || w.kept != nil {
			t.Error("an idle connection holds a buffer")
		}
		// The connection outlives the wait.
		w.WriteText([]byte("still here"))
		receives(t, w, "still here")
	}
}

func TestWSControlFrames(t *testing.T) {
	pongs := make(chan string, 1)
	url, _ := gorilla(t, false, func(c *websocket.Conn, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer tok" || r.Header.Get("X-Own") != "v" {
			c.WriteMessage(websocket.TextMessage, []byte("header missing"))
		}
		c.SetPongHandler(func(s string) error { pongs <- s; return nil })
		c.WriteControl(websocket.PingMessage, []byte("are you there"), time.Now().Add(time.Second))
		c.WriteMessage(websocket.TextMessage, []byte("after ping"))
		kind, data, err := c.ReadMessage()
		if err != nil || kind != websocket.TextMessage || string(data) != "hi" {
			c.WriteMessage(websocket.TextMessage, []byte("bad answer"))
			return
		}
		c.WriteControl(
			websocket.CloseMessage,
			websocket.FormatCloseMessage(4001, "bye"),
			time.Now().Add(time.Second),
		)
		c.ReadMessage()
	})
	w := mustDialWS(t, WSConfig{URL: url, Token: "tok", Header: []Field{{"X-Own", "v"}}})
	receives(t, w, "after ping")
	w.WriteText([]byte("hi"))
	_, data, _, err := w.Read(t.Context())
	if e, ok := errors.AsType[*CloseError](err); !ok || e.Code != 4001 || e.Reason != "bye" {
		t.Fatalf("got %q, %v, want the server's close", data, err)
	}
	if got := <-pongs; got != "are you there" {
		t.Errorf("pong carried %q", got)
	}
	if _, _, _, again := w.Read(t.Context()); again == nil || again.Error() != err.Error() {
		t.Errorf("second read: %v, want the same error", again)
	}
	if err := w.WriteText(nil); err == nil {
		t.Error("writing after close succeeded")
	}
}

func TestWSCloseEndsRead(t *testing.T) {
	closed := make(chan error, 1)
	url, _ := gorilla(t, false, func(c *websocket.Conn, _ *http.Request) {
		_, _, err := c.ReadMessage()
		closed <- err
	})
	w := mustDialWS(t, WSConfig{URL: url})
	got := make(chan error, 1)
	go func() { _, _, _, err := w.Read(t.Context()); got <- err }()
	time.Sleep(20 * time.Millisecond)
	must(t, w.Close(CloseNormal, "done"))
	if err := <-got; err == nil {
		t.Error("Read returned no error")
	}
	if err := <-closed; !websocket.IsCloseError(err, CloseNormal) {
		t.Errorf("the server saw %v, want a normal close", err)
	}
}

func TestWSConcurrentWrites(t *testing.T) {
	url, _ := gorilla(t, false, echo)
	w := mustDialWS(t, WSConfig{URL: url})
	const writers, each = 4, 50
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := range each {
				if err := w.WriteText(pattern(i * 100)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range writers * each {
		_, data, _, err := w.Read(t.Context())
		if err != nil || !bytes.Equal(data, pattern(len(data))) {
			t.Fatalf("got %d bytes, %v", len(data), err)
		}
	}
	wg.Wait()
}

// switched is the answer to a request for a WebSocket.
func switched(req *http.Request) string {
	return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n" +
		"Connection: keep-alive, Upgrade\r\nSec-WebSocket-Accept: " +
		acceptKey(req.Header.Get("Sec-WebSocket-Key")) + "\r\n\r\n"
}

// frames returns a server that shakes hands properly and then sends raw bytes, piece by piece.
func frames(t *testing.T, raw string, piece int) string {
	return wsURL(script(t, func(conn net.Conn) {
		req, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		io.WriteString(conn, switched(req)+raw[:min(piece, len(raw))])
		for raw := raw[min(piece, len(raw)):]; raw != ""; raw = raw[min(piece, len(raw)):] {
			io.WriteString(conn, raw[:min(piece, len(raw))])
		}
		conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
	}))
}

func TestWSFrames(t *testing.T) {
	long := string(pattern(70_000))
	huge := string(binary.BigEndian.AppendUint64(nil, 700_000)) + string(pattern(700_000))
	head64 := "\x81\x7f" + string(binary.BigEndian.AppendUint64(nil, 70_000))
	for _, tt := range []struct {
		name, raw string
		want      []string // messages
		err       string   // after them
	}{
		{"one", "\x81\x02hi", []string{"hi"}, "EOF"},
		{"three in one piece", "\x81\x02hi\x82\x00\x81\x01x", []string{"hi", "", "x"}, "EOF"},
		{"fragments with a ping between", "\x01\x02he\x89\x01p\x00\x01l\x80\x02lo\x81\x01!", []string{"hello", "!"}, "EOF"},
		{"long", head64 + long + "\x81\x01x", []string{long, "x"}, "EOF"},
		{"long fragments", "\x01\x7e\x13\x88" + long[:5000] + "\x80\x7e\x13\x88" + long[5000:10000], []string{long[:10000]}, "EOF"},
		{"pong unasked", "\x8a\x00\x81\x01x", []string{"x"}, "EOF"},
		{"close without a code", "\x88\x00", nil, "1005"},
		{"close with half a code", "\x88\x01x", nil, "half a code"},
		{"close with a code that is not for the wire", "\x88\x02\x03\xed", nil, "1005, which must not be sent"},
		{"close with a code out of range", "\x88\x02\x00\x01", nil, "code 1, which must not be sent"},
		{"close with a reason that is no text", "\x88\x03\x03\xe8\xff", nil, "not UTF-8"},
		{"close between fragments", "\x01\x01a\x88\x02\x03\xe8\x80\x01b", nil, "1000"},
		{"text that is not UTF-8", "\x81\x02\xc3\x28", nil, "not UTF-8"},
		{"a character cut by fragments", "\x01\x01\xc3\x80\x01\xa9\x81\x01x", []string{"\u00e9", "x"}, "EOF"},
		{"a character cut by the end", "\x01\x01a\x80\x01\xc3", nil, "not UTF-8"},
		{"binary that is not UTF-8", "\x82\x02\xc3\x28", []string{"\xc3\x28"}, "EOF"},
		{"reserved bit of a control frame", "\xc9\x00", nil, "reserved bits"},
		{"many pings between", "\x01\x01a" + strings.Repeat("\x89\x01p", mostControls) + "\x80\x01b", []string{"ab"}, "EOF"},
		{"reserved bit", "\xc1\x02hi", nil, "reserved bits"},
		{"masked", "\x81\x82abcdhi", nil, "masked"},
		{"unknown opcode", "\x83\x00", nil, "unknown opcode"},
		{"long control frame", "\x89\x7e\x00\x80", nil, "control frame"},
		{"fragmented control frame", "\x09\x00", nil, "control frame"},
		{"length too short for 16 bits", "\x81\x7e\x00\x01x", nil, "shortest form"},
		{"length too short for 64 bits", "\x81\x7f\x00\x00\x00\x00\x00\x00\x00\x01x", nil, "shortest form"},
		{"length negative", "\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x01x", nil, "negative"},
		{"length absurd", "\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", nil, "larger than allowed"},
		{"sum of fragments too large", "\x01\x7f" + huge + "\x80\x7f" + huge, nil, "larger than allowed"},
		{"message within a message", "\x01\x01a\x81\x01b", nil, "within another"},
		{"continuation first", "\x80\x01a", nil, "without a beginning"},
		{"cut in the head", "\x81", nil, "unexpected EOF"},
		{"cut in the payload", "\x81\x05he", nil, "unexpected EOF"},
	} {
		for _, piece := range []int{1 << 20, 1, 7} {
			t.Log(tt.name, "in pieces of", piece)
			if piece == 1 && len(tt.raw) > 60_000 || piece == 7 && len(tt.raw) > 600_000 {
				continue
			}
			w := mustDialWS(t, WSConfig{URL: frames(t, tt.raw, piece)})
			for _, want := range tt.want {
				receives(t, w, want)
			}
			_, _, _, err := w.Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s, pieces of %d: got %v, want %s", tt.name, piece, err, tt.err)
			}
			if w.rd.buf != nil || w.kept != nil {
				t.Errorf("%s: buffers are held after the end", tt.name)
			}
		}
	}
}

func TestWSHandshakeRefused(t *testing.T) {
	for _, tt := range []struct{ name, raw, text string }{
		{"401", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nnope", "401"},
		{"200", "HTTP/1.1 200 OK\r\n\r\nhello", "200"},
		{"wrong accept", "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: AAAA\r\n\r\n", "Accept"},
		{"no upgrade", "HTTP/1.1 101 S\r\nConnection: Upgrade\r\n\r\n", "lacks Upgrade"},
		{"not http", "hello\r\n\r\n", "status line"},
		{"closed", "", "EOF"},
	} {
		_, err := DialWS(t.Context(), WSConfig{
			URL:     wsURL(script(t, say(tt.raw))),
			Timeout: time.Minute,
		})
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Phase != PhaseWS || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.text)
		}
		if h, ok := errors.AsType[*HandshakeError](err); tt.name == "401" &&
			(!ok || h.Status != 401 || string(h.Body) != "nope") {
			t.Errorf("401: got %+v", h)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		silent := piped(func(c net.Conn) { io.Copy(io.Discard, c) })
		_, err := DialWS(t.Context(), WSConfig{
			URL:     "ws://host",
			Dial:    silent,
			Timeout: time.Minute,
		})
		if e := timedOut(err); e == nil || e.Phase != PhaseWS {
			t.Errorf("silent: got %v, want a time-out", err)
		}
	})
}

// Pings are signs of life: a connection on which nothing else comes goes on, and ends when nothing
// at all comes.
func TestWSPingsAreSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := piped(func(conn net.Conn) {
			r := bufio.NewReader(conn)
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			io.WriteString(conn, switched(req))
			go func() {
				for range 5 {
					time.Sleep(time.Minute)
					io.WriteString(conn, "\x89\x00")
				}
				io.WriteString(conn, "\x81\x02hi")
			}()
			io.Copy(io.Discard, r) // the pongs
		})
		const idle = 150 * time.Second
		w := mustDialWS(t, WSConfig{URL: "ws://host/", Idle: idle, Dial: dial})
		defer w.Drop()
		receives(t, w, "hi") // after five minutes of pings
		from := time.Now()
		if _, _, _, err := w.Read(t.Context()); timedOut(err) == nil || time.Since(from) != idle {
			t.Errorf(
				"%v after %v without a sign of life, want a time-out after %v",
				err,
				time.Since(from),
				idle,
			)
		}
		if _, _, _, err := w.Read(t.Context()); err == nil {
			t.Error("a connection without a sign of life goes on")
		}
	})
}

func TestMaskAndAppendFrame(t *testing.T) {
	for n := range 40 {
		b, key := pattern(n), [4]byte{1, 2, 3, 4}
		mask(b, key)
		for i := range b {
			if b[i] != pattern(n)[i]^key[i%4] {
				t.Fatalf("n=%d: byte %d wrongly masked", n, i)
			}
		}
	}
}
