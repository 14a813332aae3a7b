package study

import (
	"fmt"
	"math"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/stats"
)

// story is the operation that the study measured.
const story = "story"

// Figures are those of the stories of one side: per minute, and in milliseconds.
type Figures struct {
	PerMinute, Mean, P50, P95 float64
}

// Curves are those that the study has shown of each variant.
type Curves struct{ PerMinute, Mean, P50, P95 dialect.Curve }

// A RunFigures holds the figures of one run about stories.
type RunFigures struct {
	ID     string
	Arm    string // name
	Block  int
	Client Figures
	Server Figures // all 0 without telemetry
	Law    Law
	// Slope is the drift of the mean response, as a part of it per minute (Theil and Sen, of the
	// logarithms); NaN if it is not known.
	Slope float64
	// Shares is which part of the service's time for all requests each store took, by role; nil if
	// it is not known.
	Shares map[string]float64
	// Over holds the curves of the users, Within those of the service.
	Over, Within Curves
}

// step returns how much time one point of a curve stands for: a minute if there are ten of them,
// else a whole number of seconds so that there are about a dozen points.
func step(span time.Duration) time.Duration {
	if span >= 10*time.Minute {
		return time.Minute
	}
	return max(time.Second, (span / 12).Truncate(time.Second))
}

// Read reads a run that was measured; ok is false for one without stories. Arm and Shares are left
// to the caller.
func Read(r dialect.JudgedRun) (out RunFigures, ok bool, err error) {
	out = RunFigures{ID: r.ID, Block: r.Block, Slope: math.NaN()}
	out.Law = Law{Users: r.Users, Span: r.To - r.From}
	width := step(out.Law.Span)
	client, server := newBins(r, width), newBins(r, width)
	all, seconds := measure.NewWindow("op"), newBins(r, time.Second)
	if err = r.EachSecond(within(r, func(at time.Duration, w *measure.Window) {
		if !workload.Steady(w.Name) {
			return
		}
		all.Merge(w)
		if w.Name == story {
			client.add(at, w)
			seconds.add(at, w)
		}
	})); err != nil {
		return out, false, err
	}
	out.Law.Response, out.Law.Longest = all.Response.Sum(), all.Response.Max()
	out.Law.Requests, out.Law.Failed = all.Count(), all.Count()-all.Response.Count()
	if r.EachServerSecond != nil {
		if err := r.EachServerSecond(within(r, func(at time.Duration, w *measure.Window) {
			out.Law.Server += w.Response.Sum()
			if w.Name == story {
				server.add(at, w)
			}
		})); err != nil {
			return out, false, fmt.Errorf("telemetry of %s: %w", r.ID, err)
		}
	}
	out.Client, out.Over = client.figures(), client.curves()
	out.Server, out.Within = server.figures(), server.curves()
	out.Slope = seconds.slope()
	return out, out.Client.PerMinute > 0, nil
}

// within calls do with each window of the measured phase.
func within(
	r dialect.JudgedRun, do func(at time.Duration, w *measure.Window),
) func(second int, ws []*measure.Window) bool {
	return func(second int, ws []*measure.Window) bool {
		at := time.Duration(second) * time.Second
		for _, w := range ws {
			if at >= r.From && at < r.To {
				do(at, w)
			}
		}
		return at < r.To
	}
}

// bins are windows of equal width over a phase, and one over all of it.
type bins struct {
	from, span, width time.Duration
	// nil where there was nothing; a rest that is shorter has none
	list  []*measure.Window
	whole *measure.Window
}

func newBins(r dialect.JudgedRun, width time.Duration) *bins {
	b := &bins{from: r.From, span: r.To - r.From, width: width, whole: measure.NewWindow(story)}
	b.list = make([]*measure.Window, b.span/width)
	return b
}

func (b *bins) add(at time.Duration, w *measure.Window) {
	b.whole.Merge(w)
	i := int((at - b.from) / b.width)
	if i >= len(b.list) {
		return
	}
	if b.list[i] == nil {
		b.list[i] = measure.NewWindow(story)
	}
	b.list[i].Merge(w)
}

// perMinute is how many stories were acknowledged, per minute.
func perMinute(w *measure.Window, span time.Duration) float64 {
	return float64(w.Classes[measure.OK]) * float64(time.Minute) / float64(span)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// figures are those of the whole phase; zero without stories.
func (b *bins) figures() Figures {
	h := b.whole.Response
	if h.Count() == 0 {
		return Figures{}
	}
	return Figures{
		PerMinute: perMinute(b.whole, b.span),
		Mean:      ms(h.Mean()),
		P50:       ms(h.Quantile(0.50)),
		P95:       ms(h.Quantile(0.95)),
	}
}

// curves have a point at the beginning of each bin with stories.
func (b *bins) curves() (c Curves) {
	for i, w := range b.list {
		if w == nil || w.Response.Count() == 0 {
			continue
		}
		at := float64(i) * b.width.Seconds()
		for _, x := range []struct {
			to *dialect.Curve
			v  float64
		}{{&c.PerMinute, perMinute(w, b.width)}, {&c.Mean, ms(w.Response.Mean())}, {&c.P50, ms(w.Response.Quantile(0.50))}, {&c.P95, ms(w.Response.Quantile(0.95))}} {
			x.to.T, x.to.V = append(x.to.T, at), append(x.to.V, x.v)
		}
	}
	return c
}

// slope is the drift of the mean response, as a part of it per minute; NaN where a bin has none, or
// there are too few.
func (b *bins) slope() float64 {
	logs := make([]float64, 0, len(b.list))
	for _, w := range b.list {
		if w == nil || w.Response.Mean() <= 0 {
			return math.NaN()
		}
		logs = append(logs, math.Log(float64(w.Response.Mean())))
	}
	return stats.TrendOf(logs, 0.95).Slope * float64(time.Minute) / float64(b.width)
}
