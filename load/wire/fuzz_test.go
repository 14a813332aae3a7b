package wire

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// FuzzResponse: no panic; no more memory than the limits allow; the same result however the bytes
// are cut; and where net/http accepts the message too, the same message.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\n\r\nuntil the end",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.1 304\nA: b\nA: c\n\nx",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabcd",
		"HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 O\x00K\r\n\r\n",
		"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nConnection: close\r\n\r\nx",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=\"b\"\r\nab\r\n00;c\r\nD: e\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
	} {
		f.Add([]byte(s), uint8(0))
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, mode uint8) {
		method := []string{"GET", "HEAD", "POST"}[mode%3]
		const limit = 1 << 20
		do := func(r io.Reader, skip bool) (*Response, []byte, error) {
			c, err := NewClient(Config{URL: "http://h", maxBody: limit})
			must(t, err)
			defer c.Close()
			c.conn = tape{r: r}
			c.since = time.Now()
			c.o.dial = func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no second connection")
			}
			resp, err := c.Do(t.Context(), &Request{
				Method:   method,
				Path:     "/",
				SkipBody: skip,
				Header:   identity,
			})
			return resp, bytes.Clone(resp.Body), err
		}
		resp, body, err := do(bytes.NewReader(raw), false)
		if int64(len(body)) > limit {
			t.Fatalf("%d bytes of body", len(body))
		}
		again, body2, err2 := do(iotest.OneByteReader(bytes.NewReader(raw)), false)
		if (err == nil) != (err2 == nil) ||
			err == nil && (again.Status != resp.Status || !bytes.Equal(body, body2)) {
			t.Fatalf(
				"in one piece: %d %q %v; byte by byte: %d %q %v",
				resp.Status,
				body,
				err,
				again.Status,
				body2,
				err2,
			)
		}
		skipped, _, err3 := do(iotest.HalfReader(bytes.NewReader(raw)), true)
		if (err == nil) != (err3 == nil) || err == nil && skipped.BodyBytes != int64(len(body)) {
			t.Fatalf("kept: %d bytes, %v; skipped: %d, %v", len(body), err, skipped.BodyBytes, err3)
		}
		if err != nil {
			return
		}
		br := bufio.NewReader(bytes.NewReader(raw))
		for range maxInformational + 1 {
			ref, rerr := http.ReadResponse(br, &http.Request{Method: method})
			if rerr != nil {
				return // it is stricter here, or has other limits
			}
			if ref.StatusCode < 200 {
				continue
			}
			want, rerr := io.ReadAll(io.LimitReader(ref.Body, limit+1))
			if rerr != nil {
				return
			}
			if ref.StatusCode != resp.Status || !bytes.Equal(want, body) {
				t.Fatalf("ours: %d %q; net/http: %d %q", resp.Status, body, ref.StatusCode, want)
			}
			return
		}
	})
}

var identity = []Field{{"Accept-Encoding", "identity"}}

// FuzzFrames: no panic; no more memory than the limit; the same messages and the same end however
// the bytes are cut; and every message that is accepted can be found in the input.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{"\x81\x02hi", "\x01\x02he\x89\x01p\x80\x03llo\x88\x02\x03\xe8", "\x82\x7e\x00\x80" + strings.Repeat("x", 128), "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		read := func(r io.Reader) (msgs []string, last string) {
			w := &WS{conn: tape{r: r}, timeout: time.Second, watch: watch{reads: true}}
			w.rd.open(w.conn)
			for {
				op, data, _, err := w.Read(t.Context())
				if err != nil {
					return msgs, err.Error()
				}
				if len(data) > maxMessage || op != OpText && op != OpBinary {
					t.Fatalf("opcode %d, %d bytes", op, len(data))
				}
				msgs = append(msgs, string(data))
			}
		}
		whole, end := read(bytes.NewReader(raw))
		cut, end2 := read(iotest.OneByteReader(bytes.NewReader(raw)))
		if strings.Join(whole, "\x00|") != strings.Join(cut, "\x00|") || end != end2 {
			t.Fatalf("in one piece: %q %s; byte by byte: %q %s", whole, end, cut, end2)
		}
		total := 0
		for _, m := range whole {
			total += len(m)
		}
		if total > len(raw) {
			t.Fatalf("%d bytes of messages from %d bytes", total, len(raw))
		}
	})
}
