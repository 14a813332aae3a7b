package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/dns/dnsmessage"

	"plimsoll/reference/refchat"
	"plimsoll/studies/study"
)

// serverVerb is the argument with which this program is an instance with something around it.
const serverVerb = "server"

// What requests wait for beyond cores, locks and the database.
var (
	waited = prometheus.NewCounter(prometheus.CounterOpts{Name: "outside_wait_seconds_total"})
	pooled = prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "refchat_pool_wait_seconds_total"},
		[]string{"pool"},
	)
	signed = prometheus.NewCounter(prometheus.CounterOpts{Name: "outside_tls_handshakes_total"})
)

// serve is the command refchat with something around it, as layout.around says.
func serve(ctx context.Context, text string, args []string) error {
	return refchat.Config{
		Around: func(h http.Handler, reg prometheus.Registerer) (http.Handler, error) {
			reg.MustRegister(waited, pooled, signed)
			return around(ctx, h, text)
		},
	}.Main(ctx, args, os.Getenv, os.Stdout, os.Stderr)
}

// around wraps the API of an instance in
//
//	workers N         at most N requests are handled at once; WebSockets need no worker
//	dns TIME          each request resolves a name by a server that answers one question at a time, each after TIME
//	jitter TIME       each request waits a random time with that mean, exponentially distributed
//	outbound N TIME   each post calls a service that takes TIME, over at most N connections
//	replica TIME      reads wait for a replica that replays posts one at a time, each for TIME; a post is read back
//	                  before its answer
//	tls PORT BITS     TLS at that port, too, with an RSA key of so many bits and no session resumed
func around(ctx context.Context, h http.Handler, text string) (http.Handler, error) {
	name, value, _ := strings.Cut(text, " ")
	var n, bits int
	_, _ = fmt.Sscan(value, &n, &bits)
	each, err := time.ParseDuration(value[strings.LastIndex(value, " ")+1:])
	switch name {
	case "":
		return h, nil
	case "tls":
		return h, secure(ctx, h, n, bits)
	case "workers":
		return workers(h, n), nil
	case "dns":
		names, err := serveNames(ctx, each)
		return before(h, api, func(ctx context.Context) {
			// in no cache
			_, _ = names.LookupNetIP(ctx, "ip4", fmt.Sprintf("r%d.test.", mrand.Uint64()))
		}), err
	case "jitter":
		return before(h, api, func(ctx context.Context) {
			_ = study.Pause(ctx, time.Duration(mrand.ExpFloat64()*float64(each)))
		}), nil
	case "outbound":
		call, err := service(ctx, n, each)
		return posted(h, call), err
	case "replica":
		p := &replica{each: each}
		reads := func(r *http.Request) bool { return r.Method == http.MethodGet && api(r) }
		return before(posted(h, p.write), reads, p.wait), nil
	}
	return h, err
}

// api reports whether a request is none for a WebSocket.
func api(r *http.Request) bool { return r.URL.Path != "/api/v4/websocket" }

// wait pauses and counts the time.
func wait(ctx context.Context, pause func(context.Context)) {
	start := time.Now()
	pause(ctx)
	waited.Add(time.Since(start).Seconds())
}

// before has requests of a kind pause before they are handled.
func before(h http.Handler, of func(*http.Request) bool, pause func(context.Context)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if of(r) {
			wait(r.Context(), pause)
		}
		h.ServeHTTP(w, r)
	})
}

// posted has requests that have stored a post pause before their answer.
func posted(h http.Handler, pause func(context.Context)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v4/posts" {
			w = answer{w, func() { wait(r.Context(), pause) }}
		}
		h.ServeHTTP(w, r)
	})
}

type answer struct {
	http.ResponseWriter
	pause func()
}

// WriteHeader pauses before the answer to a post that was stored.
func (a answer) WriteHeader(status int) {
	if status == http.StatusCreated {
		a.pause()
	}
	a.ResponseWriter.WriteHeader(status)
}

// workers handles at most n requests at once.
func workers(h http.Handler, n int) http.Handler {
	busy := make(chan struct{}, n)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if api(r) {
			start := time.Now()
			select {
			case busy <- struct{}{}:
			case <-r.Context().Done():
				return
			}
			defer func() { <-busy }()
			pooled.WithLabelValues("workers").Add(time.Since(start).Seconds())
		}
		h.ServeHTTP(w, r)
	})
}

// serveNames starts a name server that answers questions for addresses one after the other, each
// after a time, and returns a resolver that queries no other.
func serveNames(ctx context.Context, each time.Duration) (*net.Resolver, error) {
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil {
				continue
			}
			_ = study.Pause(ctx, each)
			m.Response, m.Additionals = true, nil
			for _, q := range m.Questions {
				m.Answers = append(m.Answers, dnsmessage.Resource{
					Body:   &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}},
					Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
				})
			}
			if b, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(b, from) // the client asks again
			}
		}
	}()
	return &net.Resolver{
		PreferGo: true,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
		},
	}, nil
}

// service starts an HTTP server that takes a time for each answer, and returns a call of it over a
// bounded pool of connections.
func service(ctx context.Context, conns int, each time.Duration) (func(context.Context), error) {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	start(
		ctx,
		ln,
		&http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_ = study.Pause(r.Context(), each)
		})},
	)
	client := &http.Client{Transport: &http.Transport{
		MaxConnsPerHost:     conns,
		MaxIdleConnsPerHost: conns,
	}}
	return func(ctx context.Context) {
		asked := time.Now()
		ctx = httptrace.WithClientTrace(
			ctx,
			&httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
				pooled.WithLabelValues("outbound").Add(time.Since(asked).Seconds())
			}},
		)
		_, _ = study.Fetch(ctx, client, "http://"+ln.Addr().String())
	}, nil
}

// start serves until ctx ends.
func start(ctx context.Context, ln net.Listener, s *http.Server) {
	context.AfterFunc(ctx, func() { s.Close() })
	go func() { _ = s.Serve(ln) }()
}

// replica stands for a copy of the database that replays writes one after the other, each for a
// time: it falls behind when they come faster.
type replica struct {
	each time.Duration
	mu   sync.Mutex
	done time.Time // when all is replayed that was written
}

func (p *replica) write(ctx context.Context) {
	p.mu.Lock()
	p.done = time.Now().Add(max(time.Until(p.done), 0) + p.each)
	p.mu.Unlock()
	p.wait(ctx)
}

// wait returns when all is replayed that was written when it was called.
func (p *replica) wait(ctx context.Context) {
	p.mu.Lock()
	d := time.Until(p.done)
	p.mu.Unlock()
	_ = study.Pause(ctx, d)
}

// secure serves the API by TLS at a port, too: each connection costs a signature.
func secure(ctx context.Context, h http.Handler, port, bits int) error {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return err
	}
	cert := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, key.Public(), key)
	if err != nil {
		return err
	}
	ln, err := tls.Listen("tcp", fmt.Sprintf(":%d", port), &tls.Config{SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			signed.Inc()
			return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
		}})
	if err != nil {
		return err
	}
	start(ctx, ln, &http.Server{Handler: h})
	return nil
}
