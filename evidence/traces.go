package evidence

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/plan"
	"plimsoll/watch/series"
)

// mostLimiterPoints bounds the samples of an indicator; a longer run is read in coarser steps.
const mostLimiterPoints = 1200

// traces reads series of a run on one clock.
type traces struct {
	db       *series.DB
	from, to time.Time
	step     time.Duration
	window   time.Duration
	n        int
}

func newTraces(db *series.DB, r *Run, p *plan.Plan, span [2]time.Duration) *traces {
	x := &traces{db: db, to: r.Manifest.Epoch.Add(span[1]),
		step: stepOf(span[1]-span[0], mostLimiterPoints)}
	x.window = rateWindow(p)
	// The first users come at once, and the queues that they leave are empty after a window at the
	// latest.
	x.from = r.Manifest.Epoch.Add(min(span[0]+x.window, span[1]))
	x.n = int(x.to.Sub(x.from)/x.step) + 1
	return x
}

// rateWindow is the window of rates: as long as the rules', and over at least two scrapes that came
// late.
func rateWindow(p *plan.Plan) time.Duration {
	return max(
		time.Duration(float64(time.Minute)*p.Workload.Pace).Truncate(time.Second),
		5*time.Second,
	)
}

func (x *traces) lines(ctx context.Context, query string) ([]series.RangeSeries, error) {
	q := Expand(query, x.window)
	lines, err := x.db.Range(ctx, q, x.from, x.to, x.step)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	return lines, nil
}

// byRole returns the line of each role on the clock.
func (x *traces) byRole(ctx context.Context, query string) (map[string][]float64, error) {
	out := map[string][]float64{}
	lines, err := x.lines(ctx, query)
	for _, l := range lines {
		out[l.Labels["role"]] = x.grid(l)
	}
	return out, err
}

// Expand puts a window of rates, and PromQL for the requests under way, into the query of an
// indicator.
func Expand(query string, window time.Duration) string {
	return strings.ReplaceAll(
		strings.ReplaceAll(query, "$inflight", inflight),
		"$w",
		window.String(),
	)
}

// inflight is PromQL for the requests under way, by Little's law: the requests that end per second
// times the time that they take.
const inflight = `sum(rate(plimsoll_ops_total{op="op"}[$w])) * avg(avg_over_time(plimsoll_op_seconds{op="op", stat="mean"}[$w]))`

// grid puts a line on the clock; where it has no value there is NaN.
func (x *traces) grid(l series.RangeSeries) []float64 {
	out := slices.Repeat([]float64{math.NaN()}, x.n)
	for i, t := range l.T {
		if k := int(t.Sub(x.from) / x.step); k >= 0 && k < x.n {
			out[k] = l.V[i]
		}
	}
	return out
}

// observe reads users, the rule that broke, and who used CPU.
func (x *traces) observe(ctx context.Context, o *limiter.Observed) error {
	users, err := x.lines(ctx, `avg_over_time(plimsoll_users{state="active"}[$w])`)
	if err != nil {
		return err
	}
	if len(users) != 1 {
		return fmt.Errorf("the run has %d series of its active users, want one", len(users))
	}
	o.Users = x.grid(users[0])
	for i, u := range o.Users {
		if math.IsNaN(u) {
			o.Users[i] = 0
		}
	}
	if o.Rule != "" {
		// As it is written: a rule may have $window in its name, which is not a window of ours.
		broken, err := x.db.Range(
			ctx,
			fmt.Sprintf(`max(plimsoll_slo_violated{rule=%q})`, o.Rule),
			x.from,
			x.to,
			x.step,
		)
		if err != nil {
			return fmt.Errorf("when %s was violated: %w", o.Rule, err)
		}
		if len(broken) == 1 {
			o.Broken = make([]bool, x.n)
			for i, v := range x.grid(broken[0]) {
				o.Broken[i] = v > 0
			}
		}
	}
	if o.Capacity <= 0 {
		o.Capacity = meanBroken(*o)
	}
	o.Shared = "target"
	if o.CPU, err = x.byRole(
		ctx,
		`sum by (role) (rate(plimsoll_process_cpu_seconds_total{role!="generator"}[$w]))`,
	); err != nil {
		return err
	}
	// Interrupts belong to no process.
	if o.Busy, err = x.byRole(
		ctx,
		`sum by (role) (rate(node_cpu_seconds_total{mode=~"user|nice|system", role=~".+", role!~"generator|host"}[$w]))`,
	); err != nil {
		return err
	}
	o.Roles = slices.Sorted(maps.Keys(o.CPU))
	if !slices.Contains(o.Roles, "app") {
		o.Roles = append(o.Roles, "app")
	}
	return nil
}

// meanBroken is the load at which the rule was broken in a search that found no load at which it
// holds.
func meanBroken(o limiter.Observed) float64 {
	n, sum := 0, 0.0
	for i, b := range o.Broken {
		if b {
			n, sum = n+1, sum+o.Users[i]
		}
	}
	return sum / float64(max(n, 1))
}

func (x *traces) indicators(
	ctx context.Context,
	catalog []limiter.Indicator,
	o *limiter.Observed,
) error {
	for i, ind := range catalog {
		lines, err := x.lines(ctx, ind.Query)
		if err != nil {
			return err
		}
		var doses map[string][]float64
		if ind.Dose != "" {
			if doses, err = x.byRole(ctx, ind.Dose); err != nil {
				return err
			}
		}
		for _, l := range lines {
			role := l.Labels["role"]
			o.Traces = append(o.Traces, limiter.Trace{
				Indicator: i,
				Role:      role,
				Values:    x.grid(l),
				Dose:      doses[role],
			})
		}
	}
	return nil
}
