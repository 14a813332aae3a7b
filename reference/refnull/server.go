package refnull

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultBody is the length of the fixed answer unless configured, as long as a small API answer.
const DefaultBody = 203

// DefaultVersion is the version of the real server whose answers the table imitates.
const DefaultVersion = "11.0.0"

var versionRE = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$`)

// A Config describes a Server. The zero Config is one on a free loopback port.
type Config struct {
	Listen   string        // address; default 127.0.0.1:0
	Delay    time.Duration // delay of every answer, unless its request sets another
	Body     int           // bytes of the fixed answer; 0 means DefaultBody
	TLS      bool          // with a certificate of its own making; see Server.Certificate
	StallFor time.Duration // stop answering for so long, once ...
	StallAt  time.Duration // ... this long after the first request
	Push     float64       // posted events per second to every WebSocket
	// between two pings of a WebSocket; 0 means one minute, and tests alone set another
	ping    time.Duration
	Version string // that it reports; default DefaultVersion
	// Number tells apart several servers of one test, so that no two make the same id. Number 0
	// makes the ids of a server that is alone.
	Number int
}

// A Server answers until its context ends. Its methods are safe for concurrent use.
type Server struct {
	cfg    Config
	ln     net.Listener
	cert   []byte // PEM
	fixed  []byte // whole response
	body   []byte
	names  sync.Map // id → name
	routes *node

	conns    sync.Map // net.Conn → struct{}
	sockets  sockets
	requests atomic.Int64
	posts    atomic.Int64
	accepted atomic.Int64
	serial   atomic.Uint64
	took     tally
	strange  strange
	stall    stall
	wg       sync.WaitGroup
}

// New listens and returns a server that Run makes answer. A configuration that makes no sense is an
// ErrUsage.
func New(cfg Config) (*Server, error) {
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	if cfg.Body == 0 {
		cfg.Body = DefaultBody
	}
	if cfg.ping <= 0 {
		cfg.ping = time.Minute
	}
	if cfg.Version == "" {
		cfg.Version = DefaultVersion
	}
	switch {
	case !versionRE.MatchString(cfg.Version):
		return nil, fmt.Errorf(
			"%w: version: %q, want one such as %s",
			ErrUsage,
			cfg.Version,
			DefaultVersion,
		)
	case cfg.Body < 2 || cfg.Body > 64<<20:
		return nil, fmt.Errorf("%w: body: %d bytes, want 2 to %d", ErrUsage, cfg.Body, 64<<20)
	case cfg.Delay < 0 || cfg.Delay > maxDelay:
		return nil, fmt.Errorf("%w: delay: %v, want 0 to %v", ErrUsage, cfg.Delay, maxDelay)
	case cfg.StallFor < 0 || cfg.StallFor > maxDelay || cfg.StallAt < 0:
		return nil, fmt.Errorf(
			"%w: stall: %v at %v, want at most %v and no negative time",
			ErrUsage,
			cfg.StallFor,
			cfg.StallAt,
			maxDelay,
		)
	case cfg.Number < 0 || cfg.Number > mostNumber:
		return nil, fmt.Errorf("%w: number: %d, want 0 to %d", ErrUsage, cfg.Number, mostNumber)
	case cfg.Push < 0 || cfg.Push > 1000:
		return nil, fmt.Errorf(
			"%w: push: %v events/s for each connection, want 0 to 1000",
			ErrUsage,
			cfg.Push,
		)
	}
	s := &Server{cfg: cfg, routes: routes(cfg.Version)}
	s.serial.Store(uint64(cfg.Number) << numberShift)
	s.body = make([]byte, 0, cfg.Body)
	s.body = append(s.body, '"')
	for len(s.body) < cfg.Body-1 {
		s.body = append(s.body, "refnull "[len(s.body)%8])
	}
	s.body = append(s.body, '"')
	s.fixed = append(appendHead(nil, 200, len(s.body), -1), s.body...)
	s.stall.length, s.stall.after = cfg.StallFor, cfg.StallAt
	s.stall.armed.Store(cfg.StallFor > 0)
	listening := net.ListenConfig{KeepAlive: -1} // no probes of idle connections: see package wire
	ln, err := listening.Listen(context.Background(), "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", cfg.Listen, err)
	}
	s.ln = ln
	if cfg.TLS {
		pair, text, err := selfSigned(ln.Addr())
		if err != nil {
			ln.Close()
			return nil, fmt.Errorf("certificate: %w", err)
		}
		s.cert = text
		s.ln = tls.NewListener(ln, &tls.Config{
			Certificates: []tls.Certificate{pair},
			NextProtos:   []string{"http/1.1"},
		})
	}
	return s, nil
}

// Addr returns the address on which the server listens.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// URL returns the server's base URL.
func (s *Server) URL() string {
	if s.cfg.TLS {
		return "https://" + s.Addr()
	}
	return "http://" + s.Addr()
}

// Certificate returns the certificate in PEM, for the clients to trust; nil without TLS.
func (s *Server) Certificate() []byte { return s.cert }

// Run answers until ctx ends, then closes all connections and returns nil.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { s.ln.Close() })
	defer stop()
	s.wg.Go(func() { s.push(ctx) })
	var err error
	for {
		var c net.Conn
		if c, err = s.ln.Accept(); err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				var temporary interface{ Temporary() bool }
				// No descriptor left: those that are there go on.
				if errors.As(err, &temporary) && temporary.Temporary() {
					time.Sleep(10 * time.Millisecond)
					continue
				}
			}
			break
		}
		s.accepted.Add(1)
		s.conns.Store(c, struct{}{})
		s.wg.Go(func() {
			defer s.conns.Delete(c)
			defer c.Close()
			defer func() {
				if v := recover(); v != nil { // of one connection; the others go on
					fmt.Fprintf(
						os.Stderr,
						"refnull: panic serving %v: %v\n%s",
						c.RemoteAddr(),
						v,
						debug.Stack(),
					)
				}
			}()
			s.serve(ctx, c)
		})
	}
	cancel()
	// A connection accepted at the last moment is in the map by now: this goroutine put it there.
	s.conns.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
	s.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

const maxDelay = time.Minute

// A stall is one stretch of time in which nothing is answered.
type stall struct {
	armed atomic.Bool // something may have to be done; the only question on the fast path

	mu            sync.Mutex
	length, after time.Duration
	from          time.Time // zero before the first request
}

// set plans a stall that begins after the given time from now.
func (st *stall) set(now time.Time, length, after time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.length = length
	st.after = after
	st.from = now
	st.armed.Store(true)
}

// left returns how long an answer that is ready now must wait.
func (st *stall) left(now time.Time) time.Duration {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.from.IsZero() {
		st.from = now
	}
	since := now.Sub(st.from) - st.after
	if since < 0 {
		return 0
	}
	if since >= st.length {
		st.armed.Store(false)
		return 0
	}
	return st.length - since
}

// selfSigned makes a certificate for the address, localhost and the loopback addresses.
func selfSigned(addr net.Addr) (tls.Certificate, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "refnull"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(30 * 24 * time.Hour),
		DNSNames:              []string{"localhost"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if a, ok := addr.(*net.TCPAddr); ok {
		template.IPAddresses = append(template.IPAddresses, a.IP)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	return tls.Certificate{
		Certificate: [][]byte{der},
		PrivateKey:  key,
	}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

var reasons = map[int]string{
	200: "OK",
	201: "Created",
	204: "No Content",
	400: "Bad Request",
	404: "Not Found",
	411: "Length Required",
	413: "Content Too Large",
	431: "Request Header Fields Too Large",
	501: "Not Implemented",
}

const headOK = "HTTP/1.1 200 OK\r\nServer: refnull\r\nContent-Type: application/json\r\nContent-Length: "

// appendHead appends the head of a response with a body of n bytes; took is left out if negative.
func appendHead(b []byte, status, n int, took time.Duration, fields ...string) []byte {
	if status == 200 {
		b = append(b, headOK...)
	} else {
		b = append(b, "HTTP/1.1 "...)
		b = strconv.AppendInt(b, int64(status), 10)
		b = append(b, ' ')
		b = append(b, reasons[status]...)
		b = append(b, "\r\nServer: refnull\r\nContent-Type: application/json\r\nContent-Length: "...)
	}
	b = strconv.AppendInt(b, int64(n), 10)
	if took >= 0 {
		b = append(b, "\r\nX-Refnull-Took: "...)
		b = strconv.AppendInt(b, int64(took), 10)
	}
	for i := 0; i+1 < len(fields); i += 2 {
		b = append(append(append(append(b, "\r\n"...), fields[i]...), ": "...), fields[i+1]...)
	}
	return append(b, "\r\n\r\n"...)
}
