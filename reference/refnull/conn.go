package refnull

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	firstBuffer = 2 << 10  // of a connection; held while it is idle
	mostRequest = 16 << 20 // head and body together: an uploaded file
	mostHead    = 64 << 10
)

// A request is a parsed request. Its slices point into the connection's buffer.
type request struct {
	method, path, query []byte
	body                []byte
	token, key          []byte // bearer token; Sec-WebSocket-Key
	delay               time.Duration
	close, upgrade, get bool
	args                [4][]byte // of the path, where the table has a star
}

// serve answers one connection's requests until it ends. Requests that came together are answered
// together.
func (s *Server) serve(ctx context.Context, c net.Conn) {
	var (
		in   = make([]byte, firstBuffer)
		from int // of the bytes not yet parsed
		to   int
		out  []byte
		r    request
	)
	for {
		n, status := parse(in[from:to], &r)
		switch {
		case status != 0:
			// It is being closed anyway.
			_, _ = c.Write(append(out, appendHead(nil, status, 0, -1, "Connection", "close")...))
			return
		case n > 0:
			from += n
			s.requests.Add(1)
			if r.upgrade {
				s.websocket(c, out, &r, in[from:to])
				return
			}
			var ok bool
			if out, ok = s.answer(ctx, c, out, &r); !ok {
				return
			}
			if r.close {
				_, _ = c.Write(out)
				return
			}
			if from < to {
				continue
			}
		}
		if len(out) > 0 {
			if _, err := c.Write(out); err != nil {
				return
			}
			if out = out[:0]; cap(out) > 64<<10 {
				out = nil
			}
		}
		if from == to {
			from, to = 0, 0
			if len(in) > 16*firstBuffer {
				in = make([]byte, firstBuffer)
			}
		}
		if to == len(in) {
			if from > 0 {
				to = copy(in, in[from:to])
				from = 0
			} else {
				in = append(in, make([]byte, len(in))...)
			}
		}
		m, err := c.Read(in[to:])
		if err != nil {
			return
		}
		to += m
	}
}

// answer appends the response. It reports false when the connection or the server has ended.
func (s *Server) answer(ctx context.Context, c net.Conn, out []byte, r *request) ([]byte, bool) {
	delay := s.cfg.Delay
	if r.delay >= 0 {
		delay = r.delay
	}
	took := time.Duration(-1)
	if delay > 0 || r.delay >= 0 || s.stall.armed.Load() {
		start := time.Now()
		if len(out) > 0 { // answers before this one are not to wait
			if _, err := c.Write(out); err != nil {
				return nil, false
			}
			out = out[:0]
		}
		if !sleep(ctx, delay) {
			return nil, false
		}
		if s.stall.armed.Load() && !sleep(ctx, s.stall.left(time.Now())) {
			return nil, false
		}
		if took = time.Since(start); delay > 0 || r.delay >= 0 {
			s.took.add(took)
		}
	}
	if !bytes.HasPrefix(r.path, []byte("/api/v4/")) &&
		!bytes.HasPrefix(r.path, []byte("/refnull/")) {
		if took < 0 {
			return append(out, s.fixed...), true
		}
		return append(appendHead(out, 200, len(s.body), took), s.body...), true
	}
	return s.api(out, r, took), true
}

// sleep reports false when the server ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// parse reads one request from the beginning of b and returns its length; 0 if it is not complete,
// or the status with which to refuse it.
func parse(b []byte, r *request) (n, status int) {
	if len(b) == 0 {
		return 0, 0
	}
	head := bytes.Index(b, []byte("\r\n\r\n"))
	if head < 0 {
		if len(b) > mostHead {
			return 0, 431
		}
		return 0, 0
	}
	*r = request{delay: -1}
	line, rest := cutLine(b[:head+2])
	sp := bytes.IndexByte(line, ' ')
	end := bytes.LastIndexByte(line, ' ')
	if sp <= 0 || end <= sp+1 || line[sp+1] != '/' ||
		!bytes.HasPrefix(line[end+1:], []byte("HTTP/1.")) {
		return 0, 400
	}
	r.method, r.path = line[:sp], line[sp+1:end]
	r.get = string(r.method) == "GET"
	if q := bytes.IndexByte(r.path, '?'); q >= 0 {
		r.path, r.query = r.path[:q], r.path[q+1:]
	}
	r.close = line[len(line)-1] == '0' // HTTP/1.0 without keep-alive; see below
	length := 0
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		if status := r.header(line, &length); status != 0 {
			return 0, status
		}
	}
	n = head + 4
	if n+length > mostRequest {
		return 0, 413
	}
	if len(b) < n+length {
		return 0, 0
	}
	r.body = b[n : n+length]
	return n + length, 0
}

// header reads a header line and returns the status with which to refuse it, or 0; length is the
// body's.
func (r *request) header(line []byte, length *int) (status int) {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return 400
	}
	// By length first: most header lines are none of ours.
	switch name := line[:colon]; colon {
	case 7:
		if is(name, "upgrade") {
			r.upgrade = is(value(line, colon), "websocket")
		}
	case 10:
		if is(name, "connection") {
			v := value(line, colon)
			r.close = is(v, "close") || r.close && !is(v, "keep-alive")
		}
	case 13:
		if is(name, "authorization") {
			if v := value(line, colon); len(v) > 7 && is(v[:7], "bearer ") {
				r.token = v[7:]
			}
		}
	case 14:
		if is(name, "content-length") {
			return readLength(value(line, colon), length)
		}
	case 15:
		if is(name, "x-refnull-delay") {
			d, err := time.ParseDuration(string(value(line, colon)))
			if err != nil || d < 0 || d > maxDelay {
				return 400
			}
			r.delay = d
		}
	case 17:
		switch {
		case is(name, "transfer-encoding"):
			return 411
		case is(name, "sec-websocket-key"):
			r.key = value(line, colon)
		}
	}
	return 0
}

// readLength reads a Content-Length and returns the status with which to refuse it, or 0.
func readLength(v []byte, length *int) (status int) {
	if len(v) == 0 || len(v) > 9 {
		return 413
	}
	n, err := strconv.ParseUint(string(v), 10, 0)
	if err != nil {
		return 400
	}
	*length = int(n)
	return 0
}

// cutLine cuts the first line off, without its end.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	line, rest = b[:i], b[i+1:]
	return bytes.TrimSuffix(line, []byte{'\r'}), rest
}

func value(line []byte, colon int) []byte { return bytes.Trim(line[colon+1:], " \t") }

// is compares without regard to case; want is in lower case.
func is(b []byte, want string) bool {
	return len(b) == len(want) && strings.EqualFold(string(b), want)
}
