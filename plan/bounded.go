package plan

import (
	"slices"
	"time"
)

// PerEngine is a number for each database engine. The key "" is one number for all of them and then
// the only key.
type PerEngine map[string]int

// For returns the number for an engine and whether there is one.
func (p PerEngine) For(engine string) (int, bool) {
	n, ok := p[engine]
	if !ok {
		n, ok = p[""]
	}
	return n, ok
}

// A Bounded is a test with a fixed number of users. All its times, also in its rules, are wall-
// clock time: pace does not touch them.
type Bounded struct {
	// Users is the number of users, at least 1; at least 0 with arrivals. See [Bounded.AutoUsers].
	Users   PerEngine     `yaml:"users"`
	Ramp    time.Duration `yaml:"ramp"`
	Settle  time.Duration `yaml:"settle"`
	Measure time.Duration `yaml:"measure"`
	// MeasureMin and MeasureMax are 0 unless the file has "measure: auto"; Measure is MeasureMax
	// then.
	MeasureMin time.Duration `yaml:"measure_min"`
	MeasureMax time.Duration `yaml:"measure_max"`
	// Until is the disk space of the target's files at which the measured phase ends early; 0 means
	// that only Measure ends it.
	Until DiskLimit `yaml:"until"`
	// Window is the length of the end of the measured phase that counts; 0 means all of it. The
	// part before it is load without numbers.
	Window LastPart `yaml:"window"`
	// SLO holds the rules by which the test is judged; [Plan.BoundedRules] returns them as they are
	// run. Empty means the rules of the search, and in a plan without a search the default rules,
	// which the caller has.
	SLO    []SLO   `yaml:"slo"`
	Stages []Stage `yaml:"stages"`
}

var boundedKeys = section{
	{
		"users",
		perEngine(users, autoWord).within(0, MaxUsers).needed("write the number of users, or auto"),
		`Number of users, or one for each engine; 0 only beside workload.arrival. auto: the number at
		which the busiest role of the base uses 40 to 50 % of its cores, found by a pilot on each
		engine.`,
	},
	{"ramp", duration,
		`Time from the first user to the last. Default 1m; 4s in a plan without a search whose users
		and measure are auto.`},
	{"settle", duration,
		`Time with all users that is not measured. Default 1m; 6s in a plan without a search whose
		users and measure are auto.`},
	{"measure", duration.or("5m").from("100ms", MaxTime).orWord(autoWord),
		`Time that counts; with until the longest. auto: in a duet, until the inside of a block
		leaves no more variance than deployments have, within measure_min and measure_max.`},
	{"measure_min", duration.hidingZero().from(leastAuto, MaxTime),
		`With measure: auto, the shortest measured phase. Default 7s.`},
	{"measure_max", duration.hidingZero().from(leastAuto, MaxTime),
		`With measure: auto, the longest measured phase, and that of a test outside a duet. Default
		30s.`},
	{"until", stopRule,
		`Stop rule: disk=10GiB ends the measured phase as soon as the files of the target take so
		much.`},
	{"window", lastPart, `Which part of the measured phase counts: last 60m. Without it all.`},
	{"slo", rules,
		`Rules by which the test is judged, in the form of unbounded.slo; their times are wall-clock
		time. Default: the rules of unbounded; without that, failed operations and broken WebSockets
		(docs/capacity.md).`},
	{
		"stages",
		list(
			"a list of storms such as [{at: 60s, storm: KIND, share: 50%}]",
			sub(stageKeys),
			"One storm.",
		).atMost(100, "storms"),
		`Storms in the measured phase: what some of the users do at nearly the same time.`,
	},
}

// A Stage is a storm: an action of some of the users at nearly the same time.
type Stage struct {
	At time.Duration `yaml:"at"`
	// Storm is its kind. Which kinds a behavior has is known to the caller; see [Known].
	Storm string `yaml:"storm"`
	// Share is 0 for a single user.
	Share  float64           `yaml:"share"`
	Over   time.Duration     `yaml:"over"`
	Params map[string]string `yaml:"params"`
}

var stageKeys = section{
	{
		"at",
		duration.needed(
			"write when the storm begins, counted from the beginning of the measured phase",
		),
		`When it begins, counted from the beginning of the measured phase.`,
	},
	{"storm", label.needed("write its kind"), `Its kind, such as reconnect.`},
	{"share", share, `Share of the users who take part. Without it: one single user.`},
	{"over", duration.or("1s"), `Time from the first of them to the last. Default 1s.`},
	{"params", params("The value of the setting."), `Settings of the kind.`},
}

// UsersFor returns how many users the test has on an engine and whether the plan sets it.
func (b *Bounded) UsersFor(engine string) (int, bool) {
	if b.AutoUsers() {
		return 0, false
	}
	return b.Users.For(engine)
}

// DefaultWindow is the time over which rules are evaluated unless the plan sets another.
const DefaultWindow = 15 * time.Second

// BoundedRules returns the rules of the bounded test as they are run: its own, or else the rules
// that [Plan.Search] returns. They look back over the window of the search, or over
// [DefaultWindow]. It returns nil if the plan has neither. The result shares no slice with the
// plan.
func (p *Plan) BoundedRules() []SLO {
	u, searched := p.Search()
	if p.Bounded == nil || len(p.Bounded.SLO) == 0 {
		return u.SLO
	}
	window := DefaultWindow
	if searched {
		window = u.Window
	}
	rules := slices.Clone(p.Bounded.SLO)
	for i := range rules {
		rules[i].fill(window)
	}
	return rules
}

// perEngine checks numbers of users, one for all engines or one for each.
func (d *decoder) perEngine(path string, users PerEngine, p *Plan) {
	least := 1
	if path == "bounded.users" && p.Workload.Arrival != nil {
		least = 0
	}
	one, alone := users[""]
	switch {
	case len(users) == 0 || alone && one == autoUsers:
		return
	case alone:
		d.users(path, one, least)
		return
	}
	complete := d.good(path, "database.engine")
	for engine, n := range users {
		at := join(path, engine)
		switch {
		case !slices.Contains(engines, engine):
			d.known(at, "engine", engine, engines)
		case !d.good("database.engine"):
		case slices.Contains(p.Engines(), engine):
			d.users(at, n, least)
		case len(p.Engines()) == 0:
			d.at(at, "database.engine is not set; write one number instead of one for each engine")
		default:
			d.at(at, "%s is not in database.engine; add it there, or remove it here", engine)
		}
	}
	for _, engine := range p.Engines() {
		if _, ok := users[engine]; !ok && complete {
			d.at(path, "has no number for the engine %s; add it, or write one number for all",
				engine)
		}
	}
}

// users checks the range of a number of users.
func (d *decoder) users(path string, n, least int) {
	if n < least || n > MaxUsers {
		d.at(path, "%d is out of range; want %d to %d", n, least, MaxUsers)
	}
}

func (d *decoder) checkBounded(p *Plan, k Known) {
	d.checkAutoUsers(p)
	d.perEngine("bounded.users", p.Bounded.Users, p)
	d.checkMeasure(p, k)
	d.checkRules("bounded.slo", p.Bounded.SLO, p, k)
	d.checkStages(p, k)
	d.checkUntil(p)
}
