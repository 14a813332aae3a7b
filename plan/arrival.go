package plan

import (
	"slices"
	"strings"
)

// A Rate is a number of events per second.
type Rate float64

// The processes of an [Arrival].
const (
	// Constant arrivals come at even intervals.
	Constant = "constant"
	// Poisson arrivals come at independent, exponentially distributed intervals, as from very many
	// independent people.
	Poisson = "poisson"
)

// An Arrival is an open model in addition to the users: actions come at moments that do not depend
// on how fast the target is. Pace does not touch it.
type Arrival struct {
	Rate Rate `yaml:"rate"`
	// Process is [Constant] (default) or [Poisson].
	Process  string `yaml:"process"`
	InFlight int    `yaml:"in_flight"`
	Queue    int    `yaml:"queue"`
}

var arrivalKeys = section{
	{"rate", rate.needed("write how many actions come, such as 200/s").from("0.001/s", "1000000/s"),
		`How many actions come. Pace does not touch it.`},
	{keyProcess, oneOf("a process", "want", Constant, Poisson).or(Constant),
		`constant: even intervals. poisson: independent ones.`},
	{"in_flight", integer.or(500).from(1, 100_000),
		`Actions under way at most; further ones wait, and the wait counts as theirs.`},
	{"queue", integer.or(10_000).from(0, 10_000_000),
		`Actions that wait at most; further ones are dropped, which counts as an error.`},
}

// parseRate reads "200/s".
func parseRate(s string) (Rate, error) {
	num, ok := strings.CutSuffix(s, "/s")
	if !ok || !decimalRE.MatchString(strings.TrimRight(num, " ")) {
		return 0, refuse(s, "is not a rate; want one such as 200/s or 0.5/s")
	}
	v, err := parseNumber(strings.TrimRight(num, " "))
	return Rate(v), err
}

// String returns "200/s".
func (r Rate) String() string { return formatNumber(float64(r)) + "/s" }

func (d *decoder) checkArrival(w Workload, k Known) {
	if w.Arrival == nil || k.Arrivals == nil || !d.good("workload.behavior") ||
		slices.Contains(k.Arrivals, w.Behavior) {
		return
	}
	can := "none can"
	if len(k.Arrivals) > 0 {
		can = "those that can: " + strings.Join(k.Arrivals, ", ")
	}
	d.at("workload.arrival", "the behavior %s cannot serve arrivals, "+
		"because its actions depend on the one who does them; %s", clip(w.Behavior), can)
}
