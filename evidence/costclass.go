package evidence

import (
	"fmt"
	"slices"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/trial"
	"plimsoll/stats"
)

// leastSeconds is the shortest measured phase, in seconds, of which costs by class are estimated.
const leastSeconds = 20

// restOfOps names the operations outside the other classes.
const restOfOps = "other operations"

// classes returns the operations whose costs are estimated separately, which the primary latencies
// of the run's plan name; none for a plan that cannot be read.
func (x phaseReader) classes() (out []string) {
	p, err := plan.ParseStored([]byte(x.run.Manifest.Plan))
	if err != nil {
		return nil
	}
	for _, e := range p.Endpoints() {
		if comparison.Inside(e) && e.Stat != "cost" && workload.Steady(e.Of) && e.Of != "op" &&
			!slices.Contains(out, e.Of) {
			out = append(out, e.Of)
		}
	}
	return out
}

// classCosts estimates the cost of an operation of each class to a role, between two samples of the
// role's counter. The CPU time of each second is the sum over its operations, Σ n·cost, fitted by
// least squares with no cost below 0. A class that cannot be separated from another has the reason
// instead.
func (x phaseReader) classCosts(
	course func() (comparison.Counter, error),
	role string,
	from, to time.Time,
) ([]comparison.SecondaryValue, error) {
	names := x.classes()
	if len(names) == 0 {
		return nil, nil
	}
	names = append(names, restOfOps)
	out := make([]comparison.SecondaryValue, len(names))
	for j, name := range names {
		out[j] = alone(fmt.Sprintf("cost(%s) of %s", role, name), "ms", cpuFloor, 0)
	}
	without := func(why string) []comparison.SecondaryValue {
		for j := range out {
			out[j].Without = why
		}
		return out
	}
	n := int(to.Sub(from) / time.Second)
	if n < leastSeconds {
		return without(fmt.Sprintf(
			"the %d s between the samples of its CPU time are too few; %d are needed",
			n,
			leastSeconds,
		)), nil
	}
	counter, err := course()
	if err != nil {
		return nil, err
	}
	sums := make([]float64, n)
	for i := range sums {
		at := from.Add(time.Duration(i) * time.Second)
		sums[i] = 1000 * (counter.At(at.Add(time.Second)) - counter.At(at))
	}
	rows, err := x.counts(names, from.Sub(x.run.Manifest.Epoch), n)
	if err != nil {
		return nil, err
	}
	each, condition, ok := stats.NonNegative(rows, sums)
	switch {
	case !ok && condition > stats.MostCondition:
		return without(fmt.Sprintf(
			"the numbers of its operations rise and fall together: condition %.3g, at most %d",
			condition,
			stats.MostCondition,
		)), nil
	case !ok:
		return without("a class has no operations"), nil
	}
	for j, v := range each {
		if out[j].Value = v; v == 0 {
			out[j].Without = "the other operations explain all of the CPU time"
		}
	}
	return out, nil
}

// counts returns how many operations of each class succeeded in each of n seconds from a time of
// the run on. The last class has all others.
func (x phaseReader) counts(names []string, from time.Duration, n int) ([][]float64, error) {
	done, err := x.partition(from, time.Second, n)
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, len(names))
	}
	for name, parts := range done {
		class := len(names) - 1
		for j, of := range names[:class] {
			if trial.Selector(of)(name) {
				class = j
				break
			}
		}
		for i, k := range parts {
			rows[i][class] += k
		}
	}
	return rows, err
}
