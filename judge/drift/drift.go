package drift

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/stats"
)

// A Signal is something of a phase of a run that should stay where it is: values at equal distances
// in time.
type Signal struct {
	Name string // "memory of app"
	Unit string // for people: "bytes", "ms", "1/s", "%"
	// Step is the time between two values.
	Step   time.Duration
	Values []float64
	// Material is the smallest change over the run that matters, as a part of the median value;
	// Floor is one in Unit below which no change matters.
	Material, Floor float64
	// Parts are the components of the signal, such as each operation of a mean over all. They are
	// examined only when the signal drifts, and then only for a drift in the same direction.
	Parts []SignalPart
}

// A SignalPart is one of those that a [Signal] is made of, at the same instants. Weight is how much
// of the signal it is, such as its number of operations.
type SignalPart struct {
	Name   string
	Values []float64
	Weight float64
}

// A Drift is the judgment whether a signal drifted.
type Drift struct {
	Signal string  `json:"signal"`
	Unit   string  `json:"unit"`
	State  string  `json:"state"` // one of the constants
	Median float64 `json:"median"`
	Ends
	// PerHour is the slope, with its 95 % interval, in Unit per hour; nil when it is not known.
	PerHour *float64 `json:"per_hour"`
	Lo      *float64 `json:"per_hour_lo"`
	Hi      *float64 `json:"per_hour_hi"`
	// Change is the slope over the run as a part of the value at first, 0.05 for 5 % more; nil
	// where it is not known or that value is 0.
	Change *float64 `json:"change"`
	// P is the p-value of the trend, adjusted for the number of signals.
	P *float64 `json:"p"`
	// Parts are those parts that drift in the same direction by themselves, the largest
	// contribution first.
	Parts    []PartDrift `json:"parts,omitempty"`
	Sentence string      `json:"sentence"`
}

// Ends are the first and the last level of a signal, as the means of the first and the last tenth
// of its values, and the hours between the first value and the last. All are 0 for one that is too
// short.
type Ends struct {
	First float64 `json:"first"`
	Last  float64 `json:"last"`
	Hours float64 `json:"hours"`
}

// PartDrift is the drift of one part: the slope with its 95 % interval in Unit per hour, and the
// p-value, adjusted for the number of parts.
type PartDrift struct {
	Name string `json:"name"`
	Ends
	PerHour float64 `json:"per_hour"`
	Lo      float64 `json:"per_hour_lo"`
	Hi      float64 `json:"per_hour_hi"`
	P       float64 `json:"p"`
	weight  float64
}

// Kinds of drift.
const (
	Rises     = "rises"
	Falls     = "falls"
	LevelsOff = "levels off" // it moved at first, and not in the second half
	Steady    = "steady"
	TooShort  = "too short" // to judge
)

const (
	driftAlpha = 0.01
	driftLevel = 0.95
	minDrift   = 20 // values, so that a half still has [stats.MinTrend]
	partsShown = 3  // in a sentence
)

// FindDrift judges the drift of each signal over the run. A signal drifts when its trend is
// significant at 1 % (Holm, over all signals, corrected for autocorrelation) and its change over
// the run matters; when the rate of its second half over a whole run would not matter, it only
// levels off, as caches and pools do while they fill.
//
// The trend is of the means of twenty to ten equal stretches ([stats.RunDrift]), of fewer than
// forty values that of the values themselves. docs/method/statistics.md lists its error rates.
func FindDrift(signals []Signal) []Drift {
	trends := make([]stats.Trend, len(signals))
	var ps []float64
	var known []int
	for i, s := range signals {
		trends[i].P = math.NaN()
		if len(s.Values) >= minDrift {
			trends[i] = trendOf(s.Values)
		}
		if trends[i].Known() {
			ps, known = append(ps, trends[i].P), append(known, i)
		}
	}
	out := make([]Drift, len(signals))
	for i, s := range signals {
		out[i] = Drift{
			Signal: s.Name,
			Unit:   s.Unit,
			State:  TooShort,
			Sentence: fmt.Sprintf(
				"%s: %d values are too few to see a trend, %d are needed; nothing is said about it",
				s.Name,
				len(s.Values),
				minDrift,
			),
		}
	}
	for k, p := range stats.Holm(ps) {
		i := known[k]
		out[i] = signals[i].judge(trends[i], p)
	}
	return out
}

// trendOf returns the trend per value.
func trendOf(values []float64) stats.Trend {
	if len(values) < 2*stats.TrendBatches {
		return stats.TrendOf(values, driftLevel)
	}
	t := stats.RunDrift(values, driftLevel)
	over := float64(len(values))
	t.Slope = t.Slope / over
	t.Lo = t.Lo / over
	t.Hi = t.Hi / over
	return t
}

