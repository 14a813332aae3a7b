package bisect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"plimsoll/evidence"
	"plimsoll/judge/comparison"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/compare"
	"plimsoll/run/session"
)

// fresh is the name of the arm that is compared with the base.
const fresh = "new"

// A Comparer measures by comparisons of one session.
type Comparer struct {
	Session  *session.Session
	Options  compare.Options
	Plan     *plan.Plan // whose base gives the arms all but their builds
	Endpoint string
}

// Measure is [Bisection.Measure].
func (c *Comparer) Measure(
	ctx context.Context, id string, against, build Build, blocks int,
) ([]float64, error) {
	c.Session.Plan = Between(c.Plan, c.Endpoint, against, build, blocks)
	o := c.Options
	o.ID, o.Began = id, time.Now()
	made, err := compare.Run(ctx, c.Session, o)
	if err != nil {
		return nil, err
	}
	c.Plan = c.Plan.WithUsersOf(c.Session.Plan) // that a pilot found
	return c.ratios(made)
}

// Recall is [Bisection.Recall].
func (c *Comparer) Recall(id string) ([]float64, error) {
	made, err := c.Session.Store.Comparison(id)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.ratios(made)
}

// Continue takes the number of users of earlier steps.
func (c *Comparer) Continue(steps []StepRecord) error {
	for _, step := range steps {
		made, err := c.Session.Store.Comparison(step.Comparison)
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
			continue // it was cut before its first run
		}
		if err != nil {
			return err
		}
		p, err := evidence.PlanOf(made)
		if err != nil {
			return err
		}
		c.Plan = c.Plan.WithUsersOf(p)
	}
	return nil
}

// ratios returns the logarithms of the ratios of the whole blocks of a comparison.
func (c *Comparer) ratios(made *record.Comparison) ([]float64, error) {
	whole := false
	for _, judged := range made.WholeBlocks() {
		whole = whole || judged
	}
	if !whole {
		return nil, nil
	}
	p, err := evidence.PlanOf(made)
	if err != nil {
		return nil, err
	}
	readers := c.Options.Readers(context.Background())
	arms, _, err := comparison.Judge(made, p, c.Session.Store.Run, readers...)
	if err != nil {
		return nil, err
	}
	if len(arms) != 1 {
		return nil, fmt.Errorf("comparison %s is none of two arms", made.ID)
	}
	results := arms[0].Verdict.Results
	i := slices.IndexFunc(results, func(r verdict.Result) bool { return r.Name == c.Endpoint })
	if i < 0 {
		return nil, plan.Usagef("comparison %s has no %s: %s; choose another -endpoint",
			made.ID, c.Endpoint, arms[0].Skipped[c.Endpoint])
	}
	return logRatios(results[i])
}

// logRatios returns the logarithms of the ratios of a result's pairs.
func logRatios(r verdict.Result) (out []float64, err error) {
	for _, p := range r.Pairs {
		ratio := math.Log(p.New / p.Base)
		if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
			return nil, fmt.Errorf("block %d: %s of %v and %v has no ratio", p.Block, r.Name, p.Base, p.New)
		}
		out = append(out, ratio)
	}
	return out, nil
}

// Between returns the plan of a comparison of two builds: both arms are the plan's base with a
// build each, and the endpoint is judged in any case.
func Between(p *plan.Plan, endpoint string, against, build Build, blocks int) *plan.Plan {
	q, c := *p, *p.Compare
	base, _ := c.Arm(plan.Base)
	c.Arms = nil
	for _, arm := range []struct {
		name string
		Build
	}{{plan.Base, against}, {fresh, build}} {
		a := base
		a.Name, a.Binary, a.Version = arm.name, arm.Binary, arm.Short()
		c.Arms = append(c.Arms, a)
	}
	c.Blocks, c.Budget, c.Looks = blocks, 0, nil
	if !slices.Contains(c.Endpoints, endpoint) {
		c.Endpoints = append(slices.Clip(c.Endpoints), endpoint)
	}
	q.Compare = &c
	return &q
}

// EndpointOf returns the endpoint of a plan that a bisection follows: the given one, or the cost of
// the application, or else the first that has ratios.
func EndpointOf(p *plan.Plan, given string) (string, error) {
	var names []string
	for _, e := range p.Endpoints() {
		if !e.Absolute {
			names = append(names, e.Name)
		}
	}
	const usual = "cost(app)"
	switch {
	case given != "" && !slices.Contains(names, given):
		return "", plan.Usagef("-endpoint %s: the plan judges %q", given, names)
	case given != "":
		return given, nil
	case slices.Contains(names, usual):
		return usual, nil
	case len(names) == 0:
		return "", plan.Usagef("the plan judges no endpoint that has a ratio")
	}
	return names[0], nil
}
