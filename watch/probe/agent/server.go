package agent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/watch/series"
)

// Bounds of a server.
const (
	// MaxReaders is how many readers may have probes of their own at once.
	MaxReaders = 8
	// maxGuests is how many connections may be open at once that have not shown the token.
	maxGuests = 128
	// sampleTime is how long the probes of one answer may take: readers have a second.
	sampleTime = 700 * time.Millisecond

	headerTimeout = 5 * time.Second // of a handshake, and again of the first header
	writeTimeout  = 5 * time.Second
	idleTimeout   = 30 * time.Second // a reader sends a request once a second, Prometheus every 15 s
	endTimeout    = 2 * time.Second
	maxHeader     = 8 << 10
	maxReason     = 300 // bytes of a failure's reason
)

// failureHeader holds "PROBE: REASON" of a probe that failed, once for each.
const failureHeader = "Plimsoll-Failure"

// Config configures a [Server].
type Config struct {
	What        What
	Token       string
	Certificate tls.Certificate
	Version     string // of this program, for readers to see
}

// A Server answers readers. See the package comment for the page.
type Server struct {
	conf    Config
	token   [sha256.Size]byte
	readers chan struct{}
}

// New checks the configuration, and makes and closes its probes once, so that a device that is not there is known now.
func New(c Config) (*Server, error) {
	if c.What.Role == "" {
		return nil, errors.New("the role is missing")
	}
	for _, p := range c.What.Processes {
		if p.Role == "host" || p.Role == "self" {
			return nil, fmt.Errorf("role %q of processes is reserved; choose another name", p.Role)
		}
		if err := p.check(); err != nil {
			return nil, err
		}
	}
	if !sendable(c.Token) || len(c.Token) < minToken {
		return nil, fmt.Errorf("the token is missing, or shorter than %d visible characters", minToken)
	}
	if len(c.Certificate.Certificate) == 0 {
		return nil, errors.New("the certificate is missing")
	}
	w, err := newWatch(c.What)
	if err != nil {
		return nil, err
	}
	w.close()
	return &Server{conf: c, token: sha256.Sum256([]byte(c.Token)), readers: make(chan struct{}, MaxReaders)}, nil
}

// Fingerprint returns that of the server's certificate.
func (s *Server) Fingerprint() string { return Fingerprint(s.conf.Certificate.Certificate[0]) }

// A reader is one connection, with the probes that it has once it showed the token.
type reader struct {
	guest  *guest     // until it shows the token
	mu     sync.Mutex // held while an answer is made
	watch  *watch
	page   page
	closed bool
}

type readerKey struct{}

// Serve answers on l, which it closes, until ctx ends; answers under way are finished, for two seconds at most.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	var mu sync.Mutex
	readers := map[net.Conn]*reader{}
	var ended sync.WaitGroup
	srv := &http.Server{
		Handler:           boundary.Handler(http.HandlerFunc(s.answer), s.panicked),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{s.conf.Certificate}, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}},
		// Without HTTP/2: one connection is one reader, and sends one request at a time.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		// A failed handshake is reported to the client; port scans must not fill the log.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			r := &reader{}
			if t, ok := c.(*tls.Conn); ok {
				r.guest, _ = t.NetConn().(*guest)
			}
			mu.Lock()
			readers[c] = r
			mu.Unlock()
			return context.WithValue(ctx, readerKey{}, r)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if state != http.StateClosed && state != http.StateHijacked {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if r := readers[c]; r != nil {
				delete(readers, c)
				ended.Go(func() { s.forget(r) })
			}
		},
	}
	done := make(chan error, 1)
	go func() { done <- srv.ServeTLS(&lobby{Listener: l, most: maxGuests}, "", "") }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		if srv.Shutdown(end) != nil {
			_ = srv.Close()
		}
		cancel()
		<-done
	}
	mu.Lock() // a connection that was cut off may come to its end later
	for c, r := range readers {
		delete(readers, c)
		ended.Go(func() { s.forget(r) })
	}
	mu.Unlock()
	ended.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

func (s *Server) panicked(p *boundary.Panic) {
	if s.conf.What.Panicked != nil {
		s.conf.What.Panicked(p)
	}
}

// forget closes the probes of a connection that has ended, after its last answer.
func (s *Server) forget(r *reader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.watch != nil {
		r.watch.close()
		r.watch = nil
		<-s.readers
	}
}

// answer answers one request.
func (s *Server) answer(w http.ResponseWriter, req *http.Request) {
	received := time.Now()
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	refuse := func(status int, text string) {
		h.Set("Connection", "close")
		http.Error(w, text, status)
	}
	// Hashes compare in the same time, for any content and length.
	token, bearer := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	if same := subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1; !same || !bearer {
		h.Set("WWW-Authenticate", "Bearer")
		refuse(http.StatusUnauthorized, "want Authorization: Bearer and the token of this agent's -token-file")
		return
	}
	r, _ := req.Context().Value(readerKey{}).(*reader)
	if r == nil || r.guest == nil {
		refuse(http.StatusInternalServerError, "the connection is not known")
		return
	}
	r.guest.admit()
	switch {
	case req.URL.Path != "/metrics":
		refuse(http.StatusNotFound, "there is /metrics, and nothing else")
		return
	case req.Method != http.MethodGet:
		h.Set("Allow", http.MethodGet)
		refuse(http.StatusMethodNotAllowed, "want GET")
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watch == nil {
		if r.closed {
			return
		}
		select {
		case s.readers <- struct{}{}:
		default:
			refuse(http.StatusServiceUnavailable, fmt.Sprintf("%d readers are here already; end one of them", MaxReaders))
			return
		}
		watch, err := newWatch(s.conf.What)
		if err != nil {
			<-s.readers
			refuse(http.StatusInternalServerError, oneLine(err.Error()))
			return
		}
		r.watch = watch
	}
	ctx, cancel := context.WithTimeout(req.Context(), sampleTime)
	defer cancel()
	failed := r.watch.sample(ctx, &r.page)
	for _, f := range failed {
		h.Add(failureHeader, oneLine(f.probe+": "+f.err.Error()))
	}
	role := series.Label{Name: "role", Value: s.conf.What.Role}
	r.page.add(
		series.Sample{Name: metricInfo, Labels: []series.Label{role, {Name: "version", Value: s.conf.Version}}, Value: 1},
		series.Sample{Name: metricReceived, Labels: []series.Label{role}, Value: seconds(received)},
		series.Sample{Name: metricReplied, Labels: []series.Label{role}, Value: seconds(time.Now())})
	body := r.page.bytes()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", fmt.Sprint(len(body))) // a reader notices when it is cut off
	_, _ = w.Write(body)                           // a reader that is gone needs no answer
}

// seconds returns a wall clock's instant in seconds since 1970, true to a microsecond.
func seconds(t time.Time) float64 { return float64(t.UnixNano()/1e3) / 1e6 }

// oneLine makes a text fit for a header.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return ';'
		case r < ' ' || r > '~':
			return ' '
		}
		return r
	}, s)
	if len(s) > maxReason {
		s = s[:maxReason] + "..."
	}
	return s
}
