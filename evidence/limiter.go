package evidence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// Limiter names the resource that stopped the run, from its series and its events; nil for one that
// is under way or carried no test.
func (r *Run) Limiter(ctx context.Context, events []record.Event) (*limiter.Limiter, error) {
	if r.Manifest.State == record.Running || r.Manifest.State == record.Interrupted {
		return nil, nil
	}
	o, span, ok := stopped(r, events)
	if err := r.allFailed(events, &o); err != nil {
		return nil, err
	}
	if !ok && o.AllFailed == "" {
		return nil, nil
	}
	p := r.Asked()
	if o.AllFailed == "" && len(o.Generator) == 0 && voidBy(r) == "" {
		var err error
		if o.Failed, o.Failures, err = failedIn(r, p, events, o.Capacity); err != nil {
			return nil, err
		}
	}
	return r.diagnose(ctx, p, span, o)
}

// diagnose reads the series that a diagnosis of o needs, and makes it.
func (r *Run) diagnose(
	ctx context.Context,
	p *plan.Plan,
	span [2]time.Duration,
	o limiter.Observed,
) (*limiter.Limiter, error) {
	var err error
	switch {
	case o.AllFailed != "":
	case len(o.Generator) > 0:
		err = r.crowd(ctx, span, &o)
	case o.Reached || o.Failed != "":
		err = r.observe(ctx, p, span, &o)
	}
	if err != nil {
		return nil, err
	}
	l := limiter.Diagnose(r.catalog.Indicators(), o)
	return &l, nil
}

