package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// endpointRE is a statistic of an operation as an endpoint of a comparison. It takes lower
// percentiles than are judged: stored plans may have them.
var endpointRE = regexp.MustCompile(
	`^(p[1-9][0-9](?:\.[0-9])?|mean|max|throughput|typical)\(([A-Za-z0-9][A-Za-z0-9_.-]{0,63})\)$`,
)

// costRE is the CPU time that the processes of a role take for one operation, as an endpoint of a
// comparison.
var costRE = regexp.MustCompile(`^cost\(([a-z][a-z0-9_-]{0,63})\)$`)

// CostOf returns the role of an endpoint such as cost(app).
func CostOf(endpoint string) (role string, ok bool) {
	m := costRE.FindStringSubmatch(endpoint)
	if m == nil {
		return "", false
	}
	return m[1], true
}

func (d *decoder) checkCompare(p *Plan, k Known) {
	c := p.Compare
	d.checkArms(p)
	d.checkArmDatabases(p)
	d.checkDeployments(p)
	d.checkOneServer(p, k)
	d.checkOneLoad(p, k)
	d.checkBudget()
	d.checkLooks(c)
	d.checkMode(p, k)
	d.checkSwap(p)
	if c.Combine && d.good("bounded", "unbounded") && (p.Bounded == nil || p.Unbounded == nil) {
		missing := "bounded"
		if p.Unbounded == nil {
			missing = "unbounded"
		}
		d.at("compare.combine",
			"joins both tests, but %s is missing; add it, or set combine to false", missing)
	}
	for key, m := range c.Margin {
		d.checkMargin(p, k, key, m)
	}
	d.checkJudged(p, k)
}

// checkArms checks the number of arms, their names, and what each of them sets.
func (d *decoder) checkArms(p *Plan) {
	c := p.Compare
	if d.read("compare.arms") {
		if _, ok := c.Arm(Base); len(c.Arms) < 2 {
			d.at("compare.arms",
				"has %d of at least two arms; write %q and the variants to compare with it",
				len(c.Arms), Base)
		} else if !ok {
			d.at("compare.arms",
				"has no arm named %q; name one of them so, the others are compared with it", Base)
		}
	}
	for _, a := range c.Arms {
		path := "compare.arms." + a.Name
		d.checkEnvs(path+".env", a.Env, p)
		if p.Target.Driver == External {
			d.useless(path+".binary", nothingStarted)
			d.useless(path+".args", nothingStarted)
			if !p.Target.commanded() {
				d.useless(path+".env", nothingStarted)
				d.useless(path+".database", nothingStarted)
			}
		}
		d.checkElsewhere(p, a)
	}
}

// checkMargin checks the margin m of the endpoint key.
func (d *decoder) checkMargin(p *Plan, k Known, key string, m MarginValue) {
	path := join("compare.margin", key)
	switch {
	case !d.good(path):
	case m.None:
		if why := unjudgeable(key); why != "" {
			d.at(path, "%s", why)
		}
	case key == "errors" && !m.Points:
		d.at(path,
			"%s is relative, and the errors of a healthy target are 0; write percentage "+
				"points such as 0.025pp", m)
	case key != "errors" && m.Points:
		d.at(path, "%s is in percentage points, but %s is not a fraction; write a percentage "+
			"such as 5%%", m, key)
	case key != "capacity" && key != "errors" &&
		!endpointRE.MatchString(key) && !costRE.MatchString(key):
		d.at(
			path,
			"unknown endpoint; %swant capacity, errors, cost(app), cost(db), typical(op), or a "+
				"statistic of an operation such as p95(post) or throughput(post)",
			hint(key, []string{"capacity", "errors", "cost(app)", "cost(db)", "typical(op)"}),
		)
	case key == "errors" && k.Drivers != nil && p.ToleratesMore() != "":
		d.at(path, "%s", p.ToleratesMore())
	default:
		if why := d.unjudged(p, k, key); why != "" {
			d.at(path, "%s", why)
		}
	}
}

// checkJudged checks that the plan judges the endpoints that it names, and at least one.
func (d *decoder) checkJudged(p *Plan, k Known) {
	c := p.Compare
	for i, name := range c.Endpoints {
		judged := func(e Endpoint) bool { return e.Name == name }
		if d.good("compare.margin", "compare.endpoints", "bounded", "unbounded") &&
			!slices.ContainsFunc(p.Endpoints(), judged) {
			d.at(fmt.Sprintf("compare.endpoints[%d]", i),
				"%s is not judged by this plan; want an endpoint with a margin", clip(name))
		}
	}
	if k.Drivers != nil && d.good("compare.margin", "bounded", "unbounded") &&
		len(p.NotJudged()) > 0 &&
		len(p.Endpoints()) == 0 {
		d.at("compare.margin", "leaves no endpoint to be judged; remove none of at least one of %s",
			strings.Join(p.NotJudged(), ", "))
	}
}

// unjudgeable returns the reason why the margin of an endpoint cannot be none; empty if it can.
func unjudgeable(key string) string {
	switch _, usual := DefaultMargin()[key]; {
	case key == "errors":
		return "none is refused, because an arm that fails operations is faster and cheaper than one that does them; write percentage points such as 0.025pp"
	case !usual:
		return fmt.Sprintf(
			"none is for endpoints that are judged by default, and %s is not one; remove it",
			clip(key),
		)
	}
	return ""
}

