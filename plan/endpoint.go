package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Direction is the direction in which a number is better.
type Direction string

// The two directions.
const (
	Higher Direction = "higher" // capacity, throughput
	Lower  Direction = "lower"  // latency, cost, errors
)

// ParseDirection reads "higher" or "lower".
func ParseDirection(s string) (Direction, error) {
	switch d := Direction(s); d {
	case Higher, Lower:
		return d, nil
	default:
		return "", fmt.Errorf("direction %q: want higher or lower", s)
	}
}

// An Endpoint is a number of a run by which arms are compared, and the margin within which a
// difference does not matter. [ParseEndpoint] reads one from its name.
//
// Relative endpoints, the usual ones, take numbers above zero and compare ratios; Margin 0.05 is 5
// %, symmetric on the log scale: from 1/1.05 to 1.05. Absolute endpoints take numbers that may be
// zero, in percent (0.5 is half a percent of all operations), and compare differences; Margin 0.1
// is 0.1 percentage points. The margin has to be fixed before the numbers are known.
type Endpoint struct {
	Name     string    `json:"name"` // "capacity", "p95(post)", "errors"
	Better   Direction `json:"better"`
	Margin   float64   `json:"margin"`
	Absolute bool      `json:"absolute,omitempty"`
	// of the numbers: "users", "ms", "%", "1/min"; only printed
	Unit string `json:"unit,omitempty"`

	// Stat is the statistic: capacity, errors, cost, throughput, typical, mean, max, or a
	// percentile such as p95. Empty in an endpoint that was not read by [ParseEndpoint].
	Stat string `json:"-"`
	// Of is the operation, or the role of a cost; empty for capacity and errors.
	Of string `json:"-"`
	// Service reports that the statistic is of service times instead of response times.
	Service bool `json:"-"`
}

// ParseEndpoint reads the name of an endpoint: capacity, errors, cost(ROLE), throughput(OP),
// typical(OP), or a latency such as p95(OP), mean(OP) or service.p99(OP). It sets direction, unit
// and scale; the margin is left zero.
func ParseEndpoint(name string) (Endpoint, error) {
	e := Endpoint{Name: name, Better: Lower, Unit: "ms", Stat: name}
	switch name {
	case "capacity":
		e.Better, e.Unit = Higher, "users"
		return e, nil
	case "errors":
		e.Unit, e.Absolute = "%", true
		return e, nil
	}
	if role, ok := CostOf(name); ok {
		e.Stat, e.Of = "cost", role
		return e, nil
	}
	text, service := strings.CutPrefix(name, "service.")
	m := endpointRE.FindStringSubmatch(text)
	if m == nil {
		return e, refuse(name, "is not an endpoint; want capacity, errors, cost(ROLE), "+
			"throughput(OP), or a latency such as p95(post)")
	}
	e.Stat = m[1]
	e.Of = m[2]
	e.Service = service
	switch {
	case e.Stat != "throughput" && e.Stat != Typical:
	case service:
		return e, refuse(name, "is not an endpoint; a %s has no service time", e.Stat)
	case e.Stat == "throughput":
		e.Better, e.Unit = Higher, "1/min"
		return e, nil
	default:
		return e, nil
	}
	var rule SLO
	if err := rule.setStat(e.Stat, e.Of); err != nil {
		return e, err
	}
	e.Stat = rule.Stat
	return e, nil
}

// Quantile returns the probability of an endpoint that is a percentile of a latency, 0.95 for
// p95(post), and whether it is one.
func (e Endpoint) Quantile() (p float64, ok bool) {
	digits, ok := strings.CutPrefix(e.Stat, "p")
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseFloat(digits, 64)
	return p / 100, err == nil && p > 0 && p < 100
}

// Check returns an error with the reason why the endpoint cannot be judged, or nil.
func (e Endpoint) Check() error {
	if _, err := ParseDirection(string(e.Better)); err != nil {
		return fmt.Errorf("endpoint %q: better: %w", e.Name, err)
	}
	switch {
	case e.Name == "":
		return fmt.Errorf("the endpoint has no name")
	case !(e.Margin > 0) || math.IsInf(e.Margin, 0):
		return fmt.Errorf("endpoint %q: margin %v: want a number above zero", e.Name, e.Margin)
	case !e.Absolute && e.Margin >= 1:
		return fmt.Errorf("endpoint %q: margin %v: want less than 1 (0.05 is 5 %%)", e.Name,
			e.Margin)
	case e.Absolute && e.Margin >= 100:
		return fmt.Errorf("endpoint %q: margin %v: want less than 100 percentage points", e.Name,
			e.Margin)
	}
	return nil
}

// Limit returns the margin on the scale of the test, ±Limit: points of an absolute endpoint, else
// the logarithm of a ratio.
func (e Endpoint) Limit() float64 { return e.Scale(e.Margin) }

