package plan

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// An Unbounded is a search for the number of users that a target supports.
//
// Its budget is wall-clock time, like the times of the bounded test. Its other times and its ramp
// rate hold at pace 1, as in the file. [Plan.Search] returns them as they are run.
type Unbounded struct {
	MaxUsers int `yaml:"max_users"`
	// SLO holds the rules that must hold. Empty means the default rules, which the caller has.
	SLO []SLO `yaml:"slo"`
	// Mode is [Tracking] (default) or [Staircase].
	Mode string `yaml:"mode"`
	// Start is the number of users at which the search starts; empty means the result of the
	// caller's pilot, or the users of the bounded test.
	Start     PerEngine     `yaml:"start"`
	Budget    time.Duration `yaml:"budget"`
	RampRate  float64       `yaml:"ramp_rate"`
	Window    time.Duration `yaml:"window"`
	Step      float64       `yaml:"step"`
	Precision float64       `yaml:"precision"`
}

var unboundedKeys = section{
	{
		"max_users",
		integer.needed("write how many users the generator may ever simulate").from(1, MaxUsers),
		`More users than this are never simulated.`,
	},
	{"slo", rules,
		`Rules that must hold: STAT(op|role) < VALUE [for D] [over D] [min N] [grace D] [warning], or
		promql: EXPR < VALUE [for D] [grace D] [warning]. Default: the rules of docs/capacity.md.`},
	{"mode", oneOf("a way to search", "want", Tracking, Staircase).or(Tracking),
		`tracking: up after a healthy window, down after a violated one. staircase: plateaus, and a
		logistic fit to them; it also recommends a number of users, and takes longer.`},
	{"start", perEngine(integer).within(1, MaxUsers),
		`Number of users at which the search starts, or one for each engine.`},
	{"budget", duration.from("1s", MaxTime),
		`Longest time of the search, in wall-clock time: pace does not touch it. Default: 1h times
		workload.pace.`},
	{"ramp_rate", percent.or("0.2%").from("0.001%", "100%"),
		`Growth while nothing is violated, of the present users per second. Divided by workload.pace
		it is less than 100%.`},
	{"window", duration.or(DefaultWindow).from("100ms", "1h"),
		`How far back a rule looks, and the time between two decisions.`},
	{"step", percent.or("0.5%").from("0.01%", "50%"),
		`Change of the tracking phase, of the present users: less than 20%.`},
	{"precision", percent.or("2%").from("0.1%", "50%"),
		`The search ends when the half-width of the interval is below this part of the capacity.`},
}

// Modes of a search.
const (
	// Tracking moves up after a healthy window and down after a violated one.
	Tracking = "tracking"
	// Staircase measures plateaus and fits the chance of a healthy one to their users.
	Staircase = "staircase"
)

// leastRange is the least value of $window: a rate of series that are sampled each second needs
// some of them.
const leastRange = 5 * time.Second

// Search returns the search in wall-clock time, and false if the plan has none: Window and the For,
// Over and Grace of every rule times pace, RampRate divided by it; $window is filled in. Budget is
// wall-clock time already. Numbers of users, thresholds, minimum counts, Step and Precision have no
// time in them and stay. The result shares no slice with the plan.
func (p *Plan) Search() (Unbounded, bool) {
	if p.Unbounded == nil {
		return Unbounded{}, false
	}
	u := *p.Unbounded
	u.Start = maps.Clone(u.Start)
	u.Window = p.Workload.Wait(u.Window)
	if p.Workload.Pace > 0 {
		u.RampRate /= p.Workload.Pace
	}
	u.SLO = slices.Clone(u.SLO)
	for i := range u.SLO {
		r := &u.SLO[i]
		r.For = p.Workload.Wait(r.For)
		r.Over = p.Workload.Wait(r.Over)
		r.Grace = p.Workload.Wait(r.Grace)
		r.fill(u.Window)
	}
	return u, true
}

// fill puts the window into an expression in place of $window.
func (r *SLO) fill(window time.Duration) {
	if r.Stat == "promql" {
		r.Arg = strings.ReplaceAll(
			r.Arg,
			"$window",
			fmt.Sprintf("%dms", max(window, leastRange).Milliseconds()),
		)
	}
}

// Limits of a search that is run. Package control holds it to them as well, and neither may import
// the other: a test of cmd/internal/app holds both together.
const (
	limitStep     = 0.2 // of the users
	limitRampRate = 1.0 // of the users per second of the clock
)

// checkSearch refuses a search that could not begin: in a combined run that would show once the
// bounded test is over. Stored plans stay readable: their bounded test may have been run by itself.
func (d *decoder) checkSearch(p *Plan, k Known) {
	run, ok := p.Search()
	if k.Drivers == nil || !ok {
		return
	}
	if d.good("unbounded.step") && run.Step >= limitStep {
		d.at("unbounded.step", "%s is out of range; want 0.01%% to less than %s",
			formatPercent(run.Step), formatPercent(limitStep))
	}
	if pace := p.Workload.Pace; d.good("unbounded.ramp_rate", "workload.pace") &&
		run.RampRate >= limitRampRate {
		d.at(
			"unbounded.ramp_rate",
			"%s divided by workload.pace %s is %s of the users per second; want less than %s: write less than %s here, or a larger pace",
			formatPercent(p.Unbounded.RampRate),
			formatNumber(pace),
			formatPercent(math.Round(run.RampRate*1e6)/1e6),
			formatPercent(limitRampRate),
			formatPercent(limitRampRate*pace),
		)
	}
}

func (d *decoder) checkUnbounded(p *Plan, k Known) {
	u := p.Unbounded
	d.perEngine("unbounded.start", u.Start, p)
	d.checkSearch(p, k)
	// Records of the time when pace scaled the budget stay readable.
	window := p.Workload.Wait(u.Window)
	if !d.stored && u.Budget < 2*window && d.good("unbounded.window", "workload.pace") {
		text := FormatDuration(u.Window)
		if window != u.Window {
			text += " at pace " + formatNumber(p.Workload.Pace)
		}
		d.at(
			"unbounded.budget",
			"%s is less than two windows of %s; want more, or a shorter unbounded.window",
			FormatDuration(u.Budget),
			text,
		)
	}
	d.checkRules("unbounded.slo", u.SLO, p, k)
	if !d.good("unbounded.max_users") {
		return
	}
	for engine, n := range u.Start {
		if n > u.MaxUsers && d.good("unbounded.start") {
			d.at(
				strings.TrimSuffix(join("unbounded.start", engine), "."),
				"%d is more than unbounded.max_users %d; lower one or raise the other",
				n,
				u.MaxUsers,
			)
		}
	}
	if p.Bounded == nil || !d.good("bounded.users") {
		return
	}
	most := 0
	for _, n := range p.Bounded.Users {
		most = max(most, n)
	}
	if most >= u.MaxUsers {
		d.at("unbounded.max_users", "%d leaves no room above bounded.users %d; want more",
			u.MaxUsers, most)
	}
}
