package plan

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values of [Verification.Version].
const (
	// FromAPI compares the version that the server reports with the arm's.
	FromAPI = "from-api"
	// Unverified compares nothing.
	Unverified = "none"
)

// A Verification holds the conditions on a target of the driver external before each run, as the
// server's API reports them. A run before which one fails is void.
type Verification struct {
	// Version is [FromAPI], the default where arms with versions are installed or have addresses of
	// their own, or [Unverified].
	Version string `yaml:"version"`
	// Users, Channels and Posts are the numbers of objects after the reset. Default with a reset:
	// [Same].
	Users    Expectation `yaml:"users"`
	Channels Expectation `yaml:"channels"`
	Posts    Expectation `yaml:"posts"`
}

var verifyKeys = section{
	{"version", oneOf("a way to verify a version", "want", FromAPI, Unverified),
		`from-api: the server reports the arm's version. Default where versions are installed or have
		addresses of their own. none: not compared.`},
	{"users", expectation,
		`How many users there are: 1200 ±0, same ±0 (as the first run found, the default with a
		reset), none.`},
	{"channels", expectation,
		`How many channels there are, direct ones left out, in the same form.`},
	{"posts", expectation, `How many posts there are, in the same form.`},
}

// Expected returns the expectations by the names that dialects give these counts.
func (v Verification) Expected() map[string]Expectation {
	return map[string]Expectation{"users": v.Users, "channels": v.Channels, "posts": v.Posts}
}

// Counts reports whether any count is verified.
func (v Verification) Counts() bool {
	return v.Users.Checked() || v.Channels.Checked() || v.Posts.Checked()
}

// expectation is the type of a number of objects.
var expectation = single("a number such as 12000000 ±0, same, or none", parseExpectation,
	func(x Expectation) string { return quote(x.String()) },
	anyOf(object{"type": "integer", "minimum": 0},
		object{"type": "string", "pattern": expectationRE.String()})).hidingZero()

// hook is the type of a command that a plan has run.
var hook = arguments.accepting(func(_ string, v reflect.Value) string {
	if v.Len() == 0 || v.Index(0).String() == "" {
		return "names no program; want a command line such as [./deploy.sh, -v], or remove it"
	}
	return ""
})

// Kinds of an [Expectation].
const (
	// Exactly expects a number of the plan.
	Exactly = "exactly"
	// Same expects the number that the first run found.
	Same = "same"
)

// An Expectation is the number of objects that a server must have. The zero value stands for a
// missing key.
type Expectation struct {
	Kind   string // [Exactly], [Same] or [Unverified]
	N      int64  // of Exactly
	Within int64  // the largest difference that is accepted
}

// Checked reports whether it expects anything.
func (x Expectation) Checked() bool { return x.Kind == Exactly || x.Kind == Same }

// expectationRE is the form of an expectation: a number, same or none, and a difference that is
// accepted.
var expectationRE = regexp.MustCompile(`^(same|none|[0-9]{1,15})( *(±|\+/?-) *([0-9]{1,15}))?$`)

// parseExpectation reads "12000000 ±0", "same ±2" or "none".
func parseExpectation(s string) (Expectation, error) {
	m := expectationRE.FindStringSubmatch(s)
	if m == nil || m[1] == Unverified && m[2] != "" {
		return Expectation{}, refuse(s, "is no number of objects; want one such as 12000000 ±0, "+
			"or same ±0 for that of the first run, or none")
	}
	x := Expectation{Kind: m[1]}
	if m[1] != Same && m[1] != Unverified {
		x.Kind = Exactly
		x.N, _ = strconv.ParseInt(m[1], 10, 64) // 15 digits
	}
	if m[4] != "" {
		x.Within, _ = strconv.ParseInt(m[4], 10, 64)
	}
	return x, nil
}

