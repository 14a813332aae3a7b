// Package export makes the series of runs known outside their directories: to clients of the
// Prometheus HTTP API, and to a server by remote write.
package export

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/boundary"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/deploy"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
	"plimsoll/watch/series/promapi"
	"plimsoll/watch/series/remote"
)

// Destinations are the receivers of the series of runs besides their directories. A nil
// Destinations has none.
type Destinations struct {
	// Listen is the address at which clients of the Prometheus API read a run that is under way,
	// and Push the URL of an outside server; empty for none.
	Listen, Push string
	auth         string // the header for push
	mu           sync.RWMutex
	db           *series.DB // of the run under way
}

// An API answers the Prometheus HTTP API.
type API struct {
	Version  string
	Warn     io.Writer // for people
	Panicked func(*boundary.Panic)
}

// Open checks the destinations and begins to listen. The caller calls stop. Credentials for Push
// are read from the environment and become secrets.
func (d *Destinations) Open(api API, env func(string) string,
	secrets *plain.Secrets) (stop func(), err error) {
	if d == nil {
		return func() {}, nil
	}
	if d.Push != "" {
		if err := remote.Check(d.Push); err != nil {
			return nil, plan.Usagef("-remote-write: %w", err)
		}
		if d.auth, err = credentials(env, secrets); err != nil {
			return nil, plan.UsageError{Err: err}
		}
	}
	if d.Listen == "" {
		return func() {}, nil
	}
	return api.serve(d.Listen, "-serve", liveTimeout, func() (*series.DB, func(), error) {
		d.mu.RLock() // held until the request is answered: the series stay open
		if d.db == nil {
			d.mu.RUnlock()
			return nil, nil, promapi.ErrNoRun
		}
		return d.db, d.mu.RUnlock, nil
	})
}

// liveTimeout ends a query about a run under way: the run's end waits for it.
const liveTimeout = 10 * time.Second

// show makes db the series that are served; nil for none.
func (d *Destinations) show(db *series.DB) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.db = db
}

// credentials reads the header for remote write from the environment or a file; empty without any.
func credentials(env func(string) string, secrets *plain.Secrets) (string, error) {
	read := func(name string) (string, error) {
		v, file := env(name), env(name+"_FILE")
		if v != "" && file != "" {
			return "", fmt.Errorf("%s and %s_FILE are both set; unset one", name, name)
		}
		if file != "" {
			b, err := files.ReadText(file, deploy.MaxSecret)
			if err != nil {
				return "", fmt.Errorf("%s_FILE: %w", name, err)
			}
			if v = string(b); strings.TrimSpace(v) == "" {
				return "", fmt.Errorf("%s_FILE: %s is empty", name, file)
			}
		}
		v = strings.TrimSpace(v)
		if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "", fmt.Errorf("%s: it holds a line break or another control character", name)
		}
		return v, nil
	}
	token, err := read("PLIMSOLL_REMOTE_WRITE_TOKEN")
	if err != nil {
		return "", err
	}
	secrets.Add(token)
	basic, err := read("PLIMSOLL_REMOTE_WRITE_BASIC")
	switch {
	case err != nil:
		return "", err
	case token != "" && basic != "":
		return "", errors.New(
			"PLIMSOLL_REMOTE_WRITE_TOKEN and PLIMSOLL_REMOTE_WRITE_BASIC are both set; unset one",
		)
	case token != "":
		return "Bearer " + token, nil
	case basic == "":
		return "", nil
	case !strings.Contains(basic, ":"):
		return "", errors.New("PLIMSOLL_REMOTE_WRITE_BASIC wants user:password")
	}
	_, password, _ := strings.Cut(basic, ":")
	encoded := base64.StdEncoding.EncodeToString([]byte(basic))
	secrets.Add(password, encoded)
	return "Basic " + encoded, nil
}

// A push is the remote write of one run.
type push struct {
	sender *remote.Sender
	w      *record.Writer
	say    func(format string, args ...any)
	clock  *clock.Clock
}

// closePush bounds the wait of a run's end for the rest of its samples to be sent.
const closePush = 5 * time.Second

