package probe

import (
	"context"
	"time"

	"plimsoll/watch/series"
)

// Probe is one source of numbers. Sample is never called twice at once.
type Probe interface {
	// Name distinguishes the probes of a run, in errors and in the label "probe"; for example
	// "host".
	Name() string
	// Sample reads the source. t is the time the samples will be stored under; rates are formed
	// with it. The samples stay valid until the next call. With a non-nil error they are those
	// that could be read; a signal that could not be read is absent, never zero.
	Sample(ctx context.Context, t time.Time) ([]series.Sample, error)
}

// Scraper is a source that answers in the Prometheus text format.
type Scraper interface {
	// Name is as for Probe.
	Name() string
	// Labels are added to every series of the answer.
	Labels() map[string]string
	// Scrape fetches the text and its content type. The body stays valid until the next call.
	Scrape(ctx context.Context) (body []byte, contentType string, err error)
}
