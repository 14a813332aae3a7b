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

// Limits of the values of a plan. They are far beyond every sensible test and keep arithmetic from
// overflowing.
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
	// hostRE matches a host, or an IPv6 address in brackets perhaps with its zone, and perhaps a
	// port or a variable in its place.
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
	d.fillScript(&p.Workload)
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

// check notes impossible combinations of keys, and names that the caller does not know.
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
	if !k.ServerOnly && !p.HasTest() && (p.Workload.Script == "" || p.Compare != nil) &&
		d.good("bounded", "unbounded", "sizing") {
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
		d.at("report",
			"only the report of a comparison has these texts; add compare, or remove them")
	}
	if p.Compare == nil && d.given("source") && d.good("source", "compare") {
		d.at("source", "only a comparison has two revisions; add compare, or remove it")
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
	d.at(path, "%s is not a known %s; %sknown: %s", clip(s), what, hint(s, list),
		strings.Join(list, ", "))
}

// useless refuses a key that has no effect, and tells why and what to do.
func (d *decoder) useless(path, why string, args ...any) {
	if d.given(path) {
		d.at(path, "has no effect, because "+why, args...)
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
