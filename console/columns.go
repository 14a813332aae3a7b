package console

import (
	"encoding/json"
	"math"
	"slices"
)

// mostPoints is the largest number of points in a series; beyond it, pairs of points are merged.
const mostPoints = 3600

// kept is the number of seconds of a run that are kept while it is followed.
const kept = 7200

// A point is a value over the seconds that it spans: n readings, or none.
type point struct {
	mean, min, max float64
	n              int
}

func (p *point) add(q point) {
	switch {
	case q.n == 0:
	case p.n == 0:
		*p = q
	default:
		p.mean = (p.mean*float64(p.n) + q.mean*float64(q.n)) / float64(p.n+q.n)
		p.min = min(p.min, q.min)
		p.max = max(p.max, q.max)
		p.n = p.n + q.n
	}
}

// columns are series on one axis of time. The zero value has steps of zero seconds: use newColumns.
type columns struct {
	step float64
	most int     // points
	keep float64 // seconds; older ones go
	t    []float64
	by   map[string][]point
}

func newColumns(most int, keep float64) *columns {
	return &columns{step: 1, most: most, keep: keep, by: map[string][]point{}}
}

// maxSeries bounds the names that the frames of a run may bring up.
const maxSeries = 200

// add takes the readings of the second that ends at t. A second that is not later than the last is
// left out.
func (c *columns) add(t float64, values map[string]float64) {
	end := math.Ceil(t/c.step) * c.step
	last := len(c.t) - 1
	if last < 0 || end > c.t[last] {
		c.t = append(c.t, end)
		last++
		for name, col := range c.by {
			c.by[name] = append(col, point{})
		}
	} else if end < c.t[last] {
		return
	}
	for name, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		col := c.by[name]
		if col == nil {
			if len(c.by) >= maxSeries {
				continue
			}
			col = make([]point, len(c.t))
			c.by[name] = col
		}
		col[last].add(point{v, v, v, 1})
	}
	for len(c.t) > c.most {
		c.halve()
	}
	if old, _ := slices.BinarySearch(c.t, c.t[len(c.t)-1]-c.keep+c.step); old > 0 {
		c.t = slices.Delete(c.t, 0, old)
		for name, col := range c.by {
			c.by[name] = slices.Delete(col, 0, old)
		}
	}
}

// halve merges points, so that each spans twice the time.
func (c *columns) halve() {
	c.step *= 2
	var t []float64
	at := make([]int, len(c.t))
	for i, v := range c.t {
		end := math.Ceil(v/c.step) * c.step
		if len(t) == 0 || t[len(t)-1] != end {
			t = append(t, end)
		}
		at[i] = len(t) - 1
	}
	for name, col := range c.by {
		merged := make([]point, len(t))
		for i, p := range col {
			merged[at[i]].add(p)
		}
		c.by[name] = merged
	}
	c.t = t
}

// past returns the Past of the contract with the points after from, in seconds; all of them for
// from < 0 or when a point spans more than a second, since the reader cannot append then.
func (c *columns) past(from float64) map[string]any {
	first, replace := 0, true
	if from >= 0 && c.step == 1 {
		replace = false
		for first < len(c.t) && c.t[first] <= from {
			first++
		}
	}
	series := map[string]any{}
	for name, col := range c.by {
		col = col[first:]
		pick := func(f func(point) float64) []any {
			out := make([]any, len(col))
			for i, p := range col {
				if p.n > 0 {
					out[i] = f(p)
				}
			}
			return out
		}
		points := map[string]any{"mean": pick(func(p point) float64 { return p.mean })}
		if c.step > 1 {
			points["min"] = pick(func(p point) float64 { return p.min })
			points["max"] = pick(func(p point) float64 { return p.max })
		}
		series[name] = points
	}
	return map[string]any{
		"step":    c.step,
		"t":       append([]float64{}, c.t[first:]...),
		"series":  series,
		"replace": replace,
	}
}

// A reading is the part of a frame of a run that the columns keep.
type reading struct {
	Kind        string  `json:"kind"`
	ID          string  `json:"id"`
	Seq         *int64  `json:"seq"`
	At          float64 `json:"at"`
	Began       string  `json:"began"`
	PID         int     `json:"pid"`
	Verb        string  `json:"verb"`
	Plan        string  `json:"plan"`
	Arm         string  `json:"arm"`
	Engine      string  `json:"engine"`
	Exploratory string  `json:"exploratory"`
	Of          struct{ ID string }
	Users       struct{ Wanted, Active *float64 }
	Ops         *float64
	Response    struct{ P50, P95, P99 *float64 }
	Delivery    struct{ P50, P95, P99 *float64 }
	Errors      struct {
		Rate    *float64
		Classes map[string]float64
	}
	CPU    struct{ Generator, App, Database *float64 }
	Phases json.RawMessage
	Rules  json.RawMessage
	Search struct {
		Level, Lo, Hi *float64
		Windows       []json.RawMessage
	}
	Log []json.RawMessage
	// Of the last line of a stream.
	End   json.RawMessage
	State string
}

// values returns the readings by the names of the contract. classes are the totals of the frame
// before, with which the failures of each class become a rate over the seconds between.
func (f *reading) values(classes map[string]float64, seconds float64) map[string]float64 {
	out := map[string]float64{}
	put := func(name string, v *float64) {
		if v != nil {
			out[name] = *v
		}
	}
	put("users.wanted", f.Users.Wanted)
	put("users.active", f.Users.Active)
	put("ops", f.Ops)
	put("p50", f.Response.P50)
	put("p95", f.Response.P95)
	put("p99", f.Response.P99)
	put("delivery.p50", f.Delivery.P50)
	put("delivery.p95", f.Delivery.P95)
	put("delivery.p99", f.Delivery.P99)
	put("errors", f.Errors.Rate)
	put("cpu.generator", f.CPU.Generator)
	put("cpu.app", f.CPU.App)
	put("cpu.database", f.CPU.Database)
	put("search.level", f.Search.Level)
	put("search.lo", f.Search.Lo)
	put("search.hi", f.Search.Hi)
	if classes != nil && seconds > 0 {
		for class, n := range f.Errors.Classes {
			out["errors."+class] = max(0, n-classes[class]) / seconds
		}
	}
	var rules []struct{ Value *float64 }
	if json.Unmarshal(f.Rules, &rules) == nil {
		for i, r := range rules {
			put(ruleName(i), r.Value)
		}
	}
	return out
}
