package plan

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of the values of a plan. They are far beyond every sensible test and keep arithmetic from overflowing.
const (
	maxInstances = 64
	maxCPU       = 4095
	// MostProcesses is the most processes that the users of a run are divided among.
	MostProcesses = 16
	// MostAgents is the most hosts that the users of a run are divided among.
	MostAgents = 1000
	// MaxUsers is the most users of a test.
	MaxUsers  = 10_000_000
	maxBlocks = 100
	maxArms   = 16
	maxMemory = Memory(1 << 50)
)

var (
	nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	envRE  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	urlRE  = regexp.MustCompile(`^(?i:https?)://([^\s/?#@,]+)(/[^\s?#]*)?$`)
	// hostRE matches a host, or an IPv6 address in brackets perhaps with its zone, and perhaps a port
	// or a variable in its place.
	hostRE = regexp.MustCompile(
		`^(?:\[[0-9A-Fa-f:.]+(?:%25[^%\]]+)?\]|[^:\[\]\\%]+)(?::([0-9]*|\$\{\w+\}))?$`)
	pathRE = regexp.MustCompile(`^(?:[^%]|%[0-9A-Fa-f]{2})*$`)
	// apiRE matches the API's own path in an address, to which clients add it once more.
	apiRE = regexp.MustCompile(`/api(/v[0-9]+(/.*)?)?/*$`)
	// addressRE matches an address that the driver completes, or a whole one.
	addressRE = regexp.MustCompile(`^((?i:https?)://[^\s/?#@]+)?(/[^\s#]*)?$`)
)

// fill sets a value that the file does not give.
func fill[T any](d *decoder, path string, to *T, v T) {
	if !d.given(path) {
		*to = v
	}
}

// applyDefaults sets the defaults that depend on other keys.
func (d *decoder) applyDefaults(p *Plan) {
	d.fillTopology(&p.Target)
	d.fillCommands(p)
	d.fillFleet(p)
	if d.good("workload.with") {
		rest := 1.0
		for _, share := range p.Workload.With {
			rest -= share
		}
		fill(d, "workload.share", &p.Workload.Share, math.Round(rest*1e9)/1e9)
	}
	d.fillLoad(p)
	if p.Bounded != nil {
		d.fillMeasure(p.Bounded)
	}
	if u := p.Unbounded; u != nil {
		fill(d, "unbounded.budget", &u.Budget, max(p.Workload.Wait(time.Hour), time.Second))
	}
	if c := p.Compare; c != nil {
		d.fillBlocks(c)
		fill(d, "compare.retry", &c.Retry, p.defaultRetry())
		margin := DefaultMargin()
		margin["errors"] = p.defaultErrors()
		maps.Copy(margin, c.Margin)
		if !d.stored || len(c.Margin) == 0 {
			c.Margin = margin
		}
		d.fillDeployments(c)
	}
}

// check notes what is impossible about keys together, and about names that the caller knows.
func (d *decoder) check(p *Plan, k Known) {
	d.checkTarget(p, k)
	d.checkPlacement(p.Placement)
	d.checkFleet(p)
	if !k.ServerOnly || d.given("workload") {
		d.checkWorkload(p.Workload, k)
		d.checkArrival(p.Workload, k)
	}
	d.checkProbes("probes", p.Probes)
	d.checkMetrics(p)
	p.Gates.check(d)
	if !k.ServerOnly && p.Bounded == nil && p.Unbounded == nil && p.Sizing == nil && d.good("bounded", "unbounded", "sizing") {
		d.at("", "has neither bounded nor unbounded nor sizing; write at least one of the tests")
	}
	if p.Bounded != nil {
		d.checkBounded(p, k)
	}
	if p.Unbounded != nil {
		d.checkUnbounded(p, k)
	}
	if p.Sizing != nil {
		d.checkSizing(p)
	}
	d.checkPrices(p)
	if p.Compare != nil {
		d.checkCompare(p, k)
	} else if d.given("report") && d.good("report", "compare") {
		d.at("report", "only the report of a comparison has these texts; add compare, or remove them")
	}
	if k.Refused == nil || !d.good("target", "workload") {
		return
	}
	for _, r := range k.Refused(p) {
		if d.good(r.Path) {
			d.at(r.Path, "%s", r.Text)
		}
	}
}

// known checks a name against a list; nil means anything.
func (d *decoder) known(path, what, s string, list []string) {
	if list == nil || s == "" || slices.Contains(list, s) {
		return
	}
	d.at(path, "%s is not a known %s; %sknown: %s", clip(s), what, hint(s, list), strings.Join(list, ", "))
}

