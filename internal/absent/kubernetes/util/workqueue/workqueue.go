// Package workqueue has the names that Prometheus's service discovery mentions of the Kubernetes
// client's package.
package workqueue

// GaugeMetric goes up and down by one.
type GaugeMetric interface {
	Inc()
	Dec()
}

// SettableGaugeMetric is set.
type SettableGaugeMetric interface{ Set(float64) }

// CounterMetric goes up by one.
type CounterMetric interface{ Inc() }

// HistogramMetric takes observations.
type HistogramMetric interface{ Observe(float64) }

// MetricsProvider makes the metrics of a queue.
type MetricsProvider interface {
	NewDepthMetric(name string) GaugeMetric
	NewAddsMetric(name string) CounterMetric
	NewLatencyMetric(name string) HistogramMetric
	NewWorkDurationMetric(name string) HistogramMetric
	NewUnfinishedWorkSecondsMetric(name string) SettableGaugeMetric
	NewLongestRunningProcessorSecondsMetric(name string) SettableGaugeMetric
	NewRetriesMetric(name string) CounterMetric
}

// SetProvider does nothing: there is no queue.
func SetProvider(MetricsProvider) {}
