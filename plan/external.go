package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Values of [Verification.Version].
const (
	// FromAPI has the server's own version compared with that of the arm.
	FromAPI = "from-api"
	// Unverified has nothing compared.
	Unverified = "none"
)

// A Verification is what must be true before each run of a target of the driver external, as the server's API reports
// it. A run before which it is not true is void.
type Verification struct {
	// Version is [FromAPI], the default where arms with versions are installed or have addresses of their own, or
	// [Unverified].
	Version string `yaml:"version"`
	// Users, Channels and Posts are how many there are after the reset. Default with a reset: [Same].
	Users    Expectation `yaml:"users"`
	Channels Expectation `yaml:"channels"`
	Posts    Expectation `yaml:"posts"`
}

// Expected returns the expectations by the names that dialects give these counts.
func (v Verification) Expected() map[string]Expectation {
	return map[string]Expectation{"users": v.Users, "channels": v.Channels, "posts": v.Posts}
}

// Counts reports whether any count is verified.
func (v Verification) Counts() bool {
	return v.Users.Checked() || v.Channels.Checked() || v.Posts.Checked()
}

// Kinds of an [Expectation].
const (
	// Exactly expects a number of the plan.
	Exactly = "exactly"
	// Same expects the number that the first run found.
	Same = "same"
)

// An Expectation is how many objects a server must have. The zero value is one that the plan does not have.
type Expectation struct {
	Kind   string // [Exactly], [Same] or [Unverified]
	N      int64  // of Exactly
	Within int64  // the largest difference that is accepted
}

// Checked reports whether it expects anything.
func (x Expectation) Checked() bool { return x.Kind == Exactly || x.Kind == Same }

// expectationRE is the form of an expectation: a number, same or none, and a difference that is accepted.
var expectationRE = regexp.MustCompile(`^(same|none|[0-9]{1,15})( *(±|\+/?-) *([0-9]{1,15}))?$`)

// parseExpectation reads "12000000 ±0", "same ±2" or "none".
func parseExpectation(s string) (Expectation, error) {
	m := expectationRE.FindStringSubmatch(s)
	if m == nil || m[1] == Unverified && m[2] != "" {
		return Expectation{}, fmt.Errorf("%s is no number of objects; want one such as 12000000 ±0, or same ±0 for that of the first run, or none", clip(s))
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
	// Install is the longest time of target.install. Default 20m.
	Install time.Duration `yaml:"install" kind:"optional"`
	// Reset is the longest time of target.reset. Default 30m.
	Reset time.Duration `yaml:"reset" kind:"optional"`
	// Ready is how long the target may take to answer, after a command too. Default 5m with commands, else 30s.
	Ready time.Duration `yaml:"ready" kind:"optional"`
}

// Default [Timeouts] of a target with commands.
const (
	defaultInstall = 20 * time.Minute
	defaultReset   = 30 * time.Minute
	defaultReady   = 5 * time.Minute
)

// commanded reports whether the plan has commands for a target that is not started.
func (t Target) commanded() bool { return len(t.Install) > 0 || len(t.Reset) > 0 }

// armsElsewhere reports whether every arm has an address of its own.
func (p *Plan) armsElsewhere() bool {
	return p.Compare != nil && len(p.Compare.Arms) > 0 && !slices.ContainsFunc(p.Compare.Arms, func(a Arm) bool { return len(a.URL) == 0 })
}

// ProbesOf returns the probes that watch an arm: those of the plan, then its own.
func (p *Plan) ProbesOf(arm string) []Probe {
	all := slices.Clone(p.Probes)
	if p.Compare != nil {
		if a, ok := p.Compare.Arm(arm); ok {
			all = append(all, a.Probes...)
		}
	}
	return all
}

// Watching returns the probes that stand for all arms: those of the plan, and of the arms' own one for each kind and
// role that every arm has.
func (p *Plan) Watching() []Probe {
	all := slices.Clone(p.Probes)
	if p.Compare == nil || len(p.Compare.Arms) == 0 {
		return all
	}
	for _, own := range p.Compare.Arms[0].Probes {
		alike := func(x Probe) bool { return x.Kind == own.Kind && x.Role == own.Role }
		if !slices.ContainsFunc(p.Compare.Arms, func(a Arm) bool { return !slices.ContainsFunc(a.Probes, alike) }) {
			all = append(all, own)
		}
	}
	return all
}

// Scraped reports whether metrics of the servers of every arm are read.
func (p *Plan) Scraped() bool {
	if len(p.Target.MetricsURL) > 0 {
		return true
	}
	return p.Compare != nil && len(p.Compare.Arms) > 0 && !slices.ContainsFunc(p.Compare.Arms, func(a Arm) bool { return len(a.MetricsURL) == 0 })
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
		for key, x := range map[string]*Expectation{"users": &t.Verify.Users, "channels": &t.Verify.Channels, "posts": &t.Verify.Posts} {
			fill(d, "target.verify."+key, x, Expectation{Kind: Same})
		}
	}
	if t.commanded() {
		fill(d, "target.timeouts.ready", &t.Timeouts.Ready, defaultReady)
	}
	named := t.Version != "" && len(t.Install) > 0
	if p.Compare != nil {
		for _, a := range p.Compare.Arms {
			named = named || a.Version != "" && (len(t.Install) > 0 || len(a.URL) > 0)
		}
	}
	if named {
		fill(d, "target.verify.version", &t.Verify.Version, FromAPI)
	}
}

