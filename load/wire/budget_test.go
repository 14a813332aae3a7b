package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/race"
)

// bomb returns n zeros, compressed.
func bomb(t testing.TB, n int) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	zeros := make([]byte, 64<<10)
	for ; n > 0; n -= len(zeros) {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	must(t, z.Close())
	return b.String()
}

// endless answers one request with head and then with more until the client has gone.
func endless(head, more string) func(net.Conn) {
	more = strings.Repeat(more, max(1, 64<<10/len(more)))
	return func(conn net.Conn) {
		if readRequest(conn) == "" {
			return
		}
		_, err := io.WriteString(conn, head)
		for err == nil {
			_, err = io.WriteString(conn, more)
		}
	}
}

const okHead = "HTTP/1.1 200 OK\r\n"

// bodies are the ways in which a server sends more than a client accepts.
func hostileBodies(t testing.TB) map[string]func(net.Conn) {
	gz := bomb(t, 16<<20)
	return map[string]func(net.Conn){
		"announced": endless(okHead+"Content-Length: 62914560\r\n\r\n", `{"a":1},`),
		"endless":   endless(okHead+"\r\n", "x"),
		"endless chunks": endless(
			okHead+"Transfer-Encoding: chunked\r\n\r\n",
			"3e8\r\n"+strings.Repeat("x", 1000)+"\r\n",
		),
		"endless tiny chunk": endless(okHead+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
		"gzip bomb": say(fmt.Sprintf(
			"%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s",
			okHead,
			len(gz),
			gz,
		)),
		// Members follow each other without an end.
		"gzip bomb in gzip": endless(okHead+"Content-Encoding: gzip\r\n\r\n", gz),
	}
}

// An answer beyond 4 MiB, decoded, fails in phase body, kept or not; its connection is closed, it
// is counted, and none of it is held.
func TestABodyBeyondItsLimitIsRefused(t *testing.T) {
	for name, server := range hostileBodies(t) {
		for _, skip := range []bool{false, true} {
			budget := NewBudget(64 << 20)
			c := newClient(t, Config{URL: script(t, server, ok(9)), budget: budget})
			before := Refused()
			resp, err := c.Do(t.Context(), &Request{Path: "/", SkipBody: skip})
			e, isError := errors.AsType[*Error](err)
			if !isError || e.Phase != PhaseBody || e.Err != ErrBodySize || e.Timeout {
				t.Fatalf(
					"%s, skipped %v: got %v, want a body that is larger than allowed",
					name,
					skip,
					err,
				)
			}
			if got := Refused().Sub(before); got.Bodies != 1 || got.Beyond() != 1 {
				t.Errorf("%s, skipped %v: counted as %+v, want one body", name, skip, got)
			}
			if c.conn != nil {
				t.Errorf("%s, skipped %v: the connection was kept", name, skip)
			}
			if peak, most := budget.Peak(), int64(DefaultMaxBody)*3/2+gunzipSize+keepBuffer; peak > most ||
				resp.BodyBytes > 2*DefaultMaxBody {
				t.Errorf(
					"%s, skipped %v: held %d bytes at once, want at most %d; %d were decoded",
					name,
					skip,
					peak,
					most,
					resp.BodyBytes,
				)
			}
			if c.Release(); budget.Used() != 0 {
				t.Errorf("%s, skipped %v: %d bytes stay taken", name, skip, budget.Used())
			}
			answers(t, c)
		}
	}
}

// A request may raise the limit for itself, and lower it.
func TestARequestHasALimitOfItsOwn(t *testing.T) {
	for _, tt := range []struct {
		n    int
		most int64
		fits bool
	}{{DefaultMaxBody, 0, true}, {DefaultMaxBody + 1, 0, false}, {DefaultMaxBody + 1, 5 << 20, true}, {2000, 1999, false}, {2000, 2000, true}} {
		for _, head := range []string{fmt.Sprintf("%sContent-Length: %d\r\n\r\n", okHead, tt.n), okHead + "\r\n"} {
			c := newClient(t, Config{URL: script(t, say(head+strings.Repeat("x", tt.n)))})
			resp, err := c.Do(t.Context(), &Request{Path: "/", MaxBody: tt.most})
			if (err == nil) != tt.fits || tt.fits && len(resp.Body) != tt.n ||
				!tt.fits && !errors.Is(err, ErrBodySize) {
				t.Errorf(
					"%d bytes with the limit %d: got %d, %v",
					tt.n,
					tt.most,
					len(resp.Body),
					err,
				)
			}
		}
	}
}

// The body of an answer with a status of 400 or above is kept although the request skips bodies,
// because it has the reason, and up to the client's limit: that of the request is one of bytes that
// nobody keeps.
func TestTheReasonOfAFailureIsKept(t *testing.T) {
	overAll(t, handler, func(t *testing.T, _ *httptest.Server, c *Client) {
		for _, mode := range []string{"length", "chunked", "gzip"} {
			for _, tt := range []struct {
				status, n int
				kept      bool
				err       error
			}{{200, 100, false, nil}, {399, 100, false, nil}, {400, 100, true, nil}, {503, 70_000, true, nil},
				{200, DefaultMaxBody + 1, false, nil}, {403, DefaultMaxBody + 1, false, ErrBodySize}} {
				resp, err := c.Do(t.Context(), &Request{
					Path:     fmt.Sprintf("/?mode=%s&status=%d&n=%d", mode, tt.status, tt.n),
					SkipBody: true,
					MaxBody:  2 * DefaultMaxBody,
				})
				var want []byte
				if tt.kept {
					want = pattern(tt.n)
				}
				if !errors.Is(err, tt.err) || resp.Status != tt.status ||
					!bytes.Equal(resp.Body, want) ||
					err == nil && resp.BodyBytes != int64(tt.n) {
					t.Errorf("%s, status %d, %d bytes: kept %d, counted %d, %v", mode, tt.status,
						tt.n, len(resp.Body), resp.BodyBytes, err)
				}
			}
		}
	})
}

// All clients together hold no more than the budget; an answer that does not fit fails in phase
// body and is counted; a small one always fits.
func TestABudgetBoundsAllClients(t *testing.T) {
	const clients = 20
	server := hostileBodies(t)["endless"]
	for _, limit := range []int64{0, 100 << 10, 3 << 20, 30 << 20} {
		budget := NewBudget(limit)
		before := Refused()
		var wg sync.WaitGroup
		for range clients {
			url := script(t, server, ok(9))
			wg.Go(func() {
				c, err := NewClient(Config{URL: url, budget: budget})
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				_, err = get(t, c)
				if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseBody ||
					e.Err != ErrBudget && e.Err != ErrBodySize {
					t.Errorf("limit %d: got %v, want phase body", limit, err)
				}
				answers(t, c)
			})
		}
		wg.Wait()
		got := Refused().Sub(before)
		if got.Bodies+got.Budget != clients || limit < DefaultMaxBody && got.Bodies > 0 {
			t.Errorf("limit %d: %+v, want %d in all", limit, got, clients)
		}
		if peak := budget.Peak(); peak > limit || budget.Used() != 0 {
			t.Errorf("limit %d: %d bytes at once, %d stay taken", limit, peak, budget.Used())
		}
	}
}

func TestReserveEndsWithTheResponse(t *testing.T) {
	budget := NewBudget(1000)
	c := newClient(t, Config{URL: script(t, ok(9)), budget: budget})
	if _, err := get(t, c); err != nil {
		t.Fatal(err)
	}
	if err := c.Reserve(600); err != nil {
		t.Error(err)
	}
	before := Refused()
	if e, ok := errors.AsType[*Error](c.Reserve(600)); !ok || e.Phase != PhaseBody ||
		e.Err != ErrBudget ||
		Refused().Sub(before).Budget != 1 {
		t.Errorf("more than there is: %v, %+v", e, Refused().Sub(before))
	}
	if c.Release(); budget.Used() != 0 {
		t.Errorf("%d bytes stay taken", budget.Used())
	}
}

// frame is a frame of a server.
func frame(first byte, payload string) string {
	switch n := len(payload); {
	case n < 126:
		return string([]byte{first, byte(n)}) + payload
	case n < 1<<16:
		return string(binary.BigEndian.AppendUint16([]byte{first, 126}, uint16(n))) + payload
	default:
		return string(binary.BigEndian.AppendUint64([]byte{first, 127}, uint64(n))) + payload
	}
}

// Messages, fragments and control frames beyond the limits of a WebSocket end the connection in
// phase websocket and are counted; none of them are held.
func TestAWebSocketBeyondItsLimitsIsClosed(t *testing.T) {
	count := func(r Refusals) [4]int64 {
		return [4]int64{r.Messages, r.Fragments, r.Controls, r.Budget}
	}
	big := strings.Repeat("x", 5<<20)
	for _, tt := range []struct {
		name, raw string
		limit     int64 // of the budget
		err       error
		counted   [4]int64
	}{
		{"a message of 5 MiB", frame(0x81, big), 64 << 20, ErrMessageSize, [4]int64{1}},
		{"a message of 5 MiB in fragments", frame(1, big[:900_000]) + strings.Repeat(frame(0, big[:100_000]), 50), 64 << 20, ErrMessageSize, [4]int64{1}},
		{"endless fragments", "\x01\x01a" + strings.Repeat("\x00\x01b", 10_000), 64 << 20, ErrFragments, [4]int64{0, 1}},
		{"endless empty fragments", "\x01\x00" + strings.Repeat("\x00\x00", 10_000), 64 << 20, ErrFragments, [4]int64{0, 1}},
		{"pings", strings.Repeat("\x89\x7d"+big[:125], 10_000), 64 << 20, ErrControls, [4]int64{0, 0, 1}},
		{"pongs", strings.Repeat("\x8a\x00", 10_000), 64 << 20, ErrControls, [4]int64{0, 0, 1}},
		{"pings between fragments", "\x01\x01a" + strings.Repeat("\x89\x00\x00\x01b", 10_000), 64 << 20, ErrControls, [4]int64{0, 0, 1}},
		{"no room for a message", frame(0x81, big[:100_000]), 50_000, ErrBudget, [4]int64{0, 0, 0, 1}},
		{"no room for fragments", strings.Repeat(frame(1, big[:3000])+strings.Repeat(frame(0, big[:3000]), 30), 2), 20_000, ErrBudget, [4]int64{0, 0, 0, 1}},
	} {
		budget := NewBudget(tt.limit)
		w := mustDialWS(t, WSConfig{URL: frames(t, "\x81\x02hi"+tt.raw, 1<<30), budget: budget})
		receives(t, w, "hi")
		before := Refused()
		_, _, _, err := w.Read(t.Context())
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseWS || e.Err != tt.err {
			t.Errorf("%s: got %v, want %v in phase websocket", tt.name, err, tt.err)
		}
		if got := count(Refused().Sub(before)); got != tt.counted {
			t.Errorf("%s: counted as %v, want %v", tt.name, got, tt.counted)
		}
		if err := w.WriteText(nil); err == nil {
			t.Errorf("%s: the connection still stands", tt.name)
		}
		if peak, most := budget.Peak(), min(tt.limit, 3*maxMessage); peak > most ||
			budget.Used() != 0 {
			t.Errorf(
				"%s: held %d bytes at once, want at most %d; %d stay taken",
				tt.name,
				peak,
				most,
				budget.Used(),
			)
		}
	}
}

// A message as large as a server may send one passes, whole and in fragments, with as many pings as
// are allowed.
func TestAWebSocketWithinItsLimitsIsRead(t *testing.T) {
	text := string(pattern(maxMessage))
	cut := text
	var b strings.Builder
	for first := byte(1); len(cut) > leastFragment; first = 0 {
		b.WriteString(frame(first, cut[:leastFragment]))
		cut = cut[leastFragment:]
	}
	raw := strings.Repeat("\x89\x01p", mostControls) + frame(0x81, text) + b.String() + frame(0x80, cut)
	budget := NewBudget(8 << 20)
	w := mustDialWS(t, WSConfig{URL: frames(t, raw, 1<<30), budget: budget})
	receives(t, w, text)
	receives(t, w, text)
	if w.forget(); budget.Used() != 0 {
		t.Errorf("%d bytes stay taken", budget.Used())
	}
}

// To account for a response costs no allocation: the buffers, which grow, come back from the pool.
func TestBudgetAllocations(t *testing.T) {
	race.SkipBudget(t)
	budget := NewBudget(1 << 20)
	c := newClient(t, Config{URL: "http://h", budget: budget})
	most := int64(0)
	large := &loop{text: okHead + "Content-Length: 32000\r\n\r\n" + strings.Repeat("x", 32_000)}
	n := testing.AllocsPerRun(500, func() {
		c.conn = tape{r: large}
		resp, err := get(t, c)
		if err != nil || len(resp.Body) != 32_000 {
			t.Fatalf("%d bytes, %v", len(resp.Body), err)
		}
		most = max(most, budget.Used())
		c.Release()
	})
	if n >= 3 { // one is of the connection, one of the test; a collection empties the pool
		t.Errorf("a response of 32,000 bytes allocates %.1f times, budget 2", n)
	}
	if most < 32_000-smallBuffer || budget.Used() != 0 {
		t.Errorf("%d bytes were taken at most, and %d stay taken", most, budget.Used())
	}
}

// Who gives up a message in the middle and never gives its buffer back, as a panic does, leaves no
// hole in the budget.
func TestALostBufferIsRefunded(t *testing.T) {
	budget := NewBudget(1 << 20)
	func() {
		b := getBuffer(budget)
		if err := b.grow(0, 200_000, 200_000); err != nil ||
			budget.Used() != int64(cap(b.b)-smallBuffer) {
			t.Fatalf("%v, %d bytes taken for %d", err, budget.Used(), cap(b.b))
		}
	}()
	for range 1000 { // cleanups run some time after the collection
		if runtime.GC(); budget.Used() == 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Errorf("%d bytes stay taken", budget.Used())
}
