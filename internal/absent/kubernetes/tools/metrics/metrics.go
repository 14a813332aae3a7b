// Package metrics has the names that Prometheus's service discovery mentions of the Kubernetes
// client's package.
package metrics

import (
	"context"
	"net/url"
	"time"
)

// LatencyMetric observes the latency of a request.
type LatencyMetric interface {
	Observe(ctx context.Context, verb string, u url.URL, latency time.Duration)
}

// ResultMetric counts answers.
type ResultMetric interface {
	Increment(ctx context.Context, code, method, host string)
}

// RegisterOpts are the metrics of a client.
type RegisterOpts struct {
	RequestLatency LatencyMetric
	RequestResult  ResultMetric
}

// Register does nothing: there is no client whose requests could be counted.
func Register(RegisterOpts) {}
