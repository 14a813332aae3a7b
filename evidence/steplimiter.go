package evidence

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/judge/sizing"
	"plimsoll/plan"
)

// limiterOfSteps names the limiter of a ladder of steps, which are the levels of load, at the first
// step below Good at which anything qualifies; steps beyond it are not evidence of the limiter
// there. It is nil while no step was less than Good.
func limiterOfSteps(
	ctx context.Context,
	p *plan.Plan,
	runs []*Run,
	steps []sizing.Step,
) (*limiter.Limiter, error) {
	if !slices.ContainsFunc(steps, tight) {
		return nil, nil
	}
	all := limiter.Observed{
		Reached: true,
		CPU:     map[string][]float64{},
		Busy:    map[string][]float64{},
	}
	var first *limiter.Limiter
	for i, r := range runs {
		ph, ok := r.Manifest.Phase("measure")
		if !ok || steps[i].Grade == "" {
			continue
		}
		var o limiter.Observed
		span := [2]time.Duration{max(0, ph.From-rateWindow(p)), ph.To}
		if err := r.observe(ctx, p, span, &o); err != nil {
			return nil, fmt.Errorf("run %s: %w", r.Manifest.ID, err)
		}
		appendObserved(&all, o)
		if !tight(steps[i]) {
			continue
		}
		all.Capacity = float64(steps[i].Users)
		l := limiter.Diagnose(r.catalog.Indicators(), all)
		if l.Kind != limiter.LimitNone && l.Kind != limiter.LimitUnknown {
			return &l, nil
		}
		if first == nil {
			first = &l
		}
	}
	return first, nil
}

// tight reports whether a step was worse than Good.
func tight(s sizing.Step) bool { return s.Grade != "" && !s.Grade.AtLeast(sizing.Good) }

// appendObserved adds the samples of a step after the samples of earlier steps. A trace that only
// some steps have is NaN in the others.
func appendObserved(all *limiter.Observed, o limiter.Observed) {
	before, n := len(all.Users), len(o.Users)
	all.Users = append(all.Users, o.Users...)
	for _, x := range [][2]map[string][]float64{{all.CPU, o.CPU}, {all.Busy, o.Busy}} {
		for role, v := range x[1] {
			x[0][role] = append(padded(x[0][role], before), v...)
		}
		for role, v := range x[0] {
			x[0][role] = padded(v, before+n)
		}
	}
	all.Shared = o.Shared
	for _, t := range o.Traces {
		i := slices.IndexFunc(all.Traces, func(have limiter.Trace) bool {
			return have.Indicator == t.Indicator && have.Role == t.Role
		})
		if i < 0 {
			all.Traces = append(all.Traces, limiter.Trace{Indicator: t.Indicator, Role: t.Role})
			i = len(all.Traces) - 1
		}
		have := &all.Traces[i]
		have.Values = append(padded(have.Values, before), t.Values...)
		if t.Dose != nil {
			have.Dose = append(padded(have.Dose, before), t.Dose...)
		}
	}
	for i := range all.Traces {
		all.Traces[i].Values = padded(all.Traces[i].Values, before+n)
		if all.Traces[i].Dose != nil {
			all.Traces[i].Dose = padded(all.Traces[i].Dose, before+n)
		}
	}
	// seen, or looked for in vain
	all.Roles = slices.Concat(all.Roles, o.Roles, slices.Collect(maps.Keys(all.CPU)))
	slices.Sort(all.Roles)
	all.Roles = slices.Compact(all.Roles)
}

// padded fills v up to n samples with NaN.
func padded(v []float64, n int) []float64 {
	for len(v) < n {
		v = append(v, math.NaN())
	}
	return v
}