// useless refuses a key that has no effect, and tells why and what to do.
func (d *decoder) useless(path, why string, args ...any) {
	if d.given(path) {
		d.at(path, "has no effect, because "+why, args...)
	}
}

// nothingStarted is why a key has no effect on the driver external.
const nothingStarted = "the driver external starts nothing; remove it"

func (d *decoder) checkTarget(p *Plan, k Known) {
	t := p.Target
	d.known("target.driver", "driver", t.Driver, k.Drivers)
	d.checkProfile(t, k)
	d.checkTopology(p, k)
	d.checkInstances(t, k)
	d.checkEnvs("target.env", t.Env, p)
	d.checkAddresses(t)
	d.checkCommands(p)
	d.checkProtocol(p)
	switch {
	case t.Driver == External:
		d.checkExternal(p)
		return
	case !d.good("target.driver"):
		return
	case t.Filled() && len(p.Engines()) == 0 && d.good("database"):
		d.at("target.dataset", "needs a database that is started for the target; add a section database with an engine")
	}
	if t.CA != "" {
		d.at("target.ca", "has no effect, because the driver %s starts servers without TLS; remove it", t.Driver)
	}
	if t.Driver != Process {
		d.useless("target.command", "the driver %s knows its own; "+
			"write driver: process for another program, or target.binary for another build", t.Driver)
		return
	}
	noBinary := func(a Arm) bool { return a.Binary == "" }
	if t.Binary == "" && len(t.Command) == 0 && d.good("target.binary", "compare.arms") &&
		(p.Compare == nil || slices.ContainsFunc(p.Compare.Arms, noBinary)) {
		d.at("target.command", "is missing; the driver process needs a command, or a binary here or in every arm")
	}
}

// checkProfile checks the name of a profile against those of the driver.
func (d *decoder) checkProfile(t Target, k Known) {
	const path = "target.profile"
	switch list := k.Profiles[t.Driver]; {
	case t.Profile == "" || !d.good("target.driver") || !slices.Contains(k.Drivers, t.Driver):
	case len(list) == 0:
		d.at(path, "has no effect, because the driver %s has no profiles; remove it", t.Driver)
	default:
		d.known(path, "profile of the driver "+t.Driver, t.Profile, list)
	}
}

func (d *decoder) checkPlacement(p Placement) {
	for i, cpu := range p.Target {
		if slices.Contains(p.Generator, cpu) {
			d.at(fmt.Sprintf("placement.target[%d]", i),
				"CPU %d is also in placement.generator; give each side its own CPUs", cpu)
		}
	}
}

func (d *decoder) checkWorkload(w Workload, k Known) {
	d.known("workload.behavior", "behavior", w.Behavior, k.Behaviors)
	sum := w.Share
	for name, share := range w.With {
		path := "workload.with." + name
		d.known(path, "behavior", name, k.Behaviors)
		if name == w.Behavior {
			d.at(path, "is workload.behavior itself; add its share to workload.share")
		}
		sum += share
	}
	switch {
	case !d.good("workload.share", "workload.with"):
	case !d.given("workload.share") && w.Share < 1e-6:
		d.at("workload.with", "leaves nothing for workload.behavior; want less than 100%% in total")
	case math.Abs(sum-1) > 1e-9:
		d.at("workload.share", "share and with add up to %s; want 100%%", formatPercent(math.Round(sum*1e9)/1e9))
	}
	d.checkMix(w, k)
	d.checkUsersFile(w)
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
			d.at(path, "has no number for the engine %s; add it, or write one number for all", engine)
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

func (d *decoder) checkUnbounded(p *Plan, k Known) {
	u := p.Unbounded
	d.perEngine("unbounded.start", u.Start, p)
	d.checkSearch(p, k)
	// Records of the time when pace scaled the budget stay readable.
	window := p.Workload.Wait(u.Window)
	if !d.stored && u.Budget < 2*window && d.good("unbounded.window", "workload.pace") {
		text := formatDuration(u.Window)
		if window != u.Window {
			text += " at pace " + formatNumber(p.Workload.Pace)
		}
		d.at("unbounded.budget", "%s is less than two windows of %s; want more, or a shorter unbounded.window",
			formatDuration(u.Budget), text)
	}
	d.checkRules("unbounded.slo", u.SLO, p, k)
	if !d.good("unbounded.max_users") {
		return
	}
	for engine, n := range u.Start {
		if n > u.MaxUsers && d.good("unbounded.start") {
			d.at(strings.TrimSuffix(join("unbounded.start", engine), "."),
				"%d is more than unbounded.max_users %d; lower one or raise the other", n, u.MaxUsers)
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
		d.at("unbounded.max_users", "%d leaves no room above bounded.users %d; want more", u.MaxUsers, most)
	}
}
