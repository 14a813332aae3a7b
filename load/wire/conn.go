package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"plimsoll/load/clock"
)

// DefaultTimeout limits an operation unless its configuration sets another limit.
const DefaultTimeout = 30 * time.Second

// A dialer makes connections to one origin.
type dialer struct {
	addr string      // host:port
	tls  *tls.Config // nil for plain TCP
	dial func(ctx context.Context, network, addr string) (net.Conn, error)

	clock *clock.Clock // nil unless it can be stopped
	http2 bool         // speak nothing else
}

// An origin is a parsed URL.
type origin struct {
	dialer
	host string // as sent in the Host header
	path string // base path (and, for WebSocket, query) without a final slash
}

var onlyHTTP1 = []string{"http/1.1"}

// inASCII puts a host name in the form that name servers and certificates have: an international
// one in Punycode.
func inASCII(u *url.URL) error {
	name := u.Hostname()
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return nil
	}
	ascii, err := idna.Lookup.ToASCII(name)
	if err != nil {
		return fmt.Errorf("URL host %q is no international domain name: %w", name, err)
	}
	u.Host = strings.Replace(u.Host, name, ascii, 1)
	return nil
}

// parseOrigin reads a URL of one of the schemes plain and secure.
func parseOrigin(raw, plain, secure string, conf *tls.Config) (origin, error) {
	u, err := url.Parse(raw)
	if err != nil { // url.Error repeats the URL, which may hold a password
		return origin{}, fmt.Errorf("malformed URL: want %s://host:port/path", plain)
	}
	if err := inASCII(u); err != nil {
		return origin{}, err
	}
	var o origin
	port := ""
	switch u.Scheme {
	case plain:
		port = "80"
	case secure:
		port = "443"
		if conf == nil {
			conf = new(tls.Config)
		}
		o.tls = conf
		if conf.ServerName == "" && !conf.InsecureSkipVerify ||
			!slices.Equal(conf.NextProtos, onlyHTTP1) {
			o.tls = conf.Clone()
			o.tls.NextProtos = onlyHTTP1
			if o.tls.ServerName == "" {
				o.tls.ServerName = u.Hostname()
			}
		}
	default:
		return origin{}, fmt.Errorf("URL scheme %q: want %s or %s", u.Scheme, plain, secure)
	}
	if u.Hostname() == "" {
		return origin{}, fmt.Errorf("URL has no host: want %s://host:port/path", u.Scheme)
	}
	if u.User != nil || u.Fragment != "" {
		return origin{}, fmt.Errorf(
			"URL for host %s holds user information or a fragment; remove it",
			u.Host,
		)
	}
	if p := u.Port(); p != "" {
		port = p
	}
	o.addr = net.JoinHostPort(u.Hostname(), port)
	o.host = u.Host
	o.path = strings.TrimRight(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		o.path += "?" + u.RawQuery
	}
	if !isEscaped(o.path) {
		return origin{}, fmt.Errorf("URL for host %s contains a byte that must be escaped", u.Host)
	}
	if !isValue(o.host) || strings.ContainsAny(o.host, " \t") {
		return origin{}, errors.New("URL host contains a space or control character")
	}
	return o, nil
}

// aside calls f in a goroutine of its own. Dialing and shaking hands need much stack, which a
// simulated user would keep for life: the collector gives a stack back only when less than a
// quarter of it is in use.
func aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// connect dials and, if there is a TLS configuration, shakes hands, all within the limit.
func (d *dialer) connect(ctx context.Context, l limit) (net.Conn, *Error) {
	dctx, cancel := l.context(ctx)
	defer cancel()
	dial := d.dial
	if dial == nil {
		dial = Dial
	}
	conn, err := dial(dctx, "tcp", d.addr)
	if err != nil {
		return nil, newError(dctx, PhaseDial, err)
	}
	sock := newSock(conn)
	sock.clock = d.clock
	if d.tls == nil {
		return sock, nil
	}
	tc := tls.Client(sock, d.tls)
	if err := tc.HandshakeContext(dctx); err != nil {
		conn.Close()
		if d.http2 && strings.Contains(err.Error(), "no application protocol") {
			err = ErrNoHTTP2
		}
		return nil, newError(dctx, PhaseTLS, err)
	}
	if d.http2 && tc.ConnectionState().NegotiatedProtocol != "h2" {
		conn.Close()
		return nil, newError(dctx, PhaseTLS, ErrNoHTTP2)
	}
	return tc, nil
}

// A watch ends a blocked read or write when a context is over. It registers with a context once,
// not once per operation, and identifies the context by its Done channel.
type watch struct {
	reads bool            // touch the read deadline only: a WebSocket's writers have their own
	lazy  bool            // by way of sock.deadline
	done  <-chan struct{} // of the registered context
	stop  func() bool

	mu   sync.Mutex
	gen  uint64   // of the registration; an outdated one does nothing
	conn net.Conn // nil between operations
}

var longAgo = limit{at: time.Unix(1, 0)}

// begin sets the limit (none if zero) for I/O on conn and brings it forward when ctx is over. If
// ctx is over already, I/O fails at once.
func (w *watch) begin(ctx context.Context, conn net.Conn, l limit) {
	if done := ctx.Done(); done != w.done {
		w.unregister()
		w.done = done
		if done != nil {
			gen := w.gen
			w.stop = context.AfterFunc(ctx, func() { w.fire(gen) })
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done != nil && ctx.Err() != nil {
		l = longAgo
	}
	w.set(conn, l)
	w.conn = conn
}

// end marks the operation as over.
func (w *watch) end() {
	w.mu.Lock()
	w.conn = nil
	w.mu.Unlock()
}

func (w *watch) fire(gen uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gen == gen && w.conn != nil {
		w.set(w.conn, longAgo)
	}
}

func (w *watch) set(conn net.Conn, l limit) {
	s, t := sockOf(conn), l.instant()
	if s != nil && s.clock != nil {
		s.bound(reads, l)
		if !w.reads {
			s.bound(writes, l)
		}
	}
	// An error means a closed connection, which the read or write that follows reports.
	switch {
	case w.reads:
		_ = conn.SetReadDeadline(t)
	case w.lazy && s != nil && s.raw != nil:
		_ = s.deadline(t)
	default:
		_ = conn.SetDeadline(t)
	}
}

// unregister drops the context.
func (w *watch) unregister() {
	if w.stop != nil {
		w.stop()
	}
	w.mu.Lock()
	w.gen++
	w.mu.Unlock()
	w.done, w.stop = nil, nil
}
