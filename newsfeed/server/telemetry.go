package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"
)

// A Record is the telemetry of one request, as it stands on the bus in JSON.
type Record struct {
	// Server names the process, Number counts its records: a batch that is sent twice is
	// recognized.
	Server string    `json:"server"`
	Number int64     `json:"number"`
	At     time.Time `json:"at"` // of the answer, UTC
	// Participant, friends, outbound, inbound; none for a path that there is not.
	Entity    string `json:"entity"`
	Operation string `json:"operation"`       // get, post, search
	Status    int    `json:"status"`          // of the answer; 499 when the client had gone
	Micros    int64  `json:"micros"`          // from routing to answer
	Store     string `json:"store,omitempty"` // role of the store that failed the request
}

const (
	mostWaiting   = 1 << 16 // records
	mostBatch     = 1000
	telemetryRest = 20 * time.Millisecond  // between two batches
	telemetryWait = 250 * time.Millisecond // after a failure
)

// producer is the bus as the service uses it.
type producer interface {
	// Produce appends records and returns the offset of the first. All of them are there when it
	// returns nil; after an error they may be there, or may still arrive. ctx needs a deadline.
	Produce(ctx context.Context, records [][]byte) (offset int64, err error)
	Describe(ctx context.Context) (StoreInfo, error)
	Close()
}

// telemetry sends records to the bus behind the requests. Records that the bus does not take wait;
// beyond mostWaiting the newest are lost and counted.
type telemetry struct {
	bus     producer
	met     *metrics
	timeout func(role string) time.Duration
	server  string

	mu      sync.Mutex
	number  int64
	waiting [][]byte
	again   int64 // records of batches that failed: they are sent again, and may be there already
}

func newTelemetry(bus producer, met *metrics, timeout func(role string) time.Duration) *telemetry {
	return &telemetry{bus: bus, met: met, timeout: timeout, server: rand.Text()[:12]}
}

// add takes a record; it never waits.
func (t *telemetry) add(r Record) {
	r.Server, r.At = t.server, r.At.UTC()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number++ // a lost record leaves a gap
	r.Number = t.number
	b, err := json.Marshal(r)
	if err != nil || len(t.waiting) >= mostWaiting {
		t.met.lost.Inc()
		return
	}
	t.waiting = append(t.waiting, b)
	t.met.waiting.Set(float64(len(t.waiting)))
}

// run sends until ctx ends, then the rest, for at most two seconds.
func (t *telemetry) run(ctx context.Context) {
	wait := telemetryRest
	for ctx.Err() == nil {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		wait = telemetryRest
		if t.send(ctx) != nil {
			wait = telemetryWait
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	_ = t.send(last)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.met.lost.Add(float64(len(t.waiting)))
}

// send sends the waiting records, batch by batch, until the first failure.
func (t *telemetry) send(ctx context.Context) error {
	for {
		t.mu.Lock()
		batch := t.waiting[:min(len(t.waiting), mostBatch):min(len(t.waiting), mostBatch)]
		t.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		start := time.Now()
		cctx, cancel := context.WithTimeout(ctx, t.timeout(KindBus))
		_, err := t.bus.Produce(cctx, batch)
		cancel()
		t.met.store("bus", "produce", err == nil, time.Since(start))
		if err != nil {
			t.mu.Lock()
			t.again += int64(len(batch))
			t.mu.Unlock()
			return err
		}
		t.met.sent.Add(float64(len(batch)))
		t.mu.Lock()
		t.waiting = t.waiting[len(batch):]
		t.met.waiting.Set(float64(len(t.waiting)))
		t.mu.Unlock()
	}
}