// strictestRate returns the rule of the plan, of either test, that limits failed operations to the
// smallest part, and whether there is one. A warning limits nothing.
func (p *Plan) strictestRate() (strictest SLO, ok bool) {
	var rules []SLO
	if p.Bounded != nil {
		rules = p.Bounded.SLO
	}
	if p.Unbounded != nil {
		rules = slices.Concat(rules, p.Unbounded.SLO)
	}
	for _, r := range rules {
		if r.Stat == "rate" && !r.Warning && slices.Contains(ErrorClasses(), r.Arg) &&
			(!ok || r.Threshold < strictest.Threshold) {
			strictest, ok = r, true
		}
	}
	return strictest, ok
}

// ToleratesMore returns an error text, with the accepted values, if the margin of errors calls a
// difference harmless that alone breaks a rule of the plan; "" if not. The rules that a program
// adds to a plan must be in it. Stored plans stay readable.
func (p *Plan) ToleratesMore() string {
	if p.Compare == nil {
		return ""
	}
	m, given := p.Compare.Margin["errors"]
	rule, ok := p.strictestRate()
	if !given || !ok || m.Value <= rule.Threshold {
		return ""
	}
	return fmt.Sprintf(
		"%s is more than the rule %s allows at all, so that a broken target could count as the same; want at most %spp",
		m,
		rule.Source,
		strings.TrimSuffix(formatPercent(rule.Threshold), "%"),
	)
}

// unjudged returns the reason why no run of the plan can have a number for an endpoint that was
// added to the usual ones, and the remedy; empty if one can. The usual ones are in every plan's
// canonical form, independent of its tests. Stored plans stay readable.
func (d *decoder) unjudged(p *Plan, k Known, endpoint string) string {
	m := endpointRE.FindStringSubmatch(endpoint)
	if _, usual := DefaultMargin()[endpoint]; usual || m == nil || k.Ops == nil {
		return ""
	}
	op := m[2]
	if _, err := ParseEndpoint(endpoint); err != nil {
		return err.Error()
	}
	known := slices.Concat([]string{"op", "delivery"}, k.Ops)
	switch {
	case !slices.Contains(known, op) && !slices.Contains(k.Apart, op) && !p.Workload.Scripted():
		return fmt.Sprintf(
			"%s is not an operation; %sknown: %s",
			clip(op),
			hint(op, slices.Concat(k.Ops, k.Apart)),
			strings.Join(known, ", "),
		)
	case p.Bounded == nil && d.good("bounded"):
		return "is a number of the bounded test, which this plan does not have; add a section bounded, or remove the margin"
	}
	return ""
}

// checkOneServer refuses arms of the driver external that differ in their versions while nothing
// makes them different servers: they are one server that is measured twice, and the verdict would
// claim to be about two releases. Arms that are alike measure the noise. Stored plans stay
// readable.
func (d *decoder) checkOneServer(p *Plan, k Known) {
	arms := p.Compare.Arms
	if k.Drivers == nil || p.Target.Driver != External || len(arms) == 0 ||
		!d.good("compare.arms", "target.driver", "target.version", "target.install", "target.url") {
		return
	}
	if len(p.Target.Install) > 0 {
		return
	}
	at := map[string]Arm{}
	for _, a := range arms {
		t := p.Target.With(a)
		for _, url := range t.URL {
			other, taken := at[url]
			if !taken {
				at[url] = a
				continue
			}
			if p.Target.With(other).Version == t.Version {
				continue
			}
			d.at(
				"compare.arms",
				"%s and %s are the one server at %s, whatever their versions say; write target.install, a command that puts an arm's version there, "+
					"or give each arm a url, or leave the versions out and measure the noise (compare -aa)",
				other.Name,
				a.Name,
				address(url),
			)
			return
		}
	}
}

// checkOneLoad refuses different numbers of users for the databases of arms that are compared by
// their bounded test alone: measurements under different loads are not compared, so nothing would
// be. Stored plans stay readable.
func (d *decoder) checkOneLoad(p *Plan, k Known) {
	if k.Drivers == nil || !p.OwnDatabases() || p.Bounded == nil || p.Unbounded != nil ||
		!d.good("bounded.users", "unbounded", "compare.arms", "database.engine") {
		return
	}
	users := func(a Arm) int {
		n, _ := p.Bounded.UsersFor(p.EngineOf(a.Name, ""))
		return n
	}
	arms := p.Compare.Arms
	if slices.ContainsFunc(arms[1:], func(a Arm) bool { return users(a) != users(arms[0]) }) {
		d.at(
			"bounded.users",
			"the arms have databases of their own with different numbers of users, and what was measured under different loads is not compared; "+
				"write one number, or a section unbounded to compare their capacities",
		)
	}
}

// ErrorMargin returns the margin of errors of a comparison under the plan: the stated one, or else
// the usual one, which is lower where a rule limits failed operations to less. It is for plans
// without compare, too.
func (p *Plan) ErrorMargin() MarginValue {
	if p.Compare != nil {
		if m, ok := p.Compare.Margin["errors"]; ok {
			return m
		}
	}
	return p.defaultErrors()
}

func (p *Plan) defaultErrors() MarginValue {
	m := DefaultMargin()["errors"]
	if rule, ok := p.strictestRate(); ok {
		m.Value = min(m.Value, rule.Threshold)
	}
	return m
}

// Uncombined returns why the plan's comparison cannot be carried out: it has both tests, and no run
// for each of them that a block could count. Empty where it can. Its tests alone can be carried out
// all the same.
func (p *Plan) Uncombined() string {
	if p.Compare == nil || p.Bounded == nil || p.Unbounded == nil || p.Compare.Combine {
		return ""
	}
	return "a bounded and an unbounded test are in the plan; set compare.combine: true to carry both out in one run, or remove one"
}
