package evidence

import (
	"fmt"
	"path/filepath"
	"sync"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// A Run is a stored run with the plan that it was made by. Its methods may be called by several
// goroutines at once.
type Run struct {
	*record.Run
	catalog *Catalog
	plan    func() (*plan.Plan, error)
}

// Of returns a stored run with the metrics of the catalog's servers. The plan is read when it is
// first needed.
func (c *Catalog) Of(r *record.Run) *Run {
	return &Run{
		Run:     r,
		catalog: c,
		plan:    sync.OnceValues(func() (*plan.Plan, error) { return Plan(r.Manifest.Plan) }),
	}
}

// Plan returns the plan of the run, which the caller leaves as it is. It is an error when this
// version cannot read it.
func (r *Run) Plan() (*plan.Plan, error) { return r.plan() }

// Asked is [Run.Plan], or a plan without tests and rules, at the pace 1, where this version cannot
// read the run's.
func (r *Run) Asked() *plan.Plan {
	p, err := r.plan()
	if err != nil {
		return &plan.Plan{Workload: plan.Workload{Pace: 1}}
	}
	return p
}

// Series opens the series of a run that is sealed, or about to be; the caller closes them.
func (r *Run) Series() (*series.DB, error) { return openSeries(r.Dir) }

func openSeries(dir string) (*series.DB, error) {
	return series.Open(filepath.Join(dir, record.SeriesDir))
}

// Plan reads the plan of a run, a sizing or a comparison as it was stored. All stored plans are
// read here.
func Plan(text string) (*plan.Plan, error) { return plan.ParseStored([]byte(text)) }

// PlanOf returns the plan of a stored comparison, by whose margins and looks it is judged. The
// error wraps [comparison.ErrAltered] when the comparison and its plan do not belong together
// ([comparison.CheckPlan]).
func PlanOf(c *record.Comparison) (*plan.Plan, error) {
	p, err := Plan(c.Plan)
	if err != nil {
		return nil, fmt.Errorf("the stored plan of %s: %w", c.ID, err)
	}
	if err := comparison.CheckPlan(c, p); err != nil {
		return nil, err
	}
	return p, nil
}
