package perf

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	recordsDesc = prometheus.NewDesc(
		"newsfeed_perf_records_total",
		"Telemetry records, by outcome.",
		[]string{"result"},
		nil,
	)
	missingDesc = prometheus.NewDesc(
		"newsfeed_perf_missing",
		"Numbers of telemetry records that have not come, below the highest that has.",
		nil,
		nil,
	)
	watermarkDesc = prometheus.NewDesc(
		"newsfeed_perf_watermark_seconds",
		"Time up to which every record is believed to have come, as Unix time.",
		nil,
		nil,
	)
	documentsDesc = prometheus.NewDesc(
		"newsfeed_perf_documents_total",
		"Documents, by whether they were handed over.",
		[]string{"result"},
		nil,
	)
	requestsDesc = prometheus.NewDesc(
		"newsfeed_perf_window_requests",
		"Requests of the last closed window, by whether they were answered with status 200.",
		[]string{"entity", "operation", "success"},
		nil,
	)
	secondsDesc = prometheus.NewDesc(
		"newsfeed_perf_window_seconds",
		"Time of the requests of the last closed window that were answered with status 200.",
		[]string{"entity", "operation", "stat"},
		nil,
	)
)

// Describe implements prometheus.Collector.
func (m *Meter) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{recordsDesc, missingDesc, watermarkDesc, documentsDesc, requestsDesc, secondsDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Meter) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counter := func(d *prometheus.Desc, v int64, l ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), l...)
	}
	gauge := func(d *prometheus.Desc, v float64, l ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, l...)
	}
	c := m.counts
	for _, r := range []struct {
		name string
		n    int64
	}{{"taken", c.Taken}, {"late", c.Late}, {"duplicate", c.Duplicate}, {"garbled", c.Garbled}, {"ahead", c.Ahead}, {"untracked", c.Untracked}} {
		counter(recordsDesc, r.n, r.name)
	}
	gauge(missingDesc, float64(c.Missing))
	if !m.watermark.IsZero() {
		gauge(watermarkDesc, float64(m.watermark.UnixMilli())/1000)
	}
	counter(documentsDesc, m.written, "written")
	counter(documentsDesc, m.lost, "lost")
	for k, w := range m.last {
		gauge(requestsDesc, float64(w.Micros.Count()), k.Entity, k.Operation, "true")
		gauge(requestsDesc, float64(w.Failures()), k.Entity, k.Operation, "false")
		if w.Micros.Count() == 0 {
			continue
		}
		for stat, v := range map[string]float64{
			"mean": w.Micros.Mean(),
			"p50":  float64(w.Micros.Percentile(50)),
			"p95":  float64(w.Micros.Percentile(95)),
		} {
			gauge(secondsDesc, v/1e6, k.Entity, k.Operation, stat)
		}
	}
}
