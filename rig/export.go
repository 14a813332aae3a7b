package rig

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
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

// Export names the destinations of the series of runs besides their directories: clients of the Prometheus API of a
// run that is under way, and an outside server, by remote write.
type Export struct {
	Listen, Push string // addresses; empty for none
	Fleet        FleetDoor
	auth         string // the header for push
	mu           sync.RWMutex
	db           *series.DB // of the run under way
}

// openExport checks the flags and begins to listen. The caller calls stop.
func (pr *Program) openExport() (stop func(), err error) {
	o := pr.Out
	if o == nil {
		return func() {}, nil
	}
	if o.Push != "" {
		if err := remote.Check(o.Push); err != nil {
			return nil, plan.Usagef("-remote-write: %w", err)
		}
		if o.auth, err = pr.pushCredentials(); err != nil {
			return nil, plan.UsageError{Err: err}
		}
	}
	if o.Listen == "" {
		return func() {}, nil
	}
	return pr.servePrometheus(o.Listen, "-serve", liveTimeout, func() (*series.DB, func(), error) {
		o.mu.RLock() // held until the request is answered: the series stay open
		if o.db == nil {
			o.mu.RUnlock()
			return nil, nil, promapi.ErrNoRun
		}
		return o.db, o.mu.RUnlock, nil
	})
}

// liveTimeout ends a query about a run under way: the run's end waits for it.
const liveTimeout = 10 * time.Second

// show makes db the series that are served; nil for none.
func (o *Export) show(db *series.DB) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.db = db
}

// pushCredentials reads the header for remote write from the environment or a file; empty without any.
func (pr *Program) pushCredentials() (string, error) {
	read := func(name string) (string, error) {
		v, file := pr.Env(name), pr.Env(name+"_FILE")
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
	pr.Secrets.Add(token)
	basic, err := read("PLIMSOLL_REMOTE_WRITE_BASIC")
	switch {
	case err != nil:
		return "", err
	case token != "" && basic != "":
		return "", errors.New("PLIMSOLL_REMOTE_WRITE_TOKEN and PLIMSOLL_REMOTE_WRITE_BASIC are both set; unset one")
	case token != "":
		return "Bearer " + token, nil
	case basic == "":
		return "", nil
	case !strings.Contains(basic, ":"):
		return "", errors.New("PLIMSOLL_REMOTE_WRITE_BASIC wants user:password")
	}
	_, password, _ := strings.Cut(basic, ":")
	encoded := base64.StdEncoding.EncodeToString([]byte(basic))
	pr.Secrets.Add(password, encoded)
	return "Basic " + encoded, nil
}

// pushing is the remote write of one run.
type pushing struct {
	sender *remote.Sender
	w      *record.Writer
	prog   *Reporter
	clock  *clock.Clock
}

// closePush is how long a run's end waits for the rest of its samples to be sent.
const closePush = 5 * time.Second

// publish makes a run's series known outside until the function that it returns is called, before the series are
// closed.
func (s *Session) publish(db *series.DB, w *record.Writer, run *clock.Clock) (end func(*trial.Outcome), err error) {
	o := s.Out
	if o == nil {
		return func(*trial.Outcome) {}, nil
	}
	p := &pushing{w: w, prog: s.Progress, clock: run}
	if o.Push != "" {
		m := w.Manifest()
		p.sender, err = remote.New(remote.Config{URL: o.Push, Authorization: o.auth, Failed: p.failed,
			Labels: map[string]string{"run": m.ID, "plan": m.Name, "arm": m.Arm, "database": m.Engine}})
		if err != nil {
			return nil, err
		}
		db.Tap(p.sender.Offer)
	}
	o.show(db)
	return func(out *trial.Outcome) {
		o.show(nil)
		p.close(out)
	}, nil
}

// failed puts a change between success and failure on disk and on the screen.
func (p *pushing) failed(err error) {
	text := "remote write works again"
	kind := "note"
	if err != nil {
		text, kind = "remote write failed: "+err.Error(), "error"
	}
	_ = p.w.Event(record.Event{At: p.clock.Now(), Kind: kind, Text: text})
	p.prog.Say("plimsoll: %s", text)
}

// close sends the rest and reports lost samples: they are missing outside, not in the run.
func (p *pushing) close(out *trial.Outcome) {
	if p.sender == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePush)
	defer cancel()
	st := p.sender.Close(ctx)
	text := fmt.Sprintf("%d samples sent, %d lost, %d requests, %d of them again", st.Sent, st.Lost, st.Requests, st.Retries)
	if st.Lost > 0 {
		text += "; last because: " + st.Err.Error()
		f := record.Finding{Gate: "remote write", Level: record.Amber, Value: float64(st.Lost), Text: text + " (the run's own series are complete)"}
		out.Validity.Add(f)
		e := f.Event()
		e.At = p.clock.Now()
		_ = p.w.Event(e)
		p.prog.Say("plimsoll: remote write: %s", f.Text)
		return
	}
	_ = p.w.Event(record.Event{At: p.clock.Now(), Kind: "note", Text: "remote write: " + text})
}

// ServeStored answers the Prometheus HTTP API over stored series, which stay open, until stop is called. name is the
// flag that holds the address.
func (pr *Program) ServeStored(address, name string, f *Follower) (stop func(), err error) {
	return pr.servePrometheus(address, name, series.QueryTimeout, f.Source)
}

// servePrometheus begins to answer the Prometheus HTTP API at an address. name is the flag that holds it.
func (pr *Program) servePrometheus(address, name string, timeout time.Duration, source promapi.Source) (stop func(), err error) {
	loopback, err := CheckListen(address)
	if err != nil {
		return nil, plan.Usagef("%s: %w", name, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; choose another port, or 0 for any", name, address, err)
	}
	if !loopback {
		plain.Fprintf(pr.Warn, "plimsoll: %s %s: whoever reaches this address can read all series; there is no password\n", name, address)
	}
	hosts := boundary.Network
	if loopback {
		hosts = boundary.Loopback
	}
	api := promapi.Handler(promapi.Config{Source: source, Version: pr.Version, Known: knownMetrics(), Hosts: hosts,
		Timeout: timeout})
	srv := &http.Server{
		Handler:           boundary.Handler(api, pr.panicked),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute,
		WriteTimeout: series.QueryTimeout + 30*time.Second, MaxHeaderBytes: 64 << 10,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // ends with Close
	}()
	plain.Fprintf(pr.Warn, "plimsoll: Prometheus HTTP API at http://%s\n", l.Addr())
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-done
	}, nil
}

// CheckListen reports whether an address is one of the loopback device. An address without a host would mean all
// addresses, which must be explicit.
func CheckListen(address string) (loopback bool, err error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("%q is no address such as 127.0.0.1:9090", address)
	}
	if host == "" {
		return false, fmt.Errorf("%q names no host; write 127.0.0.1%s, or 0.0.0.0%s for all addresses of this host", address, address, address)
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
