package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/watch/probe"
	"plimsoll/watch/series"
)

const (
	// mostReaders limits the readers that have probes of their own at once.
	mostReaders = 8
	// forgotten is the time after which a reader that does not ask has gone: it asks once a second.
	forgotten = 10 * time.Second
	// sampleTime limits the time of the probes of one answer: readers have a second.
	sampleTime = 700 * time.Millisecond
	// mostReason is the number of bytes of a failure's reason.
	mostReason = 300
)

// A Reply has the readings of a host's probes for one reader.
type Reply struct {
	Role     string    `json:"role"`
	Received time.Time `json:"received"` // by the clock of that host
	Replied  time.Time `json:"replied"`
	// Refused is why there is nothing else.
	Refused string `json:"refused,omitempty"`
	// Probes are the names of all, and Failures the reasons of those without a whole sample.
	Probes   []string          `json:"probes,omitempty"`
	Failures map[string]string `json:"failures,omitempty"`
	Samples  series.Samples    `json:"samples,omitempty"`
}

// Readers are the probes of this host, of each reader its own. Methods are safe for concurrent use.
type Readers struct {
	what    What
	version string // of this program, for readers to see

	mu sync.Mutex
	by map[string]*reader
}

// A reader is one run with the probes that it has.
type reader struct {
	mu    sync.Mutex // held while an answer is made
	watch *watch
	asked time.Time // Readers.mu
}

// NewReaders checks what is to be watched, and makes and closes its probes once, so that a device
// that is not there is known now.
func NewReaders(w What, version string) (*Readers, error) {
	for _, p := range w.Processes {
		if p.Role == "host" || p.Role == "self" {
			return nil, fmt.Errorf("role %q of processes is reserved; choose another name", p.Role)
		}
		if err := p.check(); err != nil {
			return nil, err
		}
	}
	probes, err := newWatch(w)
	if err != nil {
		return nil, err
	}
	probes.close()
	return &Readers{what: w, version: version, by: map[string]*reader{}}, nil
}

// Answer samples the probes of a reader and returns a [Reply] in JSON.
func (r *Readers) Answer(ctx context.Context, name string) ([]byte, error) {
	a := Reply{Role: r.what.Role, Received: time.Now()}
	x, err := r.reader(name)
	if err != nil {
		a.Refused = plain.Cut(err.Error(), mostReason)
		return json.Marshal(a)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sampleTime)
	defer cancel()
	samples, failed := x.watch.sample(ctx)
	for _, p := range x.watch.probes {
		a.Probes = append(a.Probes, p.name)
	}
	for _, f := range failed {
		if a.Failures == nil {
			a.Failures = map[string]string{}
		}
		a.Failures[f.probe] = plain.Cut(f.err.Error(), mostReason)
	}
	for _, s := range samples {
		if !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) { // JSON has none
			a.Samples = append(a.Samples, s)
		}
	}
	info := probe.Labels("role", r.what.Role, "version", r.version)
	a.Samples.Add("plimsoll_agent_info", info, 1)
	a.Replied = time.Now()
	return json.Marshal(a)
}

// reader returns the reader of a name, which gets probes with its first question, and forgets those
// that have gone.
func (r *Readers) reader(name string) (*reader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for other, x := range r.by {
		if other != name && now.Sub(x.asked) > forgotten && x.mu.TryLock() {
			x.watch.close()
			x.mu.Unlock()
			delete(r.by, other)
		}
	}
	x := r.by[name]
	if x == nil {
		if len(r.by) >= mostReaders {
			return nil, fmt.Errorf("%d readers are here already; end one of them", mostReaders)
		}
		w, err := newWatch(r.what)
		if err != nil {
			return nil, err
		}
		x = &reader{watch: w}
		r.by[name] = x
	}
	x.asked = now
	return x, nil
}

// Close closes the probes of all readers.
func (r *Readers) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, x := range r.by {
		x.mu.Lock()
		x.watch.close()
		x.mu.Unlock()
		delete(r.by, name)
	}
}
