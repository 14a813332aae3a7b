package perf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"plimsoll/newsfeed/server"
)

// topic is a source that can be broken.
type topic struct {
	mu      sync.Mutex
	records [][]byte
	broken  error
	fetched int
}

func (s *topic) Fetch(_ context.Context, offset int64) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetched++
	if s.broken != nil {
		return nil, s.broken
	}
	return s.records[offset:min(int64(len(s.records)), offset+3)], nil // in small helpings
}

func (s *topic) set(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// TestFollowing: windows are handed over while the bus goes on; a bus that is away for a while, and
// a sink that fails, cost nothing.
func TestFollowing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s := &topic{broken: errors.New("away")}
	began := time.Now().Truncate(time.Minute).Add(-10 * time.Minute)
	for n := range int64(10) {
		s.records = append(
			s.records,
			record(n+1, began.Add(time.Duration(n)*20*time.Second), 1000*n),
		)
	}
	var got []Document
	fails := 2
	m := &Meter{}
	done := make(chan error, 1)
	var counts Counts
	go func() {
		var err error
		counts, err = Follow(ctx, Followed{
			Source: s,
			Meter:  m,
			Sink: func(_ context.Context, docs []Document) error {
				if fails--; fails >= 0 {
					return errors.New("full")
				}
				got = append(got, docs...)
				if len(got) == 4 {
					cancel() // all that there are
				}
				return nil
			},
		})
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	s.set(func() { s.broken = nil })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkSum(t, counts)
	if counts.Taken != 10 || len(got) != 4 {
		t.Fatalf("counts %+v, %d documents; want 10 records in 4", counts, len(got))
	}
	for i, want := range []int64{3, 3, 3, 1} {
		if d := got[i]; d.Throughput != want ||
			!d.TS.Equal(began.Add(time.Duration(i)*time.Minute)) {
			t.Errorf("document %d: %+v, want %d requests", i, d, want)
		}
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(m)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]float64{}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			name := f.GetName()
			for _, l := range x.GetLabel() {
				name += " " + l.GetValue()
			}
			shown[name] = x.GetCounter().GetValue() + x.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"newsfeed_perf_records_total taken":                10,
		"newsfeed_perf_documents_total written":            4,
		"newsfeed_perf_missing":                            0,
		"newsfeed_perf_window_requests outbound post true": 1,
		"newsfeed_perf_window_seconds outbound post p95":   0.009,
	} {
		if v, ok := shown[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
}

// TestTheEndOfTheBus: with Once everything is read and closed; a bus that does not answer is an
// error.
func TestTheEndOfTheBus(t *testing.T) {
	s := &topic{
		records: [][]byte{
			record(1, noon, 1000),
			record(2, noon.Add(time.Second), 3000),
			[]byte("x"),
		},
	}
	var got []Document
	sink := func(_ context.Context, docs []Document) error {
		got = append(got, docs...)
		return nil
	}
	c, err := Follow(t.Context(), Followed{Source: s, Once: true, Sink: sink})
	if err != nil || len(got) != 1 || got[0].Throughput != 2 || got[0].Mean != 2 || c.Garbled != 1 {
		t.Errorf("%v, counts %+v, documents %v", err, c, got)
	}
	s.broken = errors.New("away")
	if _, err := Follow(t.Context(), Followed{Source: s, Once: true, Sink: sink}); err == nil {
		t.Error("a bus that does not answer is taken for an empty one")
	}
}

// TestTheProgram runs the command against the own bus and something like Elasticsearch.
func TestTheProgram(t *testing.T) {
	e := &elastic{}
	elasticURL := start(t, e)
	st, err := server.NewStore(t.Context(), server.StoreConfig{
		Kind:   server.KindBus,
		Listen: "127.0.0.1:0",
		Dir:    t.TempDir(),
		Sync:   server.DefaultSync,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- st.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}()
	b := server.NewBus(st.Addr())
	defer b.Close()
	if _, err := b.Produce(short(t), [][]byte{record(1, noon, 1500), record(2, noon, 2500), record(2, noon, 2500), record(3, noon.Add(time.Minute), 100)}); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{"ES": elasticURL}[name] }
	run := func(args ...string) (string, string, error) {
		var out, talk bytes.Buffer
		err := Main(
			short(t),
			append([]string{"-bus", st.Addr(), "-once", "-listen", "127.0.0.1:0"}, args...),
			env,
			&out,
			&talk,
		)
		return out.String(), talk.String(), err
	}
	out, talk, err := run("-elasticsearch-env", "ES")
	if err != nil {
		t.Fatal(err)
	}
	want := `{"ts":"2026-03-27T12:00:00Z","entity":"outbound","operation":"post","throughput":2,"mean":2,"median":1.5,"upper5":2.5}
{"ts":"2026-03-27T12:01:00Z","entity":"outbound","operation":"post","throughput":1,"mean":0.1,"median":0.1,"upper5":0.1}
`
	if out != want || len(e.docs) != 2 {
		t.Errorf("%d documents in Elasticsearch, stdout:\n%s\nwant\n%s", len(e.docs), out, want)
	}
	_, text, _ := strings.Cut(talk, "records ")
	var c Counts
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.Taken != 3 || c.Duplicate != 1 ||
		strings.Contains(talk, "hunter2") {
		t.Errorf("it said %q (%v): want 3 taken, 1 duplicate and no password", talk, err)
	}
	if out, _, err := run("-perf3"); err != nil || strings.Count(out, "\n") != 4 ||
		!strings.Contains(out, `"throughput":4,"mean":1,"median":2,"upper5":2}`) {
		t.Errorf("perf3: %v\n%s", err, out)
	}
	for _, bad := range [][]string{{"-elasticsearch-env", "NONE"}, {"extra"}, {"-lateness", "-1s"}} {
		if _, _, err := run(bad...); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}

// TestMetricsAreServed while a bus is followed.
func TestMetricsAreServed(t *testing.T) {
	var talk bytes.Buffer
	end, err := serve(t.Context(), "127.0.0.1:0", &Meter{}, &talk)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(talk.String()[strings.Index(talk.String(), "http"):])
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(res.Body); err != nil ||
		!strings.Contains(body.String(), `newsfeed_perf_records_total{result="late"} 0`) {
		t.Errorf("%v: %s", err, body.String())
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}
