package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/judge/attribution"
	"plimsoll/judge/verdict"
	"plimsoll/load/measure"
	"plimsoll/plan"
	"plimsoll/stats"
)

// Number is a number that may be unknown: NaN, and null in JSON.
type Number float64

// unknown returns the number that is not known.
var unknown = Number(math.NaN())

// Known reports whether n is a finite number.
func (n Number) Known() bool { return !math.IsNaN(float64(n)) && !math.IsInf(float64(n), 0) }

// MarshalJSON writes null for a number that is not known.
func (n Number) MarshalJSON() ([]byte, error) {
	if !n.Known() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as a number that is not known.
func (n *Number) UnmarshalJSON(b []byte) error {
	var f *float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*n = unknown
	if f != nil {
		*n = Number(*f)
	}
	return nil
}

func known[F ~float64](v F) bool { return Number(v).Known() }

// fixed writes v with that many decimals, never as "-0".
func fixed[F ~float64](v F, decimals int) string {
	s := strconv.FormatFloat(float64(v), 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// signed writes v with its sign; a value that rounds to zero has a plus.
func signed[F ~float64](v F, decimals int) string {
	if s := fixed(v, decimals); strings.HasPrefix(s, "-") {
		return s
	} else {
		return "+" + s
	}
}

// sig writes v with about n significant digits and never in exponents: 0.512, 1.23, 12.3, 123,
// 1234.
func sig[F ~float64](v F, n int) string {
	if !known(v) {
		return dash
	}
	a := math.Abs(float64(v))
	if a == 0 {
		return "0"
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(a, 'e', n-1, 64),
		64) // 0.0999 is 0.10 with two digits
	digits := n - 1 - int(math.Floor(math.Log10(rounded)))
	if digits <= 0 {
		return fixed(v, 0)
	}
	return fixed(v, min(digits, 6))
}

// decimalsFor returns how many decimals a number deserves whose interval has this half-width: the
// last digit shown is worth more than a tenth of it and at most all of it.
func decimalsFor(half float64) int {
	if !known(half) || half <= 0 {
		return 1
	}
	return min(max(0, int(math.Ceil(-math.Log10(half)))), 4)
}

// percent writes a difference of ratios: "+12.8 %", "-0.28 %", "+356 %".
func percent[F ~float64](v F) string {
	decimals := 1
	switch a := math.Abs(float64(v)); {
	case a < 0.01:
		decimals = 2
	case a >= 1:
		decimals = 0
	}
	return signed(100*v, decimals) + " %"
}

// text writes a difference with its interval: "+12.8 % [+10.9, +14.7] at 95 %".
func (d *Delta) text() string {
	if d == nil || !d.Value.Known() {
		return dash
	}
	v := float64(d.Value)
	if d.Bound != "" {
		return d.Bound + " " + percent(v)
	}
	if !d.Lo.Known() || !d.Hi.Known() {
		return percent(v)
	}
	n := spanDecimals(100*float64(d.Lo), 100*float64(d.Hi))
	text := fmt.Sprintf(
		"%s %% [%s, %s]",
		signed(100*v, n),
		signed(100*d.Lo, n),
		signed(100*d.Hi, n),
	)
	if d.Level > 0 {
		text += " at " + verdict.LevelText(float64(d.Level))
	}
	if d.FromBounds {
		text += " (bounds)"
	}
	return text
}

// spanDecimals returns the decimals of an interval in percent: one at least, unless it is wider
// than ten points.
func spanDecimals(lo, hi float64) int {
	half := (hi - lo) / 2
	if half >= 10 {
		return 0
	}
	return max(1, decimalsFor(half))
}

// effect writes the effect of a result with the interval that decides it, in percent or points:
// "+12.8 % [+10.9, +14.7] at 95 %".
func effect(r verdict.Result) string {
	if !r.Absolute {
		return deltaOf(r).text()
	}
	if !known(r.Effect) {
		return dash
	}
	if !r.HasInterval() {
		return signed(r.Effect, 2) + " pp"
	}
	lo, hi, level := r.Decisive()
	if lo == hi { // no pair differs: the number of operations decides
		return signed(r.Effect, 2) + " pp"
	}
	n := max(2, decimalsFor((hi-lo)/2))
	return fmt.Sprintf("%s pp [%s, %s] at %s", signed(r.Effect, n), signed(lo, n), signed(hi, n),
		verdict.LevelText(level))
}

// size writes a margin or a smallest effect, without sign: "5 %", "0.1 pp".
func size(e plan.Endpoint, v float64) string {
	switch {
	case !known(v) || v == 0: // without variation the smallest change is 0, which is not informative
		return dash
	case e.Absolute:
		return trim(sig(v, 2)) + " pp"
	case v >= 10:
		return "> 1000 %"
	default:
		return trim(fixed(100*v, 1)) + " %"
	}
}

func trim(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// measured writes a number of an endpoint: users whole, times with three digits, the unit behind it
// unless bare.
func measured(e plan.Endpoint, v float64) string {
	switch {
	case !known(v):
		return dash
	case e.Unit == "users":
		return fixed(v, 0)
	case e.Unit == "%":
		return sig(v, 2) + " %"
	case e.Unit == "":
		return sig(v, 3)
	default:
		return sig(v, 3) + " " + e.Unit
	}
}

// summary writes one arm of a result: its mean, ">=" where it is a lower bound.
func summary(e plan.Endpoint, s verdict.Summary) string {
	t := measured(e, s.Mean)
	if s.AtLeast && known(s.Mean) {
		return ">= " + t
	}
	return t
}

// ruleValue writes a number of a rule in the unit in which people write it.
func ruleValue(unit string, n Number) string {
	v := float64(n)
	switch {
	case !n.Known():
		return dash
	case unit == plan.Seconds && math.Abs(v) >= 1:
		return trim(sig(v, 3)) + " s"
	case unit == plan.Seconds:
		return sig(v*1000, 3) + " ms"
	case unit == plan.Fraction:
		return sig(v*100, 3) + " %"
	default:
		return sig(v, 3)
	}
}

// ms writes milliseconds.
func ms(n Number) string { return sig(n, 3) }

// Delta is a relative difference: Value 0.05 is 5 % more. Lo and Hi are its interval at Level,
// which is 0 where the text around it names the level.
type Delta struct {
	Value Number `json:"value"`
	Lo    Number `json:"lo"`
	Hi    Number `json:"hi"`
	Level Number `json:"level,omitempty"`
	// Bound is set if Value is not known but bounded: "<=", ">=", or "" for a value.
	Bound string `json:"bound,omitempty"`
	// FromBounds reports that some of the pairs are only bounds: the interval holds for every value
	// within them.
	FromBounds bool `json:"from_bounds,omitempty"`
}

// interval is a difference with its interval, at a level that the text around it names.
func interval(v, lo, hi float64) *Delta {
	return &Delta{Value: Number(v), Lo: Number(lo), Hi: Number(hi)}
}

func deltaOf(r verdict.Result) *Delta {
	lo, hi, level := r.Decisive()
	d := interval(r.Effect, lo, hi)
	d.Level = Number(level)
	switch { // more than half of the pairs are bounds: one end is all that is known
	case d.Value.Known():
		d.FromBounds = r.Censored() && r.HasInterval()
	case d.Hi.Known():
		d.Value = d.Hi
		d.Hi = unknown
		d.Bound = "<="
	case d.Lo.Known():
		d.Value = d.Lo
		d.Lo = unknown
		d.Bound = ">="
	}
	return d
}

// quantilesMS are quantiles in milliseconds, NaN of too few operations.
func quantilesMS(h *measure.Histogram) (p50, p95, p99 Number) {
	of := func(q float64) Number {
		if h.Count() < stats.LeastOps(q) {
			return unknown
		}
		return inMS(h.Quantile(q))
	}
	return of(0.50), of(0.95), of(0.99)
}

func inMS(d time.Duration) Number { return Number(float64(d) / float64(time.Millisecond)) }

// alphaText writes a level: "2.21 %".
func alphaText(alpha float64) string { return trim(fixed(100*alpha, 2)) + " %" }

// plus writes a number with its sign and three digits.
func plus[F ~float64](v F) string {
	if v < 0 {
		return sig(v, 3)
	}
	return "+" + sig(v, 3)
}

func share(x float64) string { return fixed(100*x, 2) + " %" }

// perOperation is the unit of costs beside each other: milliseconds, or microseconds where the
// cost is below one.
type perOperation struct {
	unit     string
	scale    float64 // of CPU seconds
	decimals int
}

// unitOf returns a unit in which a cost in seconds has four digits.
func unitOf(cost float64) perOperation {
	u := perOperation{unit: "ms", scale: 1e3}
	if cost < 1e-3 {
		u = perOperation{unit: "µs", scale: 1e6}
	}
	for v := cost * u.scale; v < 1000 && u.decimals < 4; v *= 10 {
		u.decimals++
	}
	return u
}

func (u perOperation) text(seconds float64) string { return fixed(u.scale*seconds, u.decimals) }

// change writes a difference with its interval.
func (u perOperation) change(i attribution.IntervalEstimate) string {
	return fmt.Sprintf("%s [%s, %s]", signed(u.scale*i.Value, u.decimals),
		signed(u.scale*i.Low, u.decimals), signed(u.scale*i.High, u.decimals))
}
