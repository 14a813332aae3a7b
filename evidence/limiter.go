package evidence

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/record"
)

// Limiter names the resource that stopped the run, from its series and its events; nil for one that is under way or
// carried no test.
func (r *Run) Limiter(ctx context.Context, events []record.Event) (*limiter.Limiter, error) {
	o, span, ok := stopped(r, events)
	if !ok {
		return nil, nil
	}
	p := r.Asked()
	if len(o.Generator) == 0 && voidBy(r) == "" {
		var err error
		if o.Failed, o.Failures, err = failedIn(r, p, events, o.Capacity); err != nil {
			return nil, err
		}
	}
	if len(o.Generator) > 0 || !o.Reached && o.Failed == "" {
		l := limiter.Diagnose(nil, o)
		return &l, nil
	}
	if err := r.observe(ctx, p, span, &o); err != nil {
		return nil, err
	}
	l := limiter.Diagnose(r.catalog.Indicators(), o)
	return &l, nil
}

// LimiterSoFar names what would limit a run that is under way if it stopped now: a rule that is broken at present must have
// a resource at its limit. The series are read from their beginning.
func (r *Run) LimiterSoFar(ctx context.Context, events []record.Event) (*limiter.Limiter, error) {
	var o limiter.Observed
	var last time.Duration
	rules := map[string]record.Event{}
	for _, e := range events {
		last = max(last, e.At)
		switch e.Kind {
		case "users":
			o.Capacity = float64(e.Users)
		case "slo":
			rules[e.Rule] = e
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		if e := rules[rule]; e.Violated && !e.NoData && !e.Undecided && e.Level != record.Amber {
			o.Rule, o.Reached = rule, true
			break
		}
	}
	if !o.Reached {
		o.Why = "every rule holds at present"
		l := limiter.Diagnose(nil, o)
		return &l, nil
	}
	if err := r.observe(ctx, r.Asked(), [2]time.Duration{0, last}, &o); err != nil {
		return nil, err
	}
	l := limiter.Diagnose(r.catalog.Indicators(), o)
	return &l, nil
}

// observe reads the evidence between two instants of the run: users, the rule that broke, who used CPU, all
// indicators.
func (r *Run) observe(ctx context.Context, p *plan.Plan, span [2]time.Duration, o *limiter.Observed) error {
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

// failedIn describes how many operations of the users at capacity failed, how, and the share of each cause, when
// these are more than the run's rule of failed operations allows, or than its default does: at nine tenths of the
// capacity and more in a search, in the measured phase of a bounded test. Two failures at least: one never decides.
func failedIn(r *Run, p *plan.Plan, events []record.Event, capacity float64) (text string, by map[string]float64, err error) {
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
		// Users are noted once a second; the search's capacity may lie above all of them for a moment.
		for _, e := range events {
			if e.Kind == "users" && e.At > ph.From && e.At <= ph.To && float64(e.Users) >= 0.9*capacity {
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
	all := measure.NewWindow("op")
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if workload.Steady(name) {
			all.Merge(merged[name])
		}
	}
	if all.Errors() < 2 || float64(all.Errors()) < most*float64(all.Count()) {
		return "", nil, nil
	}
	answers, failed := workload.AnswersOf(merged, workload.Steady), float64(all.Errors())
	cut := uint64(0)
	for _, c := range []measure.Class{measure.Dial, measure.TLS, measure.Write, measure.Header, measure.Body, measure.WS} {
		cut += all.Classes[c]
	}
	by = map[string]float64{limiter.LimitRefusals: float64(answers["429"]+answers["503"]) / failed, limiter.LimitCut: float64(cut) / failed}
	return fmt.Sprintf("%d of %d operations failed there (%.3g %%): %s", all.Errors(), all.Count(), 100*failed/float64(all.Count()),
		workload.Failures(all, answers)), by, nil
}

// stopped returns the point of a run at which to take evidence, and the instants around it.
func stopped(r *Run, events []record.Event) (o limiter.Observed, span [2]time.Duration, ok bool) {
	m := r.Manifest
	for _, f := range r.Validity.Findings {
		if m.SharedHost && record.GateCause(f.Gate) == record.ByEither {
			continue
		}
		if f.Level == record.Red && record.GateCause(f.Gate) != record.ByTarget && slices.ContainsFunc(r.Validity.Gates, func(g record.GateOutcome) bool { return g.Name == f.Gate }) {
			o.Foreign = record.Foreign(f.Gate) && (o.Foreign || len(o.Generator) == 0)
			o.Generator = append(o.Generator, f.Gate+": "+f.Text)
		}
	}
	bounded, isBounded := m.Phase("measure")
	search, isSearch := m.Phase("search")
	void := voidBy(r)
	switch c := m.Capacity; {
	case m.State == record.Running || m.State == record.Interrupted:
		return o, span, false
	case isSearch && c != nil:
		span = [2]time.Duration{search.From, search.To}
		o.Rule, o.Capacity = c.Rule, c.Users
		switch c.Kind {
		case record.Estimate:
			o.Reached = true
		case record.Unstable: // a rule stopped it, at more than one level
			if o.Reached, o.Capacity = c.Rule != "" && !strings.HasPrefix(c.Rule, record.ByGate), c.Reached; c.Held > 0 {
				o.Capacity = c.Held
			}
			o.Why = "the search is unstable: " + c.Why
		default:
			o.Why = c.Why
			if gate, ok := strings.CutPrefix(c.Rule, record.ByGate); ok && (!m.SharedHost || record.GateCause(gate) != record.ByEither) {
				o.Foreign = record.Foreign(gate) && (o.Foreign || len(o.Generator) == 0)
				o.Generator = append(o.Generator, c.Why)
			}
		}
	case isBounded:
		span = [2]time.Duration{0, bounded.To}
		o.Capacity = float64(bounded.Users)
		for _, e := range events {
			// A warning breaks nothing.
			if e.Kind == "slo" && e.Phase == "measured" && e.Violated && e.Level != record.Amber && o.Rule == "" {
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
	return o, span, true
}
