package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/target"
)

// A Gathered is a comparison that was put together from stored runs.
type Gathered struct {
	Comparison *record.Comparison
	Plan       *plan.Plan
	runs       map[string]*record.Run
}

// Load returns one of the runs by its id, in the part that it plays here.
func (g *Gathered) Load(id string) (*record.Run, error) {
	r, ok := g.runs[id]
	if !ok {
		return nil, fmt.Errorf("run %s is not one of the gathered ones", id)
	}
	return r, nil
}

// Gather makes a comparison out of stored runs of two arms, which are sealed, valid, no pilots and
// not void by the end of their search. On each database the runs of an arm are ordered by time, and
// the nth of both arms are block n. All other facts follow from the runs, so the same runs give the
// same comparison, in whatever order they are given.
//
// An arm is one build under one plan with the same accounts of users, on each database with the
// same data and server. The plans of the arms agree in load and tests; other differences than the
// target, and other accounts, are warnings. Errors are the caller's, and name the run or the line
// of the plan.
func Gather(base, fresh []*record.Run) (*Gathered, error) {
	arms := gatheredArms{{flag: "base"}, {flag: "new"}}
	ids := map[string]bool{}
	for i, runs := range [][]*record.Run{base, fresh} {
		if len(runs) == 0 {
			return nil, fmt.Errorf("the arm %s is empty: give its runs by -%[1]s", arms[i].flag)
		}
		for _, r := range runs {
			if ids[r.Manifest.ID] {
				return nil, fmt.Errorf("run %s is there twice: one run counts once", r.Manifest.ID)
			}
			ids[r.Manifest.ID] = true
			if err := arms[i].add(r); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(arms[i].runs, inTime)
	}
	p, how, warnings, err := gatheredPlan(arms)
	if err != nil {
		return nil, err
	}
	c, err := gatheredBlocks(arms, p)
	if err != nil {
		return nil, err
	}
	g := &Gathered{Comparison: c, Plan: p, runs: map[string]*record.Run{}}
	for _, cell := range c.Runs {
		for _, r := range arms.runs() {
			if r.Manifest.ID == cell.Run {
				r.Manifest.Block = cell.Block
				r.Manifest.Order = cell.Order
				r.Manifest.Arm = cell.Arm
				g.runs[cell.Run] = r
			}
		}
	}
	c.Gathered = &record.Gathering{
		How: append(
			[]string{
				fmt.Sprintf(
					"Put together from %d stored runs: on each database the runs of an arm in the order of their times are its blocks. "+
						"The caller chose the runs; nothing here shows which ones were left out.",
					len(c.Runs),
				),
			},
			how...),
		Warnings: slices.Concat(warnings, hostWarnings(arms), timeWarnings(c)),
	}
	return g, nil
}

// inTime orders runs by their beginning.
func inTime(a, b *record.Run) int {
	return cmp.Or(a.Manifest.Epoch.Compare(b.Manifest.Epoch),
		cmp.Compare(a.Manifest.ID, b.Manifest.ID))
}

// A gatheredArm holds the runs of one arm, which have one plan.
type gatheredArm struct {
	flag string
	runs []*record.Run
	plan *plan.Plan
}

type gatheredArms [2]*gatheredArm

// runs returns the runs of both arms.
func (a gatheredArms) runs() []*record.Run { return slices.Concat(a[0].runs, a[1].runs) }

// add adds a run that fits the earlier ones.
func (a *gatheredArm) add(r *record.Run) error {
	m := r.Manifest
	p, err := Plan(m.Plan)
	switch {
	case m.Plan == "" || err != nil:
		return fmt.Errorf(
			"run %s: this version cannot read its plan, and a report needs it; judge -base -new takes its numbers: %w",
			m.ID,
			cmp.Or(err, errors.New("it has none")),
		)
	case len(a.runs) == 0:
		a.plan, a.runs = p, append(a.runs, r)
		return nil
	}
	first := a.runs[0].Manifest
	if m.Arm != first.Arm || m.Plan != first.Plan &&
		a.plan.WithoutFiles().String() != p.WithoutFiles().String() {
		what := fmt.Sprintf("the arms %q and %q of their plan", first.Arm, m.Arm)
		if x, y, differ := lineOf(a.plan.WithoutFiles(), p.WithoutFiles()); differ {
			what = fmt.Sprintf("plans that differ: %s, and %s", x, y)
		}
		return fmt.Errorf(
			"runs %s and %s are both given by -%s and are of %s; an arm is one build under one plan",
			first.ID,
			m.ID,
			a.flag,
			what,
		)
	}
	if x, y := accountsOf(first), accountsOf(m); x != y {
		return fmt.Errorf(
			"runs %s and %s are both given by -%s, and their users had %s and %s; give runs with the same accounts",
			first.ID,
			m.ID,
			a.flag,
			x,
			y,
		)
	}
	x, _ := TargetOf(first)
	y, _ := TargetOf(m)
	if x.Version != y.Version {
		return fmt.Errorf(
			"runs %s and %s are both given by -%s, and their targets report the versions %q and %q; an arm is one build",
			first.ID,
			m.ID,
			a.flag,
			x.Version,
			y.Version,
		)
	}
	for _, other := range a.runs { // the first may not have reported it
		if x, _ := TargetOf(other.Manifest); x.Digest != y.Digest && x.Digest != "" &&
			y.Digest != "" {
			return fmt.Errorf(
				"runs %s and %s are both given by -%s, and their targets are programs with the digests %.19s and %.19s; an arm is one build",
				other.Manifest.ID,
				m.ID,
				a.flag,
				x.Digest,
				y.Digest,
			)
		}
	}
	if err := a.sameStores(m, y); err != nil {
		return err
	}
	a.runs = append(a.runs, r)
	return nil
}

// sameStores returns an error if the target of a run had other data, or another database server,
// than a run before it on the same database, as far as both report them.
func (a *gatheredArm) sameStores(m record.Manifest, d target.Description) error {
	for _, r := range a.runs {
		other := r.Manifest
		if other.Engine != m.Engine {
			continue
		}
		was, _ := TargetOf(other)
		for _, x := range []struct{ thing, was, is string }{{"the data", was.Dataset, d.Dataset}, {"the database server", ServerOf(was), ServerOf(d)}} {
			if x.was != x.is && x.was != "" && x.is != "" {
				return fmt.Errorf(
					"runs %s and %s are both given by -%s, and their targets differ in %s: %q and %q; give runs with the same",
					other.ID,
					m.ID,
					a.flag,
					x.thing,
					x.was,
					x.is,
				)
			}
		}
	}
	return nil
}

// lineOf returns the first lines in which two plans differ.
func lineOf(a, b *plan.Plan) (x, y string, differ bool) {
	_, x, y, differ = comparison.FirstDifference(a.String(), b.String())
	return x, y, differ
}

// taskOf is the part of a plan that has to be alike in both arms: the load, without addresses and
// accounts, and the tests.
func taskOf(p *plan.Plan) *plan.Plan {
	return &plan.Plan{Workload: loadOf(p), Bounded: p.Bounded, Unbounded: p.Unbounded}
}

// restOf is the parts of a plan in which arms should be alike: all but the target, the texts and
// the terms of a comparison.
func restOf(p *plan.Plan) []*plan.Plan {
	return []*plan.Plan{{Seed: p.Seed}, {Database: p.Database}, {Placement: p.Placement},
		{Gates: p.Gates},
		{Workload: plan.Workload{Params: p.Workload.Params}},
		{Target: plan.Target{Dataset: p.Target.Dataset}}}
}

// gatheredPlan returns the plan by which both arms are judged, with a section compare of them
// alone. Its looks and budget are dropped: they belong to a comparison that decided while it ran
// when to end.
func gatheredPlan(arms gatheredArms) (p *plan.Plan, how, warnings []string, err error) {
	warnings, err = unlikePlans(arms)
	if err != nil {
		return nil, nil, nil, err
	}
	copied := *arms[0].plan
	p = &copied
	if c := p.Compare; c != nil && (len(c.Looks) > 0 || c.Auto()) {
		warnings = append(warnings, "the runs are of a comparison that ended, or could end, at "+
			"planned looks; here all are judged at 5 % as if there had been one look, so the "+
			"comparison's own report is the one that counts")
	}
	p.Compare = oneLook(p)
	p.Compare.Arms = gatheredVariants(p, arms)
	how, err = onlyHeldTests(p, arms)
	if err != nil {
		return nil, nil, nil, err
	}
	return p, how, warnings, nil
}

// unlikePlans refuses plans of other loads or tests, and warns of what else the arms differ in
// beside the target.
func unlikePlans(arms gatheredArms) (warnings []string, err error) {
	a, b := arms[0].plan, arms[1].plan
	first, other := arms[0].runs[0].Manifest, arms[1].runs[0].Manifest
	if x, y, differ := lineOf(taskOf(a), taskOf(b)); differ {
		return nil, fmt.Errorf("runs %s and %s had other things to do, by their plans %s and %s: "+
			"want the same load and tests in both arms", first.ID, other.ID, x, y)
	}
	rest := restOf(b)
	for i, part := range restOf(a) {
		if x, y, differ := lineOf(part, rest[i]); differ {
			warnings = append(warnings, fmt.Sprintf("the plans of the arms differ in more than "+
				"the target: %s in that of base, %s in that of new", x, y))
		}
	}
	return append(warnings, accountWarnings(first, other)...), nil
}

// oneLook returns the terms of a plan's comparison, or those by default, judged once at its end.
// Blocks have new numbers here, so who was where is not to be had of them.
func oneLook(p *plan.Plan) *plan.Compare {
	c := &plan.Compare{Margin: plan.DefaultMargin()}
	c.Margin["errors"] = p.ErrorMargin()
	if p.Compare != nil {
		terms := *p.Compare
		c = &terms
	}
	c.Looks = nil
	c.Budget = 0
	c.Mode = ""
	c.Swap = false
	return c
}

// gatheredVariants returns the arms of the section compare. Where they are not two variants of one
// plan, each holds all that its target has of its own, and the plan's target loses that.
func gatheredVariants(p *plan.Plan, arms gatheredArms) []plan.Arm {
	first, other := arms[0].runs[0].Manifest, arms[1].runs[0].Manifest
	names := []string{first.Arm, other.Arm}
	own := make([]plan.Arm, len(arms))
	made := arms[0].plan.Compare
	there := first.Plan == other.Plan && names[0] != names[1] && made != nil
	for i, name := range names {
		if there {
			own[i], there = made.Arm(name)
		}
	}
	if there {
		return own
	}
	for i, arm := range arms {
		own[i] = armOf(arm.plan, names[i])
		own[i].Name = []string{plan.Base, "new"}[i]
	}
	p.Target.Binary = ""
	p.Target.Args = nil
	p.Target.Env = nil
	p.Target.Version = ""
	return own
}

// onlyHeldTests drops the test of a plan that its runs do not hold.
func onlyHeldTests(p *plan.Plan, arms gatheredArms) (how []string, err error) {
	measured, err := everywhere(arms, "measure")
	if err != nil {
		return nil, err
	}
	searched, err := everywhere(arms, "search")
	if err != nil {
		return nil, err
	}
	if !searched && p.Unbounded != nil {
		if p.Bounded != nil {
			bounded := *p.Bounded
			bounded.SLO, p.Bounded = p.BoundedRules(), &bounded
		}
		p.Unbounded = nil
		how = append(how, "The runs hold no search: they are judged by the bounded test.")
	}
	if !measured && p.Bounded != nil {
		p.Bounded = nil
		how = append(how, "The runs hold no bounded test: they are judged by the search.")
	}
	return how, nil
}

// armOf is the arm of a run that a plan with a single variant, or another plan, made: the whole
// target.
func armOf(p *plan.Plan, name string) plan.Arm {
	t, out := p.Target, plan.Arm{}
	if p.Compare != nil {
		if arm, ok := p.Compare.Arm(name); ok {
			t, out = t.With(arm), arm
		}
	}
	out.Binary = t.Binary
	out.Args = t.Args
	out.Env = t.Env
	out.Version = t.Version

	return out
}

// everywhere reports whether the runs have a phase: all or none. With a bounded test they have the
// same number of users on a database.
func everywhere(arms gatheredArms, phase string) (bool, error) {
	var with, without string
	users := map[string]record.Manifest{}
	for _, r := range arms.runs() {
		m := r.Manifest
		ph, ok := m.Phase(phase)
		if !ok {
			without = cmp.Or(without, m.ID)
			continue
		}
		with = cmp.Or(with, m.ID)
		if phase != "measure" {
			continue
		}
		if other, known := users[m.Engine]; known {
			if x, _ := other.Phase(phase); x.Users != ph.Users {
				return false, fmt.Errorf(
					"run %s had %d users and run %s %d: what was measured under different loads is not compared",
					other.ID,
					x.Users,
					m.ID,
					ph.Users,
				)
			}
		}
		users[m.Engine] = m
	}
	if with != "" && without != "" {
		return false, fmt.Errorf(
			"run %s has a phase %s, and run %s has none: give runs of the same tests",
			with,
			phase,
			without,
		)
	}
	return with != "", nil
}