// checkCommands checks the commands of a target that is not started, and what must be true after them.
func (d *decoder) checkCommands(p *Plan) {
	t := p.Target
	keys := []string{"target.install", "target.reset", "target.verify", "target.timeouts"}
	if t.Driver != External {
		for _, path := range keys {
			if d.given(path) && d.read(path) && d.good("target.driver") {
				d.at(path, "has no effect, because the driver %s starts and resets the target itself; remove it, or write driver: external", t.Driver)
			}
		}
		return
	}
	for path, command := range map[string][]string{"target.install": t.Install, "target.reset": t.Reset} {
		d.checkArgs(path, command)
		if d.given(path) && d.good(path) && (len(command) == 0 || command[0] == "") {
			d.at(path, "names no program; want a command line such as [./deploy.sh, -v], or remove it")
		}
	}
	if d.given("target.env") && !t.commanded() && d.read("target.env") && d.good("target.install", "target.reset") {
		d.at("target.env", "has no effect, because the driver external starts nothing, and there is no command (install, reset) that gets it; remove it")
	}
	d.checkTimeouts(t)
	d.checkVerification(p)
}

func (d *decoder) checkTimeouts(t Target) {
	for _, x := range []struct {
		key  string
		v    time.Duration
		used bool
	}{{"install", t.Timeouts.Install, len(t.Install) > 0}, {"reset", t.Timeouts.Reset, len(t.Reset) > 0}, {"ready", t.Timeouts.Ready, true}} {
		path := "target.timeouts." + x.key
		switch {
		case !d.given(path):
		case !x.used && d.good(path, "target."+x.key):
			d.at(path, "has no effect without target.%s; remove it", x.key)
		default:
			between(d, path, x.v, 100*time.Millisecond, longest, formatDuration)
		}
	}
}

func (d *decoder) checkVerification(p *Plan) {
	t, v := p.Target, p.Target.Verify
	const version = "target.verify.version"
	if d.good(version) && v.Version != "" && v.Version != FromAPI && v.Version != Unverified {
		d.at(version, "%s is no way to verify a version; want %s, which compares the server's own with the arm's, or %s", clip(v.Version), FromAPI, Unverified)
	}
	if v.Version == FromAPI && d.good(version, "target.version", "compare.arms") {
		arms := []Arm{{}}
		if p.Compare != nil {
			arms = p.Compare.Arms
		}
		for _, a := range arms {
			if t.With(a).Version != "" {
				continue
			}
			path := "target.version"
			if a.Name != "" {
				path = "compare.arms." + a.Name
			}
			d.at(path, "has no version, with which target.verify.version would compare the server's own; write it, or target.verify.version: none")
		}
	}
	for _, key := range []string{"users", "channels", "posts"} {
		x, path := v.Expected()[key], "target.verify."+key
		switch {
		case !d.given(path) || !d.good(path, "target.reset", "target.install"):
		case x.Kind == Same && len(t.Reset) == 0:
			d.at(path, "needs target.reset, because without it every run changes what the next one finds; add it, or remove this")
		case x.Kind == Exactly && !t.commanded():
			d.at(path, "needs a command (target.install or target.reset) that puts this state there; add one, or remove this")
		}
	}
}

// checkElsewhere checks what an arm sets for servers that are up already.
func (d *decoder) checkElsewhere(p *Plan, a Arm) {
	path := "compare.arms." + a.Name
	d.checkProbes(path+".probes", a.Probes)
	if p.Target.Driver == External {
		d.checkArmMetrics(p, a)
	}
	d.servers(path+".url", a.URL, path+".metrics_url", a.MetricsURL)
	if p.Target.Driver != External {
		for _, key := range []string{"url", "metrics_url", "probes", "metrics"} {
			if at := path + "." + key; d.given(at) && d.read(at) && d.good("target.driver") {
				d.at(at, "has no effect, because the driver %s makes the addresses of the arms itself; remove it, or write driver: external", p.Target.Driver)
			}
		}
		return
	}
	if m := p.Target.MetricsURL.First(); len(a.URL) > 0 && len(a.MetricsURL) == 0 && (strings.Contains(m, "://") || hasReference(m)) && d.good(path+".url", "target.metrics_url") {
		d.at(path+".url", "needs a metrics_url beside it, because target.metrics_url is an address of its own, of which arm is not known; add it, or make target.metrics_url a path")
	}
	if d.given(path+".metrics_url") && len(a.URL) == 0 && d.good(path+".metrics_url", path+".url") {
		d.at(path+".metrics_url", "needs a url of this arm; add it, or write target.metrics_url")
	}
}

// The keys of an arm's probes are described as those of the plan's.
func init() {
	for path, text := range keyTexts {
		if strings.HasPrefix(path, "probes.*.") || strings.HasPrefix(path, "metrics.") {
			keyTexts["compare.arms.*."+path] = text
			keyLimits["compare.arms.*."+path] = keyLimits[path]
		}
	}
	required["compare.arms.*.probes.*"] = required["probes.*"]
}
