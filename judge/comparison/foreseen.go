package comparison

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// Foreseen returns the change that the blocks up to a look can find of each percentile of which the
// base has operations, and whether it is judged. A percentile on which the plan does not insist is
// left out when the least change that the blocks find in four of five cases is more than twice its
// margin; it is coarse when that is more than the margin. The level is the level that Holm's method gives the first endpoint. The endpoint that can
// find least is left out first, so that the others have a higher level. Blocks that carry no
// verdict leave out none, and none is left out when the errors alone would remain.
func Foreseen(
	endpoints []plan.Endpoint,
	insists func(string) bool,
	base Numbers,
	at record.Look,
) []record.Expected {
	if at.Blocks < stats.MinPairs {
		return nil
	}
	var percentiles []plan.Endpoint
	others, besides := 0, 0 // with a number, and of these not the errors
	for _, e := range endpoints {
		switch _, counted := base.SD[e.Name]; {
		case counted:
			percentiles = append(percentiles, e)
		case !math.IsNaN(base.Values[e.Name]):
			others++
			if e.Stat != "errors" {
				besides++
			}
		}
	}
	worst := slices.SortedStableFunc(slices.Values(percentiles), func(a, b plan.Endpoint) int {
		return -cmp.Compare(base.SD[a.Name]/a.Limit(), base.SD[b.Name]/b.Limit())
	})
	left, out := len(percentiles), map[string]bool{}
	foreseen := func(e plan.Endpoint) record.Expected {
		return expected(e, base, at.Blocks, at.Alpha/float64(others+left))
	}
	for _, e := range worst {
		x := foreseen(e)
		if (x.MDE == 0 || x.MDE > 2*e.Margin) && !insists(e.Name) {
			out[e.Name] = true
			left--
		}
	}
	alone := left+besides == 0 // the errors would be
	if alone {
		clear(out)
		left = len(percentiles)
	}
	all := make([]record.Expected, len(percentiles))
	for i, e := range percentiles {
		all[i] = foreseen(e)
		all[i].NotJudged = out[e.Name]
		all[i].Coarse = !alone && !out[e.Name] && all[i].MDE > e.Margin && !insists(e.Name)
	}
	return all
}

// expected returns the change of a percentile that a number of blocks can find at a level: by the
// counts of a run of the base, which the other arm is taken to share, and by the spread between
// deployments that is assumed before blocks have shown it. MDE is 0 where the run has too few
// operations for the percentile.
func expected(e plan.Endpoint, base Numbers, blocks int, alpha float64) record.Expected {
	sd := math.Hypot(base.SD[e.Name], stats.PriorBetween/math.Sqrt2)
	x := expectedOf("", e, sd, record.Look{Blocks: blocks, Alpha: alpha})
	x.Load = time.Duration(x.Needed) * base.Measured
	p, _ := e.Quantile()
	if least, n := stats.LeastOps(p), base.Had[e.Name]; n < least {
		x.MDE = 0
		x.Load = max(
			x.Load,
			time.Duration(
				float64(blocks)*base.Measured.Seconds()*float64(least)/float64(n),
			)*time.Second,
		)
	}
	return x
}

// takes are what it takes to decide the endpoints of an engine that the plan cannot: those that are
// left out, and those that are coarse.
func takes(c *record.Comparison, engine string) (left, coarse map[string]string) {
	left, coarse = map[string]string{}, map[string]string{}
	for _, x := range c.Foreseen {
		switch {
		case x.Engine != engine:
		case x.NotJudged:
			left[x.Metric] = Takes(x)
		case x.Coarse:
			coarse[x.Metric] = Takes(x)
		}
	}
	return left, coarse
}

// Takes writes the load and blocks that an endpoint would take: "21 min of load for 15 %; 6 blocks
// can find 45 %".
func Takes(x record.Expected) string {
	margin := strconv.FormatFloat(100*x.Margin, 'g', 4, 64)
	text := fmt.Sprintf("no sensible time of load for %s %%", margin)
	if x.Load > 0 {
		text = fmt.Sprintf("%.0f min of load for %s %%", math.Ceil(x.Load.Minutes()), margin)
	}
	if x.MDE == 0 {
		return text + "; too few operations"
	}
	return fmt.Sprintf("%s; %d blocks can find %.0f %%", text, x.Blocks, math.Ceil(100*x.MDE))
}