func (s Signal) judge(t stats.Trend, p float64) Drift {
	sample := slices.Sorted(slices.Values(s.Values))
	med := sample[len(sample)/2]
	perHour := func(v float64) *float64 {
		v *= float64(time.Hour) / float64(s.Step)
		return &v
	}
	d := Drift{
		Signal:  s.Name,
		Unit:    s.Unit,
		Median:  med,
		Ends:    s.ends(s.Values),
		PerHour: perHour(t.Slope),
		Lo:      perHour(t.Lo),
		Hi:      perHour(t.Hi),
		P:       &p,
	}
	steps := float64(len(s.Values) - 1)
	span := time.Duration(steps * float64(s.Step))
	matters := max(s.Material*math.Abs(med), s.Floor)
	change := t.Slope * steps
	if d.First != 0 {
		part := change / math.Abs(d.First)
		d.Change = &part
	}
	text := fmt.Sprintf(
		"%s over %s (%s per hour, 95 %% interval %s to %s; p = %.2g)",
		s.amount(change, true),
		spanText(span),
		s.amount(*d.PerHour, true),
		s.amount(*d.Lo, true),
		s.amount(*d.Hi, true),
		p,
	)
	moved := p < driftAlpha && math.Abs(change) >= matters
	switch {
	case moved && s.levelsOff(t, matters):
		d.State = LevelsOff
		d.Sentence = fmt.Sprintf(
			"%s: moved by %s, but hardly in the second half: it levels off%s",
			s.Name,
			text,
			s.fromTo(d),
		)
	case moved && change > 0:
		d.State = Rises
		d.Sentence = fmt.Sprintf("%s: rises by %s%s", s.Name, text, s.fromTo(d))
	case moved:
		d.State = Falls
		d.Sentence = fmt.Sprintf("%s: falls by %s%s", s.Name, text, s.fromTo(d))
	default:
		d.State = Steady
		far := max(math.Abs(*d.Lo), math.Abs(*d.Hi))
		d.Sentence = fmt.Sprintf("%s: no drift that matters over %s", s.Name, spanText(span))
		if far > 0 {
			d.Sentence += fmt.Sprintf(
				"; a slower one, below about %s per hour, this run can not see",
				s.amount(far, false),
			)
		}
	}
	if moved && len(s.Parts) > 0 {
		d.Parts = s.parts(change > 0)
		d.Sentence += s.partsText(d.Parts)
	}
	return d
}

// ends returns where values at the signal's instants began and ended.
func (s Signal) ends(values []float64) Ends {
	k := max(1, len(values)/10)
	return Ends{
		First: stats.Mean(values[:k]),
		Last:  stats.Mean(values[len(values)-k:]),
		Hours: (time.Duration(len(values)-1) * s.Step).Hours(),
	}
}

// fromTo writes where a signal began and ended: ", from 41.2 ms at first to 59.8 ms at last, +45
// %".
func (s Signal) fromTo(d Drift) string {
	text := fmt.Sprintf(
		", from %s at first to %s at last",
		s.amount(d.First, false),
		s.amount(d.Last, false),
	)
	if d.First > 0 {
		text += fmt.Sprintf(", %+.3g %%", 100*(d.Last/d.First-1))
	}
	return text
}

// parts returns the parts that drift in the direction of the whole, significant at 1 % (Holm, over
// the parts).
func (s Signal) parts(up bool) []PartDrift {
	var all []PartDrift
	var ps []float64
	hour := float64(time.Hour) / float64(s.Step)
	for _, x := range s.Parts {
		if len(x.Values) < minDrift {
			continue
		}
		if t := trendOf(x.Values); t.Known() {
			all = append(all, PartDrift{
				Name:    x.Name,
				Ends:    s.ends(x.Values),
				PerHour: t.Slope * hour,
				Lo:      t.Lo * hour,
				Hi:      t.Hi * hour,
				weight:  x.Weight,
			})
			ps = append(ps, t.P)
		}
	}
	var out []PartDrift
	for i, p := range stats.Holm(ps) {
		if all[i].P = p; p < driftAlpha && (all[i].PerHour > 0) == up {
			out = append(out, all[i])
		}
	}
	rate := func(p PartDrift) float64 { return p.weight * math.Abs(p.PerHour) }
	slices.SortStableFunc(out, func(a, b PartDrift) int {
		return cmp.Or(cmp.Compare(rate(b), rate(a)), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func (s Signal) partsText(parts []PartDrift) string {
	if len(parts) == 0 {
		return fmt.Sprintf(
			"; none of its %s does so by itself: their mixture may have changed",
			verdict.Count(len(s.Parts), "part"),
		)
	}
	names := make([]string, 0, partsShown)
	for _, x := range parts[:min(len(parts), partsShown)] {
		names = append(
			names,
			fmt.Sprintf("%s (%s to %s)", x.Name, s.amount(x.First, false), s.amount(x.Last, false)),
		)
	}
	text := fmt.Sprintf(
		"; of its %s %d %s so too: %s",
		verdict.Count(len(s.Parts), "part"),
		len(parts),
		do(len(parts)),
		strings.Join(names, ", "),
	)
	if more := len(parts) - partsShown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// levelsOff reports whether a whole run at the rate of the second half would change less than
// matters, or in the other direction.
func (s Signal) levelsOff(t stats.Trend, matters float64) bool {
	half := stats.TrendOf(s.Values[len(s.Values)/2:], driftLevel)
	return half.Known() &&
		(half.Slope*t.Slope <= 0 || math.Abs(half.Slope)*float64(len(s.Values)-1) < matters)
}

// amount writes a value of the signal's unit.
func (s Signal) amount(v float64, sign bool) string {
	text := ""
	switch {
	case s.Unit == "bytes" && math.Abs(v) >= 1<<30:
		text = fmt.Sprintf("%.3g GiB", v/(1<<30))
	case s.Unit == "bytes":
		text = fmt.Sprintf("%.3g MiB", v/(1<<20))
	case math.Abs(v) >= 1000:
		text = strings.TrimSpace(fmt.Sprintf("%.0f %s", v, s.Unit))
	default:
		text = strings.TrimSpace(fmt.Sprintf("%.3g %s", v, s.Unit))
	}
	if sign && v >= 0 {
		text = "+" + text
	}
	return text
}

func spanText(d time.Duration) string {
	if d >= 2*time.Hour {
		return fmt.Sprintf("%.1f hours", d.Hours())
	}
	if d >= 2*time.Minute {
		return fmt.Sprintf("%.1f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f seconds", d.Seconds())
}

func do(n int) string {
	if n == 1 {
		return "does"
	}
	return "do"
}
