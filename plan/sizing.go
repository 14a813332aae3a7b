package plan

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// LoadSteps is a ladder of load steps: the same workload with more and more users on one
// deployment, each step a separate bounded trial. Its times are wall-clock time.
type LoadSteps struct {
	// Steps holds the numbers of users, ascending. Empty means that the caller chooses them around
	// a first search of the capacity, for which the plan then needs Unbounded.
	Steps  []int         `yaml:"steps"`
	Ramp   Rates         `yaml:"ramp"`
	Settle time.Duration `yaml:"settle"`
	Hold   time.Duration `yaml:"hold"`
	// Offer names the entry of Plan.Prices that is measured; empty if none is.
	Offer string `yaml:"offer"`
}

var sizingKeys = section{
	{
		"steps",
		list(
			"a list of numbers of users such as [50, 200]",
			whole("a number of users").from(1, MaxUsers),
			"",
		).atMost(64, "steps").
			filled("write numbers of users, or remove the key for steps around the capacity"),
		`Numbers of users, ascending. Without it: steps around the capacity that a first search
		finds, which needs unbounded.`,
	},
	{"ramp", ramp.or("5/s to 30/s"),
		`How fast users come: a step takes 20 s, unless that is a rate outside this range.`},
	{"settle", duration.or("1m"), `Time with all users that is not measured.`},
	{"hold", duration.or("10m").from("100ms", MaxTime), `Time of a step that counts.`},
	{"offer", text, `The one of prices that is measured.`},
}

// Rates is a range of rates; both ends are equal when there is only one.
type Rates struct{ From, To Rate }

// rampTime is the length of a ramp unless its rate would be too high or too low: 200 users come in
// 20 s.
const rampTime = 20 * time.Second

// Ramp returns how long n users take to come: 20 s, but longer or shorter where that would be a
// rate outside r.
func (r Rates) Ramp(n int) time.Duration {
	rate := float64(n) / rampTime.Seconds()
	rate = max(float64(r.From), min(float64(r.To), rate))
	return time.Duration(float64(n) / rate * float64(time.Second)).Round(time.Millisecond)
}

// String returns "5/s to 30/s", or "5/s".
func (r Rates) String() string {
	if r.From == r.To {
		return r.From.String()
	}
	return r.From.String() + " to " + r.To.String()
}

// parseRates reads "5/s to 30/s" or "10/s".
func parseRates(s string) (Rates, error) {
	from, to, two := strings.Cut(s, " to ")
	a, err := parseRate(strings.TrimSpace(from))
	b := a
	if two && err == nil {
		b, err = parseRate(strings.TrimSpace(to))
	}
	switch {
	case err != nil:
		return Rates{}, refuse(s, "is not a ramp; want one such as 5/s to 30/s, or 10/s")
	case a < 0.001 || b > 1e6:
		return Rates{}, refuse(s, "is out of range; want 0.001/s to 1000000/s")
	case a > b:
		return Rates{}, refuse(s, "goes down; want the slower rate first")
	}
	return Rates{a, b}, nil
}

// An Offer is a machine that can be rented.
type Offer struct {
	Name     string  `yaml:"name"`
	VCPU     int     `yaml:"vcpu"`
	Memory   Memory  `yaml:"memory"`
	Price    float64 `yaml:"price"`
	Currency string  `yaml:"currency"`
}

// offerNeeds is the remedy for an offer without one of its keys.
const offerNeeds = "an offer is {name: CX23, vcpu: 2, memory: 4GB, price: 6, currency: EUR}"

var offers = list(
	"a list of offers such as [{name: CX23, vcpu: 2, memory: 4GB, price: 6, currency: EUR}]",
	sub(offerKeys),
	"One offer.",
).atMost(64, "offers")

var offerKeys = section{
	{"name", text.needed(offerNeeds), `What the seller calls it.`},
	{"vcpu", integer.from(1, maxCPU).needed(offerNeeds), `How many virtual CPUs it has.`},
	{
		"memory",
		memory.from("1MB", maxMemory).needed(offerNeeds),
		`How much main memory it has, such as 4GB.`,
	},
	{"price", number.from(0, 1_000_000_000).needed(offerNeeds), `What a month costs.`},
	{
		"currency",
		text.matching(currencyRE, "is no currency; want a code of three letters such as EUR").
			needed(offerNeeds),
		`Code of three letters, such as EUR.`,
	},
}

// Memory is a number of bytes. Sellers write GB and mean GiB, and so does this type: 1GB is 2^30
// bytes.
type Memory float64

var memoryUnits = units{{"GB", 1 << 30}, {"MB", 1 << 20}}

// parseMemory reads "4GB" or "512MB", and GiB and MiB for the same.
func parseMemory(s string) (Memory, error) {
	v, ok := memoryUnits.parse(strings.Replace(s, "iB", "B", 1))
	if !ok {
		return 0, refuse(s, "is no amount of memory; want one such as 4GB or 512MB")
	}
	return Memory(v), nil
}

// String returns "4GB", or "512MB" for fractions of a gigabyte.
func (m Memory) String() string { return memoryUnits.format(float64(m)) }

var currencyRE = regexp.MustCompile(`^[A-Z]{3}$`)

func (d *decoder) checkSizing(p *Plan) {
	const steps = "sizing.steps"
	for i, n := range p.Sizing.Steps {
		if i > 0 && n <= p.Sizing.Steps[i-1] {
			d.at(
				fmt.Sprintf("%s[%d]", steps, i),
				"%d users are not more than the %d of the step before; want ascending steps",
				n,
				p.Sizing.Steps[i-1],
			)
		}
	}
	if !d.given(steps) && p.Unbounded == nil && d.good("unbounded", "sizing") {
		d.at(steps,
			"is missing; write numbers of users, or a section unbounded for the search that "+
				"chooses them")
	}
}

func (d *decoder) checkPrices(p *Plan) {
	seen := map[string]bool{}
	for i, o := range p.Prices {
		if o.Name != "" && seen[o.Name] {
			d.at(fmt.Sprintf("prices[%d].name", i), "%s is there twice; keep one", clip(o.Name))
		}
		seen[o.Name] = true
	}
	const offer = "sizing.offer"
	switch s := p.Sizing; {
	case s == nil || !d.good("prices"):
	case s.Offer != "" && !seen[s.Offer]:
		d.at(offer, "%s is not in prices; add it there", clip(s.Offer))
	case s.Offer == "" && len(p.Prices) > 0:
		d.at(offer, "is missing; name the one of prices that is measured")
	}
}

// AtStep returns the plan of one step of its sizing, with this number of users: a bounded test
// alone.
func (p *Plan) AtStep(users int) *Plan {
	q := *p
	z := *p.Sizing
	z.Steps = []int{users}
	q.Sizing = &z
	q.Unbounded = nil
	q.Bounded = &Bounded{
		Users:   PerEngine{"": users},
		Ramp:    z.Ramp.Ramp(users),
		Settle:  z.Settle,
		Measure: z.Hold,
	}
	if q.Compare != nil {
		c := *q.Compare
		c.Combine = false
		q.Compare = &c
	}
	return &q
}
