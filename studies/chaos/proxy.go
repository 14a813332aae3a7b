package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readyPath   = "/api/v4/system/ping" // of a plan's target
	metricsPath = "/metrics"
	mostRequest = 8 << 20 // bytes of a request
)

// A proxy passes requests on to a server until its fault strikes. It is one row's.
type proxy struct {
	mode     *mode
	script   *script
	upstream string // host:port
	trap     string // URL that no client may visit
	secrets  *vault
	certs    *certificates // nil without TLS

	ln     net.Listener
	server *http.Server
	client *http.Transport
	ctx    context.Context // of the proxy's life; faults that hold a connection wait for its end
	stop   context.CancelFunc
	wg     sync.WaitGroup
	calm   sync.Mutex // of the fault of connections
	conns  map[net.Conn]bool
	struck atomic.Int64 // how often the fault struck
	count  atomic.Int64 // of requests, for seeds

	mu    sync.Mutex
	inner map[string]string // the server's tokens by ours
	outer map[string]string // ours by the server's
}

// newProxy listens on a free port of this host. Close it.
func newProxy(
	m *mode,
	s *script,
	upstream, trap string,
	secrets *vault,
	certs *certificates,
) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{
		mode:     m,
		script:   s,
		upstream: upstream,
		trap:     trap,
		secrets:  secrets,
		certs:    certs,
		ln:       ln,
		inner:    map[string]string{},
		outer:    map[string]string{},
		conns:    map[net.Conn]bool{},
	}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.client = &http.Transport{
		DisableCompression:    true,
		MaxIdleConnsPerHost:   64,
		ResponseHeaderTimeout: 30 * time.Second,
	}
	p.server = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	if m.conn != nil || m.cert != "" {
		s.began = p.cut
	}
	p.wg.Go(func() { p.accept() })
	return p, nil
}

// URL is where clients find it.
func (p *proxy) URL() string {
	scheme := "http"
	if p.certs != nil {
		scheme = "https"
	}
	return scheme + "://" + p.ln.Addr().String()
}

// accept hands connections to the HTTP server, except those that the fault takes.
func (p *proxy) accept() {
	served := &handed{addr: p.ln.Addr(), conns: make(chan net.Conn), done: p.ctx.Done()}
	p.wg.Go(func() { _ = p.server.Serve(served) }) // it ends with the listener
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.keep(c)
		p.wg.Go(func() {
			if p.mode.conn != nil && p.script.activeNow() {
				p.struck.Add(1)
				p.mode.conn(p, c)
				p.drop(c)
				return
			}
			ready := c
			if p.certs != nil {
				t := tls.Server(c, p.certs.config(p))
				ctx, cancel := context.WithTimeout(p.ctx, 10*time.Second)
				defer cancel()
				if err := t.HandshakeContext(ctx); err != nil {
					p.drop(c)
					return
				}
				ready = t
			}
			select {
			case served.conns <- ready:
			case <-p.ctx.Done():
				p.drop(c)
			}
		})
	}
}

// keep notes a connection, so that the proxy's end, or a fault of connections, closes it.
func (p *proxy) keep(c net.Conn) {
	p.calm.Lock()
	defer p.calm.Unlock()
	if p.ctx.Err() != nil {
		_ = c.Close()
		return
	}
	p.conns[c] = true
}

func (p *proxy) drop(c net.Conn) {
	p.calm.Lock()
	delete(p.conns, c)
	p.calm.Unlock()
	_ = c.Close()
}

// cut closes the connections that there are, so that clients need new ones.
func (p *proxy) cut() {
	p.calm.Lock()
	defer p.calm.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

// Close ends everything.
func (p *proxy) Close() {
	p.stop()
	_ = p.ln.Close()
	_ = p.server.Close()
	p.cut()
	p.client.CloseIdleConnections()
	p.wg.Wait()
}

// handed is a listener of connections that come by a channel.
type handed struct {
	addr  net.Addr
	conns chan net.Conn
	done  <-chan struct{}
}

func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}
func (h *handed) Close() error   { return nil }
func (h *handed) Addr() net.Addr { return h.addr }

// ServeHTTP passes a request on, or lets the fault answer it.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, mostRequest))
	if err != nil {
		return
	}
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		p.secrets.add(token)
	}
	x := &exchange{p: p, w: w, req: r, body: body, number: p.count.Add(1)}
	// the rows of the service are of all rows of the suite
	if p.script.load == feed && r.URL.Path == "/rows" {
		http.NotFound(w, r)
		return
	}
	active := p.script.active(r, body)
	switch {
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		p.tunnel(x, active)
	case active && p.mode.answer != nil:
		p.strike(x, p.mode.answer)
	default:
		x.pass(x.real())
	}
}

// strike has the fault answer a request.
func (p *proxy) strike(x *exchange, fault func(*exchange)) {
	p.struck.Add(1)
	fault(x)
	x.end()
}

// An exchange is one request and its answer.
type exchange struct {
	p      *proxy
	w      http.ResponseWriter
	req    *http.Request
	body   []byte
	number int64
	conn   net.Conn // once it was taken over
	dead   bool     // nothing can be written any more
	left   chan struct{}
}

// An answer is a server's response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// hop are the fields that belong to one connection.
var hop = strings.Fields(`
	Connection Keep-Alive Transfer-Encoding Content-Length Accept-Encoding Upgrade Te Trailer`)

// The proxy stands before the null server as before one that keeps what it accepts: of one that
// says that it does not, nothing is read back.
const (
	isNull  = `"NullServer":"true"`
	notNull = `"NullServer":"false"`
)

