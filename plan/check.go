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
	MostAgents  = 1000
	maxUsers    = 10_000_000
	maxBlocks   = 100
	maxArms     = 16
	maxPace     = 100
	leastBudget = Memory(8 << 20) // the least placement.memory: one large answer at a time
	minPace     = 0.001
)

var (
	nameRE = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	envRE  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	urlRE  = regexp.MustCompile(`^(?i:https?)://([^\s/?#@,]+)(/[^\s?#]*)?$`)
	// A host, an IPv6 address in brackets perhaps with its zone, and perhaps a port or a variable in its place.
	hostRE = regexp.MustCompile(`^(?:\[[0-9A-Fa-f:.]+(?:%25[^%\]]+)?\]|[^:\[\]\\%]+)(?::([0-9]*|\$\{\w+\}))?$`)
	pathRE = regexp.MustCompile(`^(?:[^%]|%[0-9A-Fa-f]{2})*$`)
	// The API's own path in an address, to which clients add it once more.
	apiRE = regexp.MustCompile(`/api(/v[0-9]+(/.*)?)?/*$`)
	// An address that the driver completes, or a whole one.
	addressRE = regexp.MustCompile(`^((?i:https?)://[^\s/?#@]+)?(/[^\s#]*)?$`)
	signals   = []string{"TERM", "INT", "QUIT", "HUP", "USR1", "USR2"}
	engines   = []string{PostgreSQL, MySQL}
	divisions = []string{ShareEqual, ShareRating}
	protocols = []string{HTTP1, HTTP2}
)

// fill sets a value that the file does not give.
func fill[T any](d *decoder, path string, to *T, v T) {
	if !d.given(path) {
		*to = v
	}
}