// Publish makes a run's series known outside until the function that it returns is called, before
// the series are closed. That function returns a finding when samples were lost: they are missing
// outside, not in the run. say reports to people.
func (d *Destinations) Publish(db *series.DB, w *record.Writer, run *clock.Clock,
	say func(format string, args ...any)) (end func() []record.Finding, err error) {
	if d == nil {
		return func() []record.Finding { return nil }, nil
	}
	p := &push{w: w, say: say, clock: run}
	if d.Push != "" {
		m := w.Manifest()
		p.sender, err = remote.New(remote.Config{
			URL:           d.Push,
			Authorization: d.auth,
			Failed:        p.failed,
			Labels: map[string]string{
				"run":      m.ID,
				"plan":     m.Name,
				"arm":      m.Arm,
				"database": m.Engine,
			},
		})
		if err != nil {
			return nil, err
		}
		db.Tap(p.sender.Offer)
	}
	d.show(db)
	return func() []record.Finding {
		d.show(nil)
		return p.close()
	}, nil
}

// failed puts a change between success and failure on disk and on the screen.
func (p *push) failed(err error) {
	text := "remote write works again"
	kind := "note"
	if err != nil {
		text, kind = "remote write failed: "+err.Error(), "error"
	}
	_ = p.w.Event(record.Event{At: p.clock.Now(), Kind: kind, Text: text})
	p.say("plimsoll: %s", text)
}

// close sends the rest and reports lost samples.
func (p *push) close() []record.Finding {
	if p.sender == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePush)
	defer cancel()
	st := p.sender.Close(ctx)
	text := fmt.Sprintf("%d samples sent, %d lost, %d requests, %d of them again",
		st.Sent, st.Lost, st.Requests, st.Retries)
	if st.Lost == 0 {
		_ = p.w.Event(record.Event{At: p.clock.Now(), Kind: "note", Text: "remote write: " + text})
		return nil
	}
	text += "; last because: " + st.Err.Error() + " (the run's own series are complete)"
	f := record.Finding{
		Gate:  "remote write",
		Level: record.Amber,
		Value: float64(st.Lost),
		Text:  text,
	}
	e := f.Event()
	e.At = p.clock.Now()
	_ = p.w.Event(e)
	p.say("plimsoll: remote write: %s", text)
	return []record.Finding{f}
}

// ServeStored answers the Prometheus HTTP API over stored series, which stay open, until ctx ends.
// name is the flag that holds the address.
func (a API) ServeStored(ctx context.Context, address, name string, f *Follower) error {
	stop, err := a.serve(address, name, series.QueryTimeout, f.Source)
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()
	return nil
}

// serve begins to answer the Prometheus HTTP API at an address, until stop is called. name is the
// flag that holds the address.
func (a API) serve(address, name string, timeout time.Duration,
	source promapi.Source) (stop func(), err error) {
	loopback, err := CheckListen(address)
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; choose another port, or 0 for any", name, address, err)
	}
	if !loopback {
		plain.Fprintf(a.Warn, "plimsoll: %s %s: whoever reaches this address can read all series; "+
			"there is no password\n", name, address)
	}
	hosts := boundary.Network
	if loopback {
		hosts = boundary.Loopback
	}
	api := promapi.Handler(promapi.Config{
		Source: source, Version: a.Version, Known: knownMetrics(), Hosts: hosts, Timeout: timeout,
	})
	srv := &http.Server{
		Handler:           boundary.Handler(api, a.Panicked),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		IdleTimeout:       2 * time.Minute,
		WriteTimeout:      series.QueryTimeout + 30*time.Second,
		MaxHeaderBytes:    64 << 10,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with Close
	}()
	plain.Fprintf(a.Warn, "plimsoll: Prometheus HTTP API at http://%s\n", l.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-done
	}, nil
}

// CheckListen reports whether an address is one of the loopback device. An address without a host
// would mean all addresses, which must be explicit.
func CheckListen(address string) (loopback bool, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%q is no address such as 127.0.0.1:9090", address)
	}
	if host == "" {
		return false, fmt.Errorf("%q names no host; write 127.0.0.1%[1]s, or 0.0.0.0%[1]s for all "+
			"addresses of this host", address)
	}
	if host == "localhost" {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback(), nil
}

// knownMetrics describes the series that trials store.
func knownMetrics() []promapi.Metadata {
	var out []promapi.Metadata
	for _, m := range trial.AllSeries() {
		out = append(out, promapi.Metadata{Name: m.Name, Type: m.Type, Help: m.Help, Unit: m.Unit})
	}
	return out
}
