package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/stats"
)

// A Signal is something of a long run that should stay where it is: values at equal distances in time.
type Signal struct {
	Name string // "memory of app"
	Unit string // for people: "bytes", "ms", "1/s", "%"
	// Step is the time between two values.
	Step   time.Duration
	Values []float64
	// Material is the smallest change over the run that matters, as a part of the median value; Floor is one in Unit below which
	// no change matters.
	Material, Floor float64
}

// Drift says whether a signal drifted.
type Drift struct {
	Signal string  `json:"signal"`
	Unit   string  `json:"unit"`
	State  string  `json:"state"` // one of the constants
	Median float64 `json:"median"`
	// PerHour is the slope, with its 95 % interval, in Unit per hour; nil when it is not known.
	PerHour *float64 `json:"per_hour"`
	Lo      *float64 `json:"per_hour_lo"`
	Hi      *float64 `json:"per_hour_hi"`
	// P is the p-value of the trend, adjusted for the number of signals.
	P        *float64 `json:"p"`
	Sentence string   `json:"sentence"`
}

// What a signal did.
const (
	Rises     = "rises"
	Falls     = "falls"
	LevelsOff = "levels off" // it moved at first, and not in the second half
	Steady    = "steady"
	TooShort  = "too short" // to say anything
)

const (
	driftAlpha = 0.01
	driftLevel = 0.95
	minDrift   = 20 // values, so that a half still has [stats.MinTrend]
)

// FindDrift returns what each signal did over the run. A signal drifts when its trend is significant at 1 % (Holm, over all
// signals, corrected for autocorrelation) and its change over the run matters; when the rate of its second
// half over a whole run would not matter, it only levels off, as caches and pools do that fill.
func FindDrift(signals []Signal) []Drift {
	trends := make([]stats.Trend, len(signals))
	var ps []float64
	var known []int
	for i, s := range signals {
		trends[i].P = math.NaN()
		if len(s.Values) >= minDrift {
			trends[i] = stats.TrendOf(s.Values, driftLevel)
		}
		if trends[i].Known() {
			ps, known = append(ps, trends[i].P), append(known, i)
		}
	}
	out := make([]Drift, len(signals))
	for i, s := range signals {
		out[i] = Drift{Signal: s.Name, Unit: s.Unit, State: TooShort,
			Sentence: fmt.Sprintf("%s: %d values are too few to see a trend, %d are needed; nothing is said about it", s.Name, len(s.Values), minDrift)}
	}
	for k, p := range stats.Holm(ps) {
		i := known[k]
		out[i] = signals[i].judge(trends[i], p)
	}
	return out
}

func (s Signal) judge(t stats.Trend, p float64) Drift {
	sample := slices.Sorted(slices.Values(s.Values))
	med := sample[len(sample)/2]
	perHour := func(v float64) *float64 {
		v *= float64(time.Hour) / float64(s.Step)
		return &v
	}
	d := Drift{Signal: s.Name, Unit: s.Unit, Median: med, PerHour: perHour(t.Slope), Lo: perHour(t.Lo), Hi: perHour(t.Hi), P: &p}
	steps := float64(len(s.Values) - 1)
	span := time.Duration(steps * float64(s.Step))
	matters := max(s.Material*math.Abs(med), s.Floor)
	change := t.Slope * steps
	text := fmt.Sprintf("%s over %s (%s per hour, 95 %% interval %s to %s; p = %.2g)", s.amount(change, true), spanText(span),
		s.amount(*d.PerHour, true), s.amount(*d.Lo, true), s.amount(*d.Hi, true), p)
	switch {
	case p < driftAlpha && math.Abs(change) >= matters && s.levelsOff(t, matters):
		d.State = LevelsOff
		d.Sentence = fmt.Sprintf("%s: moved by %s, but hardly in the second half: it levels off", s.Name, text)
	case p < driftAlpha && math.Abs(change) >= matters && change > 0:
		d.State = Rises
		d.Sentence = fmt.Sprintf("%s: rises by %s", s.Name, text)
	case p < driftAlpha && math.Abs(change) >= matters:
		d.State = Falls
		d.Sentence = fmt.Sprintf("%s: falls by %s", s.Name, text)
	default:
		d.State = Steady
		far := max(math.Abs(*d.Lo), math.Abs(*d.Hi))
		d.Sentence = fmt.Sprintf("%s: no drift that matters over %s", s.Name, spanText(span))
		if far > 0 {
			d.Sentence += fmt.Sprintf("; a slower one, below about %s per hour, this run can not see", s.amount(far, false))
		}
	}
	return d
}

// levelsOff reports whether a whole run at the rate of the second half would change less than what matters, or in the
// other direction.
func (s Signal) levelsOff(t stats.Trend, matters float64) bool {
	half := stats.TrendOf(s.Values[len(s.Values)/2:], driftLevel)
	return half.Known() && (half.Slope*t.Slope <= 0 || math.Abs(half.Slope)*float64(len(s.Values)-1) < matters)
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
