package evidence

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/stats"
)

// blame notes the red findings that the target alone does not cause.
func blame(m record.Manifest, findings []record.Finding, o *limiter.Observed) {
	for _, f := range findings {
		if f.Level != record.Red || record.GateCause(f.Gate) == record.ByTarget ||
			m.SharedHost && record.GateCause(f.Gate) == record.ByEither {
			continue
		}
		o.Foreign = record.Foreign(f.Gate) && (o.Foreign || len(o.Generator) == 0)
		o.Generator = append(o.Generator, f.Gate+": "+f.Text)
	}
}

// lowUse is the part of the generator's cores from which on it may have turned a crowded gate red
// itself.
const lowUse = 0.5

// crowdOf returns the start of a search for the users of the generator's cores, of which the
// generator itself used percent, and everybody busiest percent of the busiest one. It is nil where
// the generator's own use is not low, or a finding has another reason than busy cores.
func crowdOf(percent, busiest float64, findings []record.Finding) *limiter.Crowd {
	for _, f := range findings {
		gate, _ := plan.Gates(nil).Of(f.Gate)
		if f.Level == record.Red && record.GateCause(f.Gate) == record.ByGenerator &&
			!gate.Crowded {
			return nil
		}
	}
	if percent >= 100*lowUse {
		return nil
	}
	return &limiter.Crowd{Own: percent / 100, Busiest: busiest / 100}
}

// crowdWindow is the window of the use of cores: two readings that came late.
const crowdWindow = 5 * time.Second

// crowd reads the users of this host's cores, as means over a stretch of the run, where the
// generator is not to blame. Runs of older versions have no series of them.
func (r *Run) crowd(ctx context.Context, span [2]time.Duration, o *limiter.Observed) error {
	if o.Crowd == nil && !o.Foreign {
		return nil
	}
	if o.Crowd == nil {
		o.Crowd = new(limiter.Crowd)
	}
	db, err := r.Series()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer db.Close()
	x := newTraces(db, r, r.Asked(), span)
	// the beginning counts: a gate may end a search within seconds
	x.from = r.Manifest.Epoch.Add(span[0])
	x.n = int(x.to.Sub(x.from)/x.step) + 1
	x.window = crowdWindow
	others, err := x.lines(ctx, "plimsoll_neighbor_cpu_ratio")
	if err != nil {
		return err
	}
	seconds := 1 // of which there are samples
	for _, l := range others {
		seconds = max(seconds, x.n-slices.IndexFunc(x.grid(l), isNumber))
	}
	for _, l := range others {
		// One that was not among the busiest for a while has no samples of it.
		o.Crowd.Others = append(o.Crowd.Others, limiter.Neighbor{
			Name:  l.Labels["program"],
			Cores: total(x.grid(l)) / float64(seconds),
		})
	}
	m := r.Manifest
	apart := len(m.TargetCPUs) > 0 && !slices.ContainsFunc(m.TargetCPUs, func(c int) bool {
		return slices.Contains(m.Generator, c)
	})
	if !m.SharedHost || apart {
		return nil
	}
	target, err := x.lines(
		ctx,
		`sum(rate(plimsoll_process_cpu_seconds_total{role!~"|generator"}[$w]))`,
	)
	for _, l := range target {
		o.Crowd.Target = stats.Mean(slices.DeleteFunc(x.grid(l), func(v float64) bool {
			return !isNumber(v)
		}))
	}
	return err
}

func isNumber(v float64) bool { return !math.IsNaN(v) }

// total is the sum of the numbers among some samples.
func total(v []float64) (sum float64) {
	for _, x := range v {
		if isNumber(x) {
			sum += x
		}
	}
	return sum
}

// nearlyAll is the part of failed operations from which on these are the result of a run.
const nearlyAll = 0.9

// allFailed describes the operations of a run of which nearly all failed: operations of the steady
// state, or, where there was none, logins that never succeeded.
func (r *Run) allFailed(events []record.Event, o *limiter.Observed) error {
	merged, err := r.Merged(0, math.MaxInt64)
	if err != nil || len(merged) == 0 {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a run without windows
		}
		return err
	}
	of, sel := "operations", workload.Steady
	all := workload.Together(allOps, merged, sel)
	if all.Count() == 0 {
		all = mostFailed(merged)
		of, sel = all.Name, func(op string) bool { return op == all.Name }
	}
	if all.Errors() < 2 || float64(all.Errors()) < nearlyAll*float64(all.Count()) {
		return nil
	}
	answers := workload.AnswersOf(merged, sel)
	o.AllFailed = fmt.Sprintf(
		"%d of %d %s failed: %s",
		all.Errors(),
		all.Count(),
		of,
		workload.Failures(all, answers),
	)
	o.Failures = partsOf(all, answers)
	if i := slices.IndexFunc(events, func(e record.Event) bool {
		return e.Kind == "error"
	}); i >= 0 {
		_, o.Cause, _ = strings.Cut(events[i].Text, ": ")
	}
	return nil
}

// mostFailed is the operation of logins that failed most often and never succeeded; one without a
// count where there is none.
func mostFailed(merged map[string]*measure.Window) *measure.Window {
	most := measure.NewWindow("op")
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if w := merged[name]; workload.Operation(name) && !workload.Beyond(name) &&
			w.Errors() == w.Count() &&
			w.Count() > most.Count() {
			most = w
		}
	}
	return most
}

// partsOf returns the parts of the failed operations that are the doing of a limiter, by its name.
func partsOf(all *measure.Window, answers map[string]uint64) map[string]float64 {
	cut, failed := uint64(0), float64(all.Errors())
	for _, c := range []measure.Class{measure.Dial, measure.TLS, measure.Write, measure.Header, measure.Body, measure.WS} {
		cut += all.Classes[c]
	}
	return map[string]float64{
		limiter.LimitRefusals: float64(answers["429"]+answers["503"]) / failed,
		limiter.LimitCut:      float64(cut) / failed,
	}
}
