package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// h2 makes connections; it holds none itself. It dials what the context has, and takes it for one
// on which HTTP/2 was agreed.
var h2 = func() *http.Transport {
	t := &http.Transport{
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetUnencryptedHTTP2(true)
	t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return ctx.Value(dialed{}).(net.Conn), nil
	}
	return t
}()

// dialed is the key of a connection in the context of h2.
type dialed struct{}

// An h2conn is a connection on which HTTP/2 was agreed. One stream at a time is open.
type h2conn struct {
	cc  *http.ClientConn
	tap *frameTap
}

func newH2(conn net.Conn) (*h2conn, error) {
	tap := &frameTap{Conn: conn, sock: sockOf(conn)}
	cc, err := h2.NewClientConn(
		context.WithValue(context.Background(), dialed{}, tap),
		"http",
		"target:443",
	)
	if err != nil {
		return nil, err
	}
	return &h2conn{cc, tap}, nil
}

// A frameTap sees the frames that a server sends on their way to the HTTP/2 transport, which reads
// them in a goroutine of its own, and notes when they came. It implements the needed part of RFC
// 9113, 4.1: nine bytes of head, the first three of which are the length.
type frameTap struct {
	net.Conn
	sock *sock

	// Of the frame under way; only Read touches them.
	head [9]byte
	have int
	left int

	mu    sync.Mutex
	data  bool   // the response has begun to have a body
	first moment // of the last HEADERS before that
	last  moment // of the frame with END_STREAM
}

const (
	frameData     = 0
	frameHeaders  = 1
	flagEndStream = 1
)

// begin drops the last response.
func (f *frameTap) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.data = false
	f.first = moment{}
	f.last = moment{}
}

func (f *frameTap) moments() (first, last moment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first, f.last
}

// Read implements io.Reader.
func (f *frameTap) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if n > 0 {
		f.see(p[:n], momentOf(f.sock))
	}
	return n, err
}

func (f *frameTap) see(p []byte, m moment) {
	for len(p) > 0 || f.have == len(f.head) && f.left == 0 {
		if f.have < len(f.head) {
			n := copy(f.head[f.have:], p)
			f.have, p = f.have+n, p[n:]
			if f.have < len(f.head) {
				return
			}
			f.left = int(binary.BigEndian.Uint32(f.head[:4]) >> 8)
		}
		n := min(f.left, len(p))
		f.left, p = f.left-n, p[n:]
		if f.left > 0 {
			return
		}
		f.have = 0
		f.end(f.head[3], f.head[4], m)
	}
}

// end notes the end of a frame.
func (f *frameTap) end(kind, flags byte, m moment) {
	if kind != frameData && kind != frameHeaders {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if kind == frameData {
		f.data = true
	} else if !f.data {
		f.first = m
	}
	if flags&flagEndStream != 0 {
		f.last = m
	}
}

// A streamError is the error of a stream by the names of its fields, for which net/http fills it
// in.
type streamError struct {
	StreamID, Code uint32
	Cause          error
}

func (e streamError) Error() string { return e.Cause.Error() }

// refusedStream is the code of a stream that the server has not processed.
const refusedStream = 7

// exchange2 is exchange over HTTP/2.
func (c *Client) exchange2(ctx context.Context, l limit, req *Request) (e *Error, untouched bool) {
	ctx, cancel := l.context(ctx)
	defer cancel()
	c.h2.tap.begin()
	resp, err := c.h2.cc.RoundTrip(c.request2(ctx, req))
	if err != nil {
		if e, ok := errors.AsType[streamError](err); ok && e.Code == refusedStream {
			return newError(ctx, PhaseHeader, err), true // RFC 9113, 8.7
		}
		return newError(ctx, PhaseHeader, err), req.replayable()
	}
	defer resp.Body.Close()
	c.resp.Status = resp.StatusCode
	first, _ := c.h2.tap.moments()
	c.began(first)
	c.keepHeader(resp.Header)
	if err := c.readBody2(req, resp); err != nil {
		return newError(ctx, PhaseBody, err), false
	}
	_, last := c.h2.tap.moments()
	c.finish(last)
	return nil, false
}

// request2 translates req.
func (c *Client) request2(ctx context.Context, req *Request) *http.Request {
	h := http.Header{"User-Agent": {""}} // an empty one means none
	if c.agent != "" {
		h["User-Agent"] = []string{c.agent}
	}
	if !req.asksEncoding() {
		h["Accept-Encoding"] = []string{"gzip"}
	}
	if req.Token != "" {
		h["Authorization"] = []string{"Bearer " + req.Token}
	}
	if ct := req.ContentType; ct != "" {
		h["Content-Type"] = []string{ct}
	}
	for _, f := range req.Header {
		h.Add(f.Name, f.Value)
	}
	r := &http.Request{
		Method:        req.method(),
		Host:          c.o.host,
		Header:        h,
		Body:          http.NoBody,
		ContentLength: int64(len(req.Body)),
		URL:           &url.URL{Scheme: "https", Host: c.o.host, Opaque: c.o.path + req.Path},
	}
	if len(req.Body) > 0 {
		r.Body = io.NopCloser(bytes.NewReader(req.Body))
	}
	return r.WithContext(ctx)
}

// keepHeader puts the header into the form in which HTTP/1.1 brings it.
func (c *Client) keepHeader(h http.Header) {
	if c.rd.buf == nil {
		c.rd.buf = getBuffer(c.rd.of)
	}
	b := c.rd.buf.b[:0]
	for name, values := range h {
		for _, v := range values {
			b = append(b, name...)
			b = appendField(b, ": ", v)
		}
	}
	c.resp.Header.raw = b
	c.rd.buf.b = b[:cap(b)]
}

func (c *Client) readBody2(req *Request, resp *http.Response) error {
	most, unzip := c.most(req, resp.StatusCode), false
	if coding := resp.Header["Content-Encoding"]; len(coding) == 1 && !req.asksEncoding() &&
		req.method() != "HEAD" {
		unzip = strings.EqualFold(coding[0], "gzip") || strings.EqualFold(coding[0], "x-gzip")
	}
	if !unzip && resp.ContentLength > most && req.method() != "HEAD" {
		return ErrBodySize
	}
	return c.take(resp.Body, unzip, req.skips(resp.StatusCode), most)
}
