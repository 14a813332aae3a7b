package perf

import "time"

// A Document is one key's figures of one minute, in the form of the studied program. Latencies are
// milliseconds.
type Document struct {
	TS         time.Time `json:"ts"`
	Entity     string    `json:"entity"`
	Operation  string    `json:"operation"`
	Throughput int64     `json:"throughput"`
	Mean       float64   `json:"mean"`
	Median     float64   `json:"median"`
	Upper5     float64   `json:"upper5"` // 95th percentile
}

// ID names the document: another one of the same key and minute takes its place.
func (d Document) ID() string {
	return d.Entity + "-" + d.Operation + "-" + d.TS.UTC().Format(time.RFC3339)
}

// Document returns the window's figures; false if no request was acknowledged in it.
func (w *Window) Document() (Document, bool) {
	ms := func(v int64) float64 { return float64(v) / 1000 }
	return Document{
		TS:         w.Start,
		Entity:     w.Entity,
		Operation:  w.Operation,
		Throughput: w.Micros.Count(),
		Mean:       w.Micros.Mean() / 1000,
		Median:     ms(w.Micros.Percentile(50)),
		Upper5:     ms(w.Micros.Percentile(95)),
	}, w.Micros.Count() > 0
}