// String returns "12000000 ±0", "same ±0" or "none"; "" for the zero value.
func (x Expectation) String() string {
	switch x.Kind {
	case Exactly:
		return fmt.Sprintf("%d ±%d", x.N, x.Within)
	case Same:
		return fmt.Sprintf("same ±%d", x.Within)
	}
	return x.Kind
}

// Timeouts bound the commands of a target of the driver external.
type Timeouts struct {
	Install time.Duration `yaml:"install"`
	Reset   time.Duration `yaml:"reset"`
	Ready   time.Duration `yaml:"ready"`
}

var timeoutKeys = section{
	{"install", duration.hidingZero().from("100ms", MaxTime), `Of install. Default 20m.`},
	{"reset", duration.hidingZero().from("100ms", MaxTime), `Of reset. Default 30m.`},
	{"ready", duration.hidingZero().from("100ms", MaxTime),
		`Until the target answers, after a command too; where it is written, a run waits for a server
		that is not up yet. Default 5m with commands, else 30s.`},
}

// Default [Timeouts] of a target with commands.
const (
	defaultInstall = 20 * time.Minute
	defaultReset   = 30 * time.Minute
	defaultReady   = 5 * time.Minute
)

// commanded reports whether the plan has commands for a target that is not started.
func (t Target) commanded() bool { return len(t.Install) > 0 || len(t.Reset) > 0 }

// ProbesOf returns the probes that watch an arm: the plan's, then its own.
func (p *Plan) ProbesOf(arm string) []Probe {
	all := slices.Clone(p.Probes)
	for _, a := range p.arms() {
		if a.Name == arm {
			all = append(all, a.Probes...)
		}
	}
	return all
}

// Watching returns the probes that stand for all arms: the plan's, and one for each kind and role
// that the probes of every arm have.
func (p *Plan) Watching() []Probe {
	all := slices.Clone(p.Probes)
	if len(p.arms()) == 0 {
		return all
	}
	for _, own := range p.Compare.Arms[0].Probes {
		alike := func(x Probe) bool { return x.Kind == own.Kind && x.Role == own.Role }
		if p.everyArm(func(a Arm) bool { return slices.ContainsFunc(a.Probes, alike) }) {
			all = append(all, own)
		}
	}
	return all
}

// Scraped reports whether metrics of the servers of every arm are read.
func (p *Plan) Scraped() bool {
	return len(p.Target.MetricsURL) > 0 || p.everyArm(func(a Arm) bool {
		return len(a.MetricsURL) > 0
	})
}

// fillCommands fills in what commands leave open.
func (d *decoder) fillCommands(p *Plan) {
	t := &p.Target
	if t.Driver != External {
		return
	}
	if len(t.Install) > 0 {
		fill(d, "target.timeouts.install", &t.Timeouts.Install, defaultInstall)
	}
	if len(t.Reset) > 0 {
		fill(d, "target.timeouts.reset", &t.Timeouts.Reset, defaultReset)
		for key, x := range map[string]*Expectation{
			"users":    &t.Verify.Users,
			"channels": &t.Verify.Channels,
			"posts":    &t.Verify.Posts,
		} {
			fill(d, "target.verify."+key, x, Expectation{Kind: Same})
		}
	}
	if t.commanded() {
		fill(d, "target.timeouts.ready", &t.Timeouts.Ready, defaultReady)
	}
	for _, a := range p.variants() {
		if t.With(a).Version != "" && (len(t.Install) > 0 || len(a.URL) > 0 && a.Version != "") {
			fill(d, "target.verify.version", &t.Verify.Version, FromAPI)
		}
	}
}

