package perf

import (
	"github.com/prometheus/client_golang/prometheus"
)

var (
	recordsDesc = desc("newsfeed_perf_records_total", "Telemetry records, by outcome.", "result")
	missingDesc = desc("newsfeed_perf_missing",
		"Numbers of telemetry records that have not come, below the highest that has.")
	watermarkDesc = desc("newsfeed_perf_watermark_seconds",
		"Time up to which every record is believed to have come, as Unix time.")
	documentsDesc = desc("newsfeed_perf_documents_total",
		"Documents, by whether they were handed over.", "result")
	requestsDesc = desc("newsfeed_perf_window_requests",
		"Requests of the last closed window, by whether they were answered with status 200.",
		"entity", "operation", "success")
	secondsDesc = desc("newsfeed_perf_window_seconds",
		"Time of the requests of the last closed window that were answered with status 200.",
		"entity", "operation", "stat")
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

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
	counter(recordsDesc, c.Taken, "taken")
	for name, n := range c.Left() {
		counter(recordsDesc, n, name)
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
		for stat, v := range w.Seconds() {
			gauge(secondsDesc, v, k.Entity, k.Operation, stat)
		}
	}
}