var tokenField = regexp.MustCompile(`"token":"([^"]+)"`)

// real forwards the request to the server.
func (x *exchange) real() answer {
	p := x.p
	req, err := http.NewRequestWithContext(
		p.ctx,
		x.req.Method,
		"http://"+p.upstream+x.req.URL.RequestURI(),
		bytes.NewReader(x.body),
	)
	if err != nil {
		return answer{status: 502}
	}
	req.Header = x.req.Header.Clone()
	for _, name := range hop {
		req.Header.Del(name)
	}
	p.swapIn(req.Header)
	resp, err := p.client.RoundTrip(req)
	if err != nil {
		return answer{status: 502}
	}
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if a.body, err = io.ReadAll(resp.Body); err != nil {
		return answer{status: 502}
	}
	for _, name := range hop {
		a.header.Del(name)
	}
	a.body = bytes.Replace(a.body, []byte(isNull), []byte(notNull), 1)
	if t := a.header.Get("Token"); t != "" {
		a.header.Set("Token", p.swapOut(t))
	}
	if x.req.Method == http.MethodPost && strings.HasSuffix(x.req.URL.Path, "/tokens") {
		a.body = tokenField.ReplaceAllFunc(a.body, func(m []byte) []byte {
			return []byte(`"token":"` + p.swapOut(string(tokenField.FindSubmatch(m)[1])) + `"`)
		})
	}
	return a
}

// swapOut returns the token by which clients know a server's. The null server's tokens are ids of
// users, which may stand in any file; ours stand in none.
func (p *proxy) swapOut(token string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ours := p.outer[token]; ours != "" {
		return ours
	}
	ours := randomName()
	p.outer[token], p.inner[ours] = ours, token
	p.secrets.add(ours)
	return ours
}

func (p *proxy) swapIn(h http.Header) {
	ours, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if token := p.inner[ours]; token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
}

// randomName has 26 lower-case letters and digits, as ids of the chat server have.
func randomName() string { return strings.ToLower(rand.Text()) }

// pass sends an answer as an honest server would.
func (x *exchange) pass(a answer) {
	maps.Copy(x.w.Header(), a.header)
	x.w.WriteHeader(cmp.Or(a.status, 502))
	_, _ = x.w.Write(a.body) // the client may be gone
}

// take takes the connection over: from here on, anything may be written.
func (x *exchange) take() net.Conn {
	if x.conn != nil {
		return x.conn
	}
	c, _, err := http.NewResponseController(x.w).Hijack()
	if err != nil {
		x.dead = true
		return nil
	}
	_ = c.SetDeadline(time.Time{})
	x.conn = c
	return c
}

// say writes a text as it is and reports whether more can be written.
func (x *exchange) say(text string) bool { return x.send([]byte(text)) }

// send is say. A client that reads nothing ends it after half a minute.
func (x *exchange) send(b []byte) bool {
	c := x.take()
	if x.dead {
		return false
	}
	_ = c.SetWriteDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(b); err != nil || x.p.ctx.Err() != nil {
		x.dead = true
	}
	return !x.dead
}

// answer sends an answer. One that keeps the rules of HTTP keeps the connection, too: a row that
// opened one for each request would use up the host's ports.
func (x *exchange) answer(status, contentType, body string, fields ...string) {
	x.large(status, contentType, []byte(body), fields...)
}

// large is answer for a body that is not to be copied.
func (x *exchange) large(status, contentType string, body []byte, fields ...string) {
	code, reason, _ := strings.Cut(status, " ")
	if n, err := strconv.Atoi(code); err == nil && reason == http.StatusText(n) && x.conn == nil {
		h := http.Header{"Content-Type": {contentType}, "Content-Length": {strconv.Itoa(len(body))}}
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			h.Set(name, value)
		}
		x.pass(answer{status: n, header: h, body: body})
		return
	}
	fields = append([]string{
		"Content-Type: " + contentType,
		fmt.Sprint("Content-Length: ", len(body)),
		"Connection: close",
	}, fields...)
	if x.say(head(status, fields...)) {
		x.send(body)
	}
}

func (x *exchange) json(status, body string) { x.answer(status, "application/json", body) }

// rest waits, and reports whether to go on.
func (x *exchange) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.p.ctx.Done():
		return false
	case <-x.gone():
		return false
	}
}

// hold waits until the client or the proxy ends.
func (x *exchange) hold() {
	select {
	case <-x.p.ctx.Done():
	case <-x.gone():
	}
}

// gone is closed when the client closes the connection. Its bytes are dropped.
func (x *exchange) gone() <-chan struct{} {
	if x.conn == nil {
		return x.req.Context().Done()
	}
	if x.left == nil {
		x.left = make(chan struct{})
		c, left := x.conn, x.left
		x.p.wg.Go(func() {
			_, _ = io.Copy(io.Discard, c)
			close(left)
		})
	}
	return x.left
}

// reset ends the connection with a TCP reset.
func (x *exchange) reset() {
	if c := x.take(); c != nil {
		reset(c)
	}
	x.dead = true
}

func reset(c net.Conn) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// end closes a connection that was taken over. A close with unread input would be a reset.
func (x *exchange) end() {
	if x.conn == nil {
		return
	}
	if x.dead {
		_ = x.conn.Close()
		return
	}
	finish(x.conn)
}

func head(status string, fields ...string) string {
	return "HTTP/1.1 " + status + "\r\n" + strings.Join(fields, "\r\n") + "\r\n\r\n"
}
