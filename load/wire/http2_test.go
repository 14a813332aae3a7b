package wire

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A server that does not choose h2, with ALPN or without, fails the handshake by name.
func TestHTTP2Declined(t *testing.T) {
	for _, protocols := range [][]string{{"http/1.1"}, nil} {
		c := scriptH2(t, Config{}, protocols, func(conn net.Conn) { io.Copy(io.Discard, conn) })
		_, err := get(t, c)
		if e, ok := errors.AsType[*Error](err); !ok || e.Phase != PhaseTLS ||
			!errors.Is(err, ErrNoHTTP2) {
			t.Errorf("a server with %q: %v, want that it does not speak HTTP/2", protocols, err)
		}
	}
	if _, err := NewClient(Config{URL: "http://h", HTTP2: true}); err == nil {
		t.Error("HTTP/2 without TLS was accepted")
	}
}

// certified returns the configuration of a server of TLS at 127.0.0.1, and that of a client that
// trusts it.
func certified() (server, client *tls.Config) {
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	return srv.TLS, srv.Client().Transport.(*http.Transport).TLSClientConfig
}

// scriptH2 returns a client of HTTP/2 of a server that answers by hand, over TLS with these
// protocols.
func scriptH2(t *testing.T, cfg Config, protocols []string, conns ...func(net.Conn)) *Client {
	var server *tls.Config
	server, cfg.tls = certified()
	server.NextProtos = protocols
	var secure []func(net.Conn)
	for _, serve := range conns {
		secure = append(secure, func(conn net.Conn) { serve(tls.Server(conn, server)) })
	}
	cfg.HTTP2, cfg.URL = true, "https"+strings.TrimPrefix(script(t, secure...), "http")
	return newClient(t, cfg)
}

// A client that did not request HTTP/2 does not get it, even if the TLS configuration offers it.
func TestHTTP2Unasked(t *testing.T) {
	overAll(t, handler, func(t *testing.T, srv *httptest.Server, _ *Client) {
		cfg := clientConfig(srv, "")
		if cfg.HTTP2 {
			cfg.HTTP2, cfg.tls = false, cfg.tls.Clone()
			cfg.tls.NextProtos = []string{"h2"}
		}
		if resp, err := newClient(t, cfg).Do(t.Context(),
			&Request{Path: "/?mode=length&n=10"}); err != nil || resp.BodyBytes != 10 {
			t.Errorf("%d bytes, %v", resp.BodyBytes, err)
		}
	})
}

var onlyH2 = []string{"h2"}

// framer runs an HTTP/2 server by hand: prefaces and settings are exchanged, then serve is called
// per stream.
func framer(serve func(f *http2.Framer, stream uint32, nth int) bool) func(net.Conn) {
	return func(conn net.Conn) {
		if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := http2.NewFramer(conn, conn)
		f.WriteSettings()
		for nth := 0; ; {
			fr, err := f.ReadFrame()
			if err != nil {
				return
			}
			switch fr := fr.(type) {
			case *http2.SettingsFrame:
				if !fr.IsAck() {
					f.WriteSettingsAck()
				}
			case *http2.HeadersFrame:
				if !serve(f, fr.StreamID, nth) {
					return
				}
				nth++
			}
		}
	}
}

// status writes HEADERS with that status.
func status(f *http2.Framer, stream uint32, code string, end bool) {
	var b bytes.Buffer
	hpack.NewEncoder(&b).WriteField(hpack.HeaderField{Name: ":status", Value: code})
	f.WriteHeaders(http2.HeadersFrameParam{
		StreamID:      stream,
		BlockFragment: b.Bytes(),
		EndHeaders:    true,
		EndStream:     end,
	})
}