// Unscale turns a difference on the scale of the test into an effect: points, or a ratio minus one.
func (e Endpoint) Unscale(d float64) float64 {
	if e.Absolute {
		return d
	}
	return math.Expm1(d)
}

// Scale is the inverse of Unscale.
func (e Endpoint) Scale(effect float64) float64 {
	if e.Absolute {
		return effect
	}
	return math.Log1p(effect)
}

// Endpoints returns the judged endpoints with their margins, in the order in which reports show
// them: the endpoints that the tests of the plan can answer, except the ones that the plan leaves
// out. The plan must have a section compare.
func (p *Plan) Endpoints() []Endpoint {
	all, _ := p.endpoints()
	return all
}

// NotJudged returns the names of the endpoints that the tests of the plan can answer and that it
// leaves out (a margin "none"), in the order of [Plan.Endpoints].
func (p *Plan) NotJudged() []string {
	_, out := p.endpoints()
	return out
}

// Insists reports whether the plan has an endpoint judged that it could not decide: it names it in
// compare.endpoints, or gives it another margin than the usual one.
func (p *Plan) Insists(endpoint string) bool {
	usual, ok := DefaultMargin()[endpoint]
	return !ok || p.Compare.Margin[endpoint] != usual ||
		slices.Contains(p.Compare.Endpoints, endpoint)
}

func (p *Plan) endpoints() (out []Endpoint, dropped []string) {
	for _, name := range p.Compare.Margin.names() {
		e, err := ParseEndpoint(name)
		if err != nil {
			// of a stored plan; no run has a number for it
			e = Endpoint{Name: name, Better: Lower, Unit: "ms"}
		}
		if e.Stat == "capacity" && p.Unbounded == nil || e.Stat != "capacity" && p.Bounded == nil {
			continue
		}
		if p.Compare.Margin[name].None {
			dropped = append(dropped, name)
			continue
		}
		e.Margin = p.Compare.Margin[name].Value
		if e.Absolute {
			e.Margin *= 100
		}
		out = append(out, e)
	}
	return out, dropped
}

// names returns the names of the endpoints in the order of reports: the usual ones, the others by
// name, errors.
func (m Margin) names() []string {
	rank := func(name string) int {
		i := slices.IndexFunc(usualMargins, func(u usualMargin) bool { return u.endpoint == name })
		switch {
		case i < 0:
			return len(usualMargins) - 1
		case name == "errors":
			return len(usualMargins)
		}
		return i
	}
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
}

// A Margin holds, by endpoint, how far the interval of a difference may reach for it to be the
// same. Endpoints are "capacity", "errors", "cost(ROLE)", and statistics of operations such as
// "p95(post)".
type Margin map[string]MarginValue

var margins = mapping(
	"a margin such as 5%, or a mapping such as {capacity: 5%}",
	single("a margin such as 5% or 0.1pp", parseMargin, MarginValue.String, marginPattern),
	`Of capacity, and of the bounded test errors, cost(app), cost(db), typical(OP), p50(OP) to p99.9(OP), mean(OP), max(OP), throughput(OP): 5% is relative; 0.025pp is percentage points, for errors, and at most what the strictest rule of bounded.slo and unbounded.slo allows; none, of an endpoint that is judged by default, has it not judged.`,
).alone("capacity", margin)

// A MarginValue is a relative difference (0.05 is 5%) or, with Points, a difference of two
// fractions (0.001 is 0.1 percentage points).
type MarginValue struct {
	Value  float64
	Points bool
	// None has an endpoint that is judged by default not judged; the others are then 0.
	None bool
}

// A usualMargin is the default margin of an endpoint.
type usualMargin struct {
	endpoint string
	MarginValue
}

// usualMargins holds the default margins in the order of reports. The last is errors.
var usualMargins = []usualMargin{
	{"capacity", MarginValue{Value: 0.05}},
	{"cost(app)", MarginValue{Value: 0.05}},
	{"cost(db)", MarginValue{Value: 0.05}},
	{"typical(op)", MarginValue{Value: 0.05}},
	{"typical(delivery)", MarginValue{Value: 0.10}},
	{"p95(post)", MarginValue{Value: 0.10}},
	{"p99(op)", MarginValue{Value: 0.15}},
	{"p95(delivery)", MarginValue{Value: 0.10}},
	{"errors", MarginValue{Value: 0.00025, Points: true}},
}

// DefaultMargin returns a new map with the default margins of a plan. The margin of errors is lower
// where a rule of the plan limits failed operations to less.
func DefaultMargin() Margin {
	m := Margin{}
	for _, u := range usualMargins {
		m[u.endpoint] = u.MarginValue
	}
	return m
}