func (d *decoder) applyDefaults(p *Plan) {
	fill(d, "seed", &p.Seed, 1)
	d.fillTopology(&p.Target)
	d.fillCommands(p)
	fill(d, "placement.processes", &p.Placement.Processes, 1)
	d.fillFleet(p)
	w := &p.Workload
	if d.good("workload.with") {
		rest := 1.0
		for _, share := range w.With {
			rest -= share
		}
		fill(d, "workload.share", &w.Share, math.Round(rest*1e9)/1e9)
	}
	d.fillLoad(p)
	fill(d, "workload.login", &w.Login, LoginWarm)
	if a := w.Arrival; a != nil {
		fill(d, "workload.arrival.process", &a.Process, Constant)
		fill(d, "workload.arrival.in_flight", &a.InFlight, 500)
		fill(d, "workload.arrival.queue", &a.Queue, 10_000)
	}
	fill(d, "workload.mix", &w.ActionMix, MixDefault)
	if b := p.Bounded; b != nil {
		d.fillMeasure(b)
		for i := range b.Stages {
			fill(d, fmt.Sprintf("bounded.stages[%d].over", i), &b.Stages[i].Over, time.Second)
		}
	}
	if u := p.Unbounded; u != nil {
		fill(d, "unbounded.mode", &u.Mode, Tracking)
		fill(d, "unbounded.budget", &u.Budget, max(w.Wait(time.Hour), time.Second))
		fill(d, "unbounded.ramp_rate", &u.RampRate, 0.002)
		fill(d, "unbounded.window", &u.Window, DefaultWindow)
		fill(d, "unbounded.step", &u.Step, 0.005)
		fill(d, "unbounded.precision", &u.Precision, 0.02)
	}
	if s := p.Sizing; s != nil {
		fill(d, "sizing.ramp", &s.Ramp, Rates{5, 30})
		fill(d, "sizing.settle", &s.Settle, time.Minute)
		fill(d, "sizing.hold", &s.Hold, 10*time.Minute)
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

// check notes everything that is impossible. A value that could not be read is not judged a second time.
func (d *decoder) check(p *Plan, k Known) {
	d.name("name", p.Name)
	d.checkTarget(p, k)
	d.checkDatabase(p)
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
	}
	for _, r := range p.Setup {
		d.secret("setup."+r.Name, r.Name, r.Value)
	}
	d.checkReport(p.Report)
	if p.Compare == nil && d.given("report") && d.good("report", "compare") {
		d.at("report", "only the report of a comparison has these texts; add compare, or remove them")
	}
	if k.Refused != nil && d.good("target", "workload", "workload.behavior", "workload.with", "workload.params", "target.driver") {
		for _, r := range k.Refused(p) {
			if d.good(r.Path) {
				d.at(r.Path, "%s", r.Text)
			}
		}
	}
}

// name checks a name that becomes part of file names.
func (d *decoder) name(path, s string) {
	switch {
	case !d.good(path):
	case s == "" && !d.given(path):
		d.at(path, "is missing; write it")
	case !nameRE.MatchString(s):
		d.at(path, "%s cannot be a name; want letters, digits, dot, underscore and dash, at most 64", clip(s))
	}
}

// known checks a name against a list; nil means anything.
func (d *decoder) known(path, what, s string, list []string) {
	if list == nil || s == "" || !d.good(path) || slices.Contains(list, s) {
		return
	}
	d.at(path, "%s is not a known %s; %sknown: %s", clip(s), what, hint(s, list), strings.Join(list, ", "))
}

// oneOf checks a value against those that keyLimits holds for its key.
func (d *decoder) oneOf(path, what, v string) {
	if words := keyLimits[path].enum; d.good(path) && !slices.Contains(words, v) {
		d.at(path, "%s is not %s; want %s", clip(v), what, strings.Join(words, " or "))
	}
}

// between checks the range of a value, shown in the words of the file.
func between[T int | float64 | time.Duration](d *decoder, path string, v, least, most T, show func(T) string) {
	if d.good(path) && (v < least || v > most) {
		d.at(path, "%s is out of range; want %s to %s", show(v), show(least), show(most))
	}
}

// ranged checks the range of a number, which keyLimits holds for its key.
func ranged[T int | float64](d *decoder, path string, v T) {
	limit, ok := keyLimits[indexRE.ReplaceAllString(path, ".*")]
	if !ok {
		limit = keyLimits[indexRE.ReplaceAllString(path, "")] // a list of numbers has one range for all
	}
	between(d, path, float64(v), limit.min, limit.max, formatNumber)
}

var indexRE = regexp.MustCompile(`\[\d+\]`)

func showInt(n int) string { return fmt.Sprint(n) }

func (d *decoder) secret(path, key, value string) {
	if msg := secretValue(key, value); msg != "" && d.good(path) {
		d.at(path, "%s", msg)
	}
}

func (d *decoder) checkTarget(p *Plan, k Known) {
	t := p.Target
	d.name("target.driver", t.Driver)
	d.known("target.driver", "driver", t.Driver, k.Drivers)
	d.checkProfile(t, k)
	ranged(d, "target.instances", t.Instances)
	d.checkTopology(p, k)
	d.checkInstances(t, k)
	for path, v := range map[string]string{
		"target.binary": t.Binary, "target.ready": t.Ready, "target.version": t.Version, "target.dataset": t.Dataset, "target.ca": t.CA,
	} {
		d.secret(path, "", v)
	}
	d.checkArgs("target.command", t.Command)
	d.checkArgs("target.args", t.Args)
	d.checkEnvs("target.env", t.Env, p)
	d.checkAddresses(t)
	d.checkCommands(p)
	if d.good("target.stop_signal") && t.StopSignal != "" && !slices.Contains(signals, t.StopSignal) {
		d.at("target.stop_signal", "%s is not a signal; want one of %s", clip(t.StopSignal), strings.Join(signals, ", "))
	}
	if t.Filled() && len(p.Engines()) == 0 && t.Driver != External && d.good("target.dataset", "database") {
		d.at("target.dataset", "needs a database that is started for the target; add a section database with an engine")
	}
	if t.CA != "" && t.Driver != External && d.good("target.ca", "target.driver") {
		d.at("target.ca", "has no effect, because the driver %s starts servers without TLS; remove it", t.Driver)
	}
	d.checkProtocol(p)
	switch t.Driver {
	case External:
		if t.Filled() && d.good("target.dataset") {
			d.at("target.dataset", "cannot be loaded into a target that is not ours; fill its database yourself (plimsoll data generate -dsn-env), and name the data in setup")
		}
		if len(t.URL) == 0 && d.good("target.url") && !p.armsElsewhere() {
			d.at("target.url", "is missing; the driver external needs the address of the running target")
		}
		for _, path := range []string{"target.binary", "target.command", "target.args", "target.stop_signal"} {
			if d.given(path) && d.read(path) {
				d.at(path, "has no effect, because the driver external starts nothing; remove it")
			}
		}
		if len(p.Engines()) > 0 && len(t.Install) == 0 && d.good("database", "target.install") {
			d.at("database.engine", "the driver external brings its own database, and none is started for it; remove it, and name the database in setup")
		}
		if len(p.Placement.Target) > 0 && d.good("placement.target") {
			d.at("placement.target", "the driver external starts nothing that could be placed; remove it")
		}
	case Process:
		if !d.good("target.command", "target.binary", "compare.arms") || t.Binary != "" || len(t.Command) > 0 {
			break
		}
		if p.Compare == nil || slices.ContainsFunc(p.Compare.Arms, func(a Arm) bool { return a.Binary == "" }) {
			d.at("target.command", "is missing; the driver process needs a command, or a binary here or in every arm")
		}
	default:
		if d.given("target.command") && d.good("target.command", "target.driver") {
			d.at("target.command", "has no effect, because the driver %s knows its own; write driver: process for another program, or target.binary for another build", t.Driver)
		}
	}
}

// checkProfile checks the name of a profile against those of the driver.
func (d *decoder) checkProfile(t Target, k Known) {
	const path = "target.profile"
	switch list := k.Profiles[t.Driver]; {
	case t.Profile == "" && !d.given(path), !d.good(path, "target.driver"):
	case !nameRE.MatchString(t.Profile):
		d.at(path, "%s cannot be a name; want letters, digits, dot, underscore and dash, at most 64", clip(t.Profile))
	case k.Drivers == nil || !slices.Contains(k.Drivers, t.Driver):
	case len(list) == 0:
		d.at(path, "has no effect, because the driver %s has no profiles; remove it", t.Driver)
	default:
		d.known(path, "profile of the driver "+t.Driver, t.Profile, list)
	}
}

func (d *decoder) checkArgs(path string, args []string) {
	for i, msg := range secretArgs(args) {
		if p := fmt.Sprintf("%s[%d]", path, i); d.good(p) {
			d.at(p, "%s", msg)
		}
	}
	if len(args) > 0 && args[0] == "" && strings.HasSuffix(path, "command") && d.good(path) {
		d.at(path+"[0]", "is empty; want the program to run")
	}
}

func (d *decoder) checkEnv(path string, env map[string]string) {
	for key, value := range env {
		p := join(path, key)
		if !envRE.MatchString(key) {
			d.at(p, "%s cannot name an environment variable; want letters, digits and underscore", clip(key))
		}
		d.secret(p, key, filledRE.ReplaceAllString(value, "$${ENV:$1}")) // which names a secret just as well
		if rest := referenceRE.ReplaceAllString(value, ""); rest != value && strings.ContainsRune(rest, '$') && d.good(p) {
			d.at(p, "holds a reference and another $; beside a reference no variable is filled in. Give the reference a variable of its own")
		}
	}
}

func (d *decoder) checkDatabase(p *Plan) {
	seen := map[string]bool{}
	for i, e := range p.Database.Engine {
		path := fmt.Sprintf("database.engine[%d]", i)
		if !d.given(path) {
			path = "database.engine"
		}
		d.known(path, "engine", e, engines)
		if e == "" && d.good(path) {
			d.at(path, "is empty; want %s or %s", PostgreSQL, MySQL)
		}
		if seen[e] && d.good(path) {
			d.at(path, "%s is there twice; keep one", clip(e))
		}
		seen[e] = true
	}
}

// sourceRE is the form of IPv4 addresses, and roughly that of IPv6 addresses; whether this host has it is known when
// the plan is run.
var sourceRE = regexp.MustCompile(`^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}|[0-9a-fA-F]{0,4}(:[0-9a-fA-F]{0,4}){2,7})$`)

func (d *decoder) checkPlacement(p Placement) {
	for i, text := range p.Source {
		path := fmt.Sprintf("placement.source[%d]", i)
		switch {
		case !d.good(path):
		case !sourceRE.MatchString(text):
			d.at(path, "%s is no address; want one of this host, such as 10.0.0.7", clip(text))
		case slices.Contains(p.Source[:i], text):
			d.at(path, "%s is there twice; keep one", clip(text))
		}
	}
	ranged(d, "placement.processes", p.Processes)
	if d.given("placement.memory") && d.good("placement.memory") && (p.Memory < leastBudget || p.Memory > maxMemory) {
		d.at("placement.memory", "%s is out of range; want %s to %s", p.Memory, leastBudget, maxMemory)
	}
	sides := map[int]string{}
	for _, side := range []struct {
		path string
		cpus []int
	}{{"placement.generator", p.Generator}, {"placement.target", p.Target}} {
		for i, cpu := range side.cpus {
			path := fmt.Sprintf("%s[%d]", side.path, i)
			if !d.good(path) {
				continue
			}
			ranged(d, path, cpu)
			switch other, taken := sides[cpu]; {
			case taken && other == side.path:
				d.at(path, "CPU %d is there twice; keep one", cpu)
			case taken:
				d.at(path, "CPU %d is also in %s; give each side its own CPUs", cpu, other)
			default:
				sides[cpu] = side.path
			}
		}
	}
}

func (d *decoder) checkWorkload(w Workload, k Known) {
	d.name("workload.behavior", w.Behavior)
	d.known("workload.behavior", "behavior", w.Behavior, k.Behaviors)
	const least = 1e-6
	sum := w.Share
	for name, share := range w.With {
		path := "workload.with." + name
		if !nameRE.MatchString(name) {
			d.at(path, "%s cannot be the name of a behavior; want letters, digits, dot, underscore and dash", clip(name))
		}
		d.known(path, "behavior", name, k.Behaviors)
		if name == w.Behavior && d.good(path) {
			d.at(path, "is workload.behavior itself; add its share to workload.share")
		}
		between(d, path, share, least, 1, formatPercent)
		sum += share
	}
	if d.given("workload.share") {
		between(d, "workload.share", w.Share, least, 1, formatPercent)
	}
	switch shares := []string{"workload.share", "workload.with"}; {
	case !d.good(shares...):
	case !d.given("workload.share") && w.Share < least:
		d.at("workload.with", "leaves nothing for workload.behavior; want less than 100%% in total")
	case math.Abs(sum-1) > 1e-9:
		d.at("workload.share", "share and with add up to %s; want 100%%", formatPercent(math.Round(sum*1e9)/1e9))
	}
	ranged(d, "workload.pace", w.Pace)
	d.oneOf("workload.login", "a way to log in", w.Login)
	d.checkMix(w, k)
	d.checkUsersFile(w)
	for key, value := range w.Params {
		d.secret("workload.params."+key, key, value)
	}
}

// perEngine checks numbers of users, one for all engines or one for each.
func (d *decoder) perEngine(path string, n PerEngine, p *Plan) {
	if len(n) == 0 || !d.read(path) {
		return
	}
	least := 1
	if path == "bounded.users" && p.Workload.Arrival != nil {
		least = 0
	}
	if one, ok := n[""]; ok {
		if one == autoUsers {
			return
		}
		between(d, path, one, least, maxUsers, showInt)
		return
	}
	complete := d.good(path, "database.engine")
	for engine, users := range n {
		at := join(path, engine)
		switch {
		case !slices.Contains(engines, engine):
			d.known(at, "engine", engine, engines)
		case !d.good("database.engine"):
		case slices.Contains(p.Engines(), engine):
			between(d, at, users, least, maxUsers, showInt)
		case len(p.Engines()) == 0:
			d.at(at, "database.engine is not set; write one number instead of one for each engine")
		default:
			d.at(at, "%s is not in database.engine; add it there, or remove it here", engine)
		}
	}
	for _, engine := range p.Engines() {
		if _, ok := n[engine]; !ok && complete {
			d.at(path, "has no number for the engine %s; add it, or write one number for all", engine)
		}
	}
}

func (d *decoder) checkBounded(p *Plan, k Known) {
	b := p.Bounded
	if len(b.Users) == 0 && d.good("bounded.users") {
		d.at("bounded.users", "is missing; write the number of users, or auto")
	}
	d.checkAutoUsers(p)
	d.perEngine("bounded.users", b.Users, p)
	d.checkMeasure(p, k)
	d.checkRules("bounded.slo", b.SLO, p, k)
	d.checkStages(p, k)
	d.checkUntil(p)
}

func (d *decoder) checkUnbounded(p *Plan, k Known) {
	u := p.Unbounded
	if !d.given("unbounded.max_users") {
		d.at("unbounded.max_users", "is missing; write how many users the generator may ever simulate")
	} else {
		ranged(d, "unbounded.max_users", u.MaxUsers)
	}
	d.oneOf("unbounded.mode", "a way to search", u.Mode)
	d.perEngine("unbounded.start", u.Start, p)
	d.checkSearch(p, k)
	between(d, "unbounded.budget", u.Budget, time.Second, longest, formatDuration)
	between(d, "unbounded.ramp_rate", u.RampRate, 1e-5, 1, formatPercent)
	between(d, "unbounded.window", u.Window, 100*time.Millisecond, time.Hour, formatDuration)
	between(d, "unbounded.step", u.Step, 1e-4, 0.5, formatPercent)
	between(d, "unbounded.precision", u.Precision, 1e-3, 0.5, formatPercent)
	// Records of the time when pace scaled the budget stay readable.
	if window := p.Workload.Wait(u.Window); !d.stored && d.good("unbounded.budget", "unbounded.window", "workload.pace") && u.Budget < 2*window {
		text := formatDuration(u.Window)
		if window != u.Window {
			text += " at pace " + formatNumber(p.Workload.Pace)
		}
		d.at("unbounded.budget", "%s is less than two windows of %s; want more, or a shorter unbounded.window", formatDuration(u.Budget), text)
	}
	d.checkRules("unbounded.slo", u.SLO, p, k)
	if !d.good("unbounded.max_users") {
		return
	}
	if d.good("unbounded.start") {
		for engine, n := range u.Start {
			if n > u.MaxUsers {
				d.at(strings.TrimSuffix(join("unbounded.start", engine), "."), "%d is more than unbounded.max_users %d; lower one or raise the other", n, u.MaxUsers)
			}
		}
	}
	if p.Bounded != nil && d.good("bounded.users") {
		most := 0
		for _, n := range p.Bounded.Users {
			most = max(most, n)
		}
		if most >= u.MaxUsers {
			d.at("unbounded.max_users", "%d leaves no room above bounded.users %d; want more", u.MaxUsers, most)
		}
	}
}
