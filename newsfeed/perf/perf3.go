package perf

import (
	"slices"
	"time"
)

// perf3Keys are those of the studied program.
var perf3Keys = []Key{
	{"friends", "post"},
	{"outbound", "post"},
	{"outbound", "search"},
	{"participant", "post"},
}

// Perf3 aggregates as the studied program does; the package comment lists its peculiarities. Make
// it with [NewPerf3]. It is not safe for concurrent use.
type Perf3 struct {
	zone   *time.Location
	end    time.Time // of the minute under way
	values map[Key][]int64
	counts Counts
}

// NewPerf3 begins the first minute at now.
func NewPerf3(now time.Time, zone *time.Location) *Perf3 {
	if zone == nil {
		zone = time.UTC
	}
	return &Perf3{zone: zone, end: now.Add(time.Minute), values: map[Key][]int64{}}
}

// Add takes a record that arrives now. Requests without status 200 are not there: the studied
// service wrote none of them.
func (p *Perf3) Add(raw []byte) {
	p.counts.Records++
	r, err := Parse(raw, p.zone)
	key := Key{r.Entity, r.Operation}
	switch {
	case err != nil:
		p.counts.Garbled++
	case r.Status != 200 || !slices.Contains(perf3Keys, key):
		p.counts.Untracked++
	default:
		p.counts.Taken++
		p.values[key] = append(p.values[key], r.Micros/1000)
	}
}

// Tick returns the documents of the minutes that have ended before now: one per key and minute,
// zeros included.
func (p *Perf3) Tick(now time.Time) (docs []Document) {
	for !now.Before(p.end) {
		for _, k := range perf3Keys {
			docs = append(docs, perf3Document(k, p.end, p.values[k]))
		}
		clear(p.values)
		p.end = p.end.Add(time.Minute)
	}
	return docs
}

// Counts returns the counts of the records so far.
func (p *Perf3) Counts() Counts { return p.counts }

func perf3Document(k Key, at time.Time, ms []int64) Document {
	d := Document{
		TS:         at.UTC(),
		Entity:     k.Entity,
		Operation:  k.Operation,
		Throughput: int64(len(ms)),
	}
	if len(ms) == 0 {
		return d
	}
	sorted, sum := slices.Sorted(slices.Values(ms)), int64(0)
	for _, v := range ms {
		sum += v
	}
	n := len(ms)
	d.Mean = float64(sum / int64(n))
	d.Median = float64(sorted[n/2])
	d.Upper5 = float64(sorted[95*n/100])
	return d
}