// LimiterSoFar names what would limit a run that is under way if it stopped now: the cause for
// which all operations fail, a gate that is red at present, or else a resource at its limit while a
// rule is broken. The series are read from their beginning.
func (r *Run) LimiterSoFar(ctx context.Context, events []record.Event) (*limiter.Limiter, error) {
	var o limiter.Observed
	var last time.Duration
	var readings map[string]float64
	rules := map[string]record.Event{}
	for _, e := range events {
		last = max(last, e.At)
		switch e.Kind {
		case "users":
			o.Capacity = float64(e.Users)
		case "slo":
			rules[e.Rule] = e
		case "gates":
			readings = e.Readings
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		if e := rules[rule]; e.Violated && !e.NoData && !e.Undecided && e.Level != record.Amber {
			o.Rule, o.Reached = rule, true
			break
		}
	}
	p := r.Asked()
	red := r.blameNow(p.Gates.All(), readings, &o)
	if err := r.allFailed(events, &o); err != nil {
		return nil, err
	}
	if o.AllFailed == "" && !o.Reached && len(red) > 0 && len(o.Generator) == 0 {
		return &limiter.Limiter{
			Name:     limiter.LimitUnknown,
			Kind:     limiter.LimitUnknown,
			Sentence: "UNKNOWN: every rule holds at present, and yet: " + strings.Join(red, "; ") + ".",
		}, nil
	}
	o.Why = "every rule holds at present"
	return r.diagnose(ctx, p, [2]time.Duration{0, last}, o)
}

// blameNow notes the gates of the generator and of others that are red by readings of the last
// second, and returns all that are red.
func (r *Run) blameNow(
	gates []plan.Gate,
	readings map[string]float64,
	o *limiter.Observed,
) (red []string) {
	var now []record.Finding
	for _, g := range gates {
		v, read := readings[g.Name]
		if !read || g.Level(v) != record.Red {
			continue
		}
		f := record.Finding{
			Gate:  g.Name,
			Level: record.Red,
			Value: v,
			Text:  g.What + ": " + g.Format(v) + " at present",
		}
		red, now = append(red, g.Name+": "+f.Text), append(now, f)
	}
	blame(r.Manifest, now, o)
	if own, read := readings["cpu"]; read && len(o.Generator) > 0 {
		o.Crowd = crowdOf(own, readings["core"], now)
	}
	return red
}

// observe reads the evidence between two instants of the run: users, the rule that broke, who used
// CPU, all indicators.
func (r *Run) observe(
	ctx context.Context,
	p *plan.Plan,
	span [2]time.Duration,
	o *limiter.Observed,
) error {
	db, err := r.Series()
	if err != nil {
		return err
	}
	defer db.Close()
	x := newTraces(db, r, p, span)
	if err := x.observe(ctx, o); err != nil {
		return err
	}
	return x.indicators(ctx, r.catalog.Indicators(), o)
}

// voidBy returns the finding for which a run is not valid; "" when there is none.
func voidBy(r *Run) (void string) {
	for _, f := range r.Validity.Findings {
		if f.Level == record.Red {
			void = f.Gate + ": " + f.Text
		}
	}
	return void
}

// failedIn describes how many operations of the users at capacity failed, how, and the share of
// each cause, when these are more than the run's rule of failed operations allows, or than its
// default does: at nine tenths of the capacity and more in a search, in the measured phase of a
// bounded test. Two failures at least: one never decides.
func failedIn(
	r *Run,
	p *plan.Plan,
	events []record.Event,
	capacity float64,
) (text string, by map[string]float64, err error) {
	most := plan.DefaultFailures().Threshold
	ph, ok := r.Manifest.Phase("search")
	rules := p.BoundedRules()
	if u, searched := p.Search(); searched && ok {
		rules = u.SLO
	}
	if i := slices.IndexFunc(rules, plan.SLO.LimitsErrors); i >= 0 {
		most = rules[i].Threshold
	}
	if ok {
		// Users are noted once a second; the search's capacity may lie above all of them for a
		// moment.
		for _, e := range events {
			if e.Kind == "users" && e.At > ph.From && e.At <= ph.To &&
				float64(e.Users) >= 0.9*capacity {
				ph.From = e.At.Truncate(time.Second)
				break
			}
		}
	} else if ph, ok = r.Manifest.Phase("measure"); !ok {
		return "", nil, nil
	}
	merged, err := r.Merged(ph.From, ph.To)
	if err != nil {
		return "", nil, err
	}
	all := workload.Together(allOps, merged, workload.Steady)
	if all.Errors() < 2 || float64(all.Errors()) < most*float64(all.Count()) {
		return "", nil, nil
	}
	answers := workload.AnswersOf(merged, workload.Steady)
	return fmt.Sprintf(
		"%d of %d operations failed there (%.3g %%): %s",
		all.Errors(),
		all.Count(),
		100*float64(all.Errors())/float64(all.Count()),
		workload.Failures(all, answers),
	), partsOf(all, answers), nil
}

// stopped returns the point of a run that has ended at which to take evidence, and the instants
// around it.
func stopped(r *Run, events []record.Event) (o limiter.Observed, span [2]time.Duration, ok bool) {
	m := r.Manifest
	findings := slices.DeleteFunc(slices.Clone(r.Validity.Findings), func(f record.Finding) bool {
		return !slices.ContainsFunc(r.Validity.Gates, func(g record.GateOutcome) bool {
			return g.Name == f.Gate
		})
	})
	blame(m, findings, &o)
	bounded, isBounded := m.Phase("measure")
	search, isSearch := m.Phase("search")
	void := voidBy(r)
	switch c := m.Capacity; {
	case isSearch && c != nil:
		span = [2]time.Duration{search.From, search.To}
		o.Rule, o.Capacity = c.Rule, c.Users
		switch c.Kind {
		case record.Estimate:
			o.Reached = true
		case record.Unstable: // a rule stopped it, at more than one level
			o.Capacity = c.Reached
			if c.Held > 0 {
				o.Capacity = c.Held
			}
			gate, _ := c.Gate()
			o.Reached = c.Rule != "" && gate == ""
			o.Why = "the search is unstable: " + c.Why
		default:
			o.Why = c.Why
		}
		if gate, reading := c.Gate(); gate != "" { // its finding is amber: it voids no bound
			ended := []record.Finding{{
				Gate:  gate,
				Level: record.Red,
				Text:  cmp.Or(reading, c.Stopped, c.Why),
			}}
			blame(m, ended, &o)
			findings = append(findings, ended...)
		}
	case isBounded:
		span = [2]time.Duration{0, bounded.To}
		o.Capacity = float64(bounded.Users)
		for _, e := range events {
			// A warning breaks nothing.
			if e.Kind == "slo" && e.Phase == "measured" && e.Violated && e.Level != record.Amber &&
				o.Rule == "" {
				o.Rule, o.Reached = e.Rule, true
			}
		}
		o.Why = "no rule broke in the measured phase"
	default:
		return o, span, false
	}
	if void != "" && len(o.Generator) == 0 {
		o.Reached, o.Void = false, void
	}
	if own, read := reading(r.Validity.Gates, "cpu"); read && len(o.Generator) > 0 {
		busiest, _ := reading(r.Validity.Gates, "core")
		o.Crowd = crowdOf(own, busiest, findings)
	}
	return o, span, true
}

// reading returns the reading of a gate, if it was read.
func reading(gates []record.GateOutcome, name string) (v float64, read bool) {
	for _, g := range gates {
		if g.Name == name && g.Value != nil {
			return *g.Value, true
		}
	}
	return 0, false
}