// checkExternal refuses the keys that a target which is there already cannot have.
func (d *decoder) checkExternal(p *Plan) {
	t := p.Target
	if t.Filled() {
		d.at("target.dataset", "cannot be loaded into a target that is not ours; "+
			"fill its database yourself (plimsoll data generate -dsn-env), and name the data in setup")
	}
	if len(t.URL) == 0 && !p.armsElsewhere() {
		d.at("target.url",
			"is missing; the driver external needs the address of the running target")
	}
	for _, key := range []string{"binary", "command", "args", "stop_signal"} {
		d.useless("target."+key, nothingStarted)
	}
	if len(p.Engines()) > 0 && len(t.Install) == 0 && d.good("target.install") {
		d.at(
			"database.engine",
			"the driver external brings its own database, and none is started for it; "+
				"remove it, and name the database in setup",
		)
	}
	if len(p.Placement.Target) > 0 && d.good("placement.target") {
		d.at("placement.target",
			"the driver external starts nothing that could be placed; remove it")
	}
}

// checkCommands checks the commands of a target that is not started, and what must be true after
// them.
func (d *decoder) checkCommands(p *Plan) {
	t := p.Target
	if t.Driver != External {
		if d.good("target.driver") {
			for _, key := range []string{"install", "reset", "verify", "timeouts"} {
				d.useless("target."+key, "the driver %s starts and resets the target itself; "+
					"remove it, or write driver: external", t.Driver)
			}
		}
		return
	}
	if !t.commanded() && d.good("target.install", "target.reset") {
		d.useless("target.env", "the driver external starts nothing, "+
			"and there is no command (install, reset) that gets it; remove it")
	}
	for key, command := range map[string][]string{"install": t.Install, "reset": t.Reset} {
		at := "target.timeouts." + key
		if d.given(at) && len(command) == 0 && d.good("target."+key) {
			d.at(at, "has no effect without target.%s; remove it", key)
		}
	}
	d.checkVerification(p)
}

func (d *decoder) checkVerification(p *Plan) {
	t := p.Target
	if t.Verify.Version == FromAPI &&
		d.good("target.verify.version", "target.version", "compare.arms") {
		for _, a := range p.variants() {
			if t.With(a).Version != "" {
				continue
			}
			path := "target.version"
			if a.Name != "" {
				path = "compare.arms." + a.Name
			}
			d.at(
				path,
				"has no version, with which target.verify.version would compare the server's own; "+
					"write it, or target.verify.version: none",
			)
		}
	}
	for key, x := range t.Verify.Expected() {
		path := "target.verify." + key
		switch {
		case !d.given(path) || !d.good("target.reset", "target.install"):
		case x.Kind == Same && len(t.Reset) == 0:
			d.at(
				path,
				"needs target.reset, because without it every run changes what the next one finds; "+
					"add it, or remove this",
			)
		case x.Kind == Exactly && !t.commanded():
			d.at(
				path,
				"needs a command (target.install or target.reset) that puts this state there; "+
					"add one, or remove this",
			)
		}
	}
}

// checkElsewhere checks the addresses, probes and metrics of an arm, which are of servers that are
// up already.
func (d *decoder) checkElsewhere(p *Plan, a Arm) {
	path := "compare.arms." + a.Name
	d.checkProbes(path+".probes", a.Probes)
	d.checkPages(path+".url", a.URL, path+".metrics_url", a.MetricsURL)
	if p.Target.Driver != External {
		if d.good("target.driver") {
			for _, key := range []string{"url", "metrics_url", "probes", "metrics"} {
				d.useless(path+"."+key, "the driver %s makes the addresses of the arms itself; "+
					"remove it, or write driver: external", p.Target.Driver)
			}
		}
		return
	}
	d.checkArmMetrics(p, a)
	page := p.Target.MetricsURL.First()
	if len(a.URL) > 0 && len(a.MetricsURL) == 0 &&
		(strings.Contains(page, "://") || hasReference(page)) &&
		d.good(path+".url", "target.metrics_url") {
		d.at(
			path+".url",
			"needs a metrics_url beside it, because target.metrics_url is an address of its own, "+
				"of which arm is not known; add it, or make target.metrics_url a path",
		)
	}
	if d.given(path+".metrics_url") && len(a.URL) == 0 && d.good(path+".metrics_url", path+".url") {
		d.at(path+".metrics_url", "needs a url of this arm; add it, or write target.metrics_url")
	}
}