func TestHTTP2Faults(t *testing.T) {
	good := framer(func(f *http2.Framer, s uint32, _ int) bool {
		status(f, s, "200", true)
		return true
	})
	for _, tt := range []struct {
		name    string
		method  string
		serve   func(f *http2.Framer, s uint32, nth int) bool
		retried bool
		phase   Phase // of the second request; PhaseNone: none
		timeout bool
	}{
		{"refused", "POST", func(f *http2.Framer, s uint32, _ int) bool {
			f.WriteRSTStream(s, http2.ErrCodeRefusedStream)
			return true
		}, true, PhaseNone, false},
		{"reset", "POST", func(f *http2.Framer, s uint32, _ int) bool {
			f.WriteRSTStream(s, http2.ErrCodeInternal)
			return true
		}, false, PhaseHeader, false},
		{"closed, GET", "GET", func(*http2.Framer, uint32, int) bool {
			return false
		}, true, PhaseNone, false},
		{"closed, POST", "POST", func(*http2.Framer, uint32, int) bool {
			return false
		}, false, PhaseHeader, false},
		{"closed in the body", "GET", func(f *http2.Framer, s uint32, _ int) bool {
			status(f, s, "200", false)
			f.WriteData(s, false, []byte("x"))
			return false
		}, false, PhaseBody, false},
		{"reset in the body", "GET", func(f *http2.Framer, s uint32, _ int) bool {
			status(f, s, "200", false)
			f.WriteRSTStream(s, http2.ErrCodeInternal)
			return true
		}, false, PhaseBody, false},
		{"silent", "GET", func(*http2.Framer, uint32, int) bool {
			return true
		}, false, PhaseHeader, true},
		{"slow body", "GET", func(f *http2.Framer, s uint32, _ int) bool {
			status(f, s, "200", false)
			return true
		}, false, PhaseBody, true},
		{"body too large", "GET", func(f *http2.Framer, s uint32, _ int) bool {
			status(f, s, "200", false)
			f.WriteData(s, true, make([]byte, 2000))
			return true
		}, false, PhaseBody, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			serve := framer(func(f *http2.Framer, s uint32, nth int) bool {
				if nth == 0 {
					status(f, s, "204", true)
					return true
				}
				return tt.serve(f, s, nth)
			})
			c := scriptH2(t, Config{maxBody: 1000, Timeout: time.Minute}, onlyH2, serve, good)
			if resp, err := get(t, c); err != nil || resp.Status != 204 {
				t.Fatalf("first: %d, %v", resp.Status, err)
			}
			if tt.timeout {
				c.timeout = 2 * time.Second
			}
			resp, err := c.Do(t.Context(), &Request{Method: tt.method, Path: "/"})
			c.timeout = time.Minute
			e, _ := errors.AsType[*Error](err)
			if resp.Retried != tt.retried || (err == nil) != (tt.phase == PhaseNone) ||
				e != nil && (e.Phase != tt.phase || e.Timeout != tt.timeout) {
				t.Fatalf(
					"retried %v, %v; want retried %v, phase %v, timeout %v",
					resp.Retried,
					err,
					tt.retried,
					tt.phase,
					tt.timeout,
				)
			}
			if resp, err := get(t, c); err != nil || resp.Status != 200 {
				t.Errorf("afterwards: %d, %v", resp.Status, err)
			}
		})
	}
}

// FuzzFrameTap: the frames seen do not depend on how the bytes are cut, and END_STREAM is found
// where x/net finds it.
func FuzzFrameTap(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88\x00\x00\x02\x00\x01\x00\x00\x00\x01hi"))
	f.Add([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		read := func(r io.Reader) (data, first, last bool) {
			tap := &frameTap{Conn: tape{r: r}}
			io.Copy(io.Discard, struct{ io.Reader }{tap})
			a, b := tap.moments()
			return tap.data, !a.now.IsZero(), !b.now.IsZero()
		}
		d1, f1, l1 := read(bytes.NewReader(raw))
		d2, f2, l2 := read(iotest.OneByteReader(bytes.NewReader(raw)))
		if d1 != d2 || f1 != f2 || l1 != l2 {
			t.Fatalf("whole: %v %v %v, in bytes: %v %v %v", d1, f1, l1, d2, f2, l2)
		}
		end := false
		for ref := bytes.NewReader(raw); ; {
			h, err := http2.ReadFrameHeader(ref)
			if err != nil || int(h.Length) > ref.Len() {
				break
			}
			ref.Seek(int64(h.Length), io.SeekCurrent)
			end = end ||
				(h.Type == http2.FrameData || h.Type == http2.FrameHeaders) && h.Flags&1 != 0
		}
		if end != l1 {
			t.Fatalf("END_STREAM seen %v, x/net %v", l1, end)
		}
	})
}

// First is the last HEADERS before DATA, last the frame with END_STREAM, among any other frames.
func TestFrameTap(t *testing.T) {
	const headers, data, end = "\x00\x00\x01\x01\x04\x00\x00\x00\x01x", "\x00\x00\x02\x00\x00\x00\x00\x00\x01hi", "\x00\x00\x00\x00\x01\x00\x00\x00\x01"
	const trailers, settings, ping = "\x00\x00\x01\x01\x05\x00\x00\x00\x01x", "\x00\x00\x00\x04\x01\x00\x00\x00\x00", "\x00\x00\x08\x06\x00\x00\x00\x00\x0012345678"
	for _, tt := range []struct {
		frames      []string
		first, last int64 // which frame, from 1; 0 for none
	}{
		{[]string{headers, data, end}, 1, 3},
		{[]string{headers, headers, data, end, ping}, 2, 4},
		{[]string{settings, headers, data, trailers, settings}, 2, 4},
		{[]string{headers, data}, 1, 0},
		{[]string{trailers}, 1, 1},
		{[]string{ping, settings}, 0, 0},
	} {
		var tap frameTap
		for i, f := range tt.frames {
			for _, b := range []byte(f) {
				tap.see([]byte{b}, moment{stamp: int64(i + 1)})
			}
		}
		if first, last := tap.moments(); first.stamp != tt.first || last.stamp != tt.last {
			t.Errorf(
				"%q: first %d, last %d, want %d and %d",
				tt.frames,
				first.stamp,
				last.stamp,
				tt.first,
				tt.last,
			)
		}
	}
}
