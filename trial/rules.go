package trial

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/control"
	"plimsoll/measure"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/workload"
)

// ruleState remembers a rule's recent values, for rules that must be violated without a break for longer than a
// window.
type ruleState struct {
	at     []time.Duration
	values []float64
}

// roles returns the roles whose CPU rules ask for.
func (r *run) roles() []string {
	var roles []string
	for _, rule := range r.Rules {
		if rule.Stat == "cpu" && !slices.Contains(roles, rule.Arg) {
			roles = append(roles, rule.Arg)
		}
	}
	return roles
}

// readings evaluates all rules over a stretch.
func (r *run) readings(ctx context.Context, st stretch) []control.Reading {
	out := make([]control.Reading, 0, len(r.Rules))
	cache := map[string]*measure.Window{}
	window := func(op string) *measure.Window {
		if cache[op] == nil {
			cache[op] = st.merged(Selector(op))
		}
		return cache[op]
	}
	for _, rule := range r.Rules {
		rd := control.Reading{Rule: rule.Source, Limit: rule.Threshold, Less: rule.Less}
		switch rule.Stat {
		case "cpu":
			rd.Value, rd.OK = st.cpu(rule.Arg)
		case "promql":
			v, ok, err := r.Signals.Query(ctx, rule.Arg)
			if err != nil {
				r.note(rule.Source, err)
			}
			rd.Value, rd.OK = v, ok && err == nil
		case "rate":
			if rd.Value, rd.Count, rd.OK = Value(rule, window); slices.Contains(plan.MessageFaults(), rule.Arg) {
				rd.Value, rd.Count, rd.OK = st.faults(rule.Arg)
			}
			rd.MinCount, rd.Rate = uint64(rule.Min), true
		default:
			rd.Value, rd.Count, rd.OK = Value(rule, window)
		}
		if rule.For > r.Window && rd.OK {
			rd.Value = r.hold(rule, rd.Value)
		}
		out = append(out, rd)
	}
	return out
}

// hold returns the mildest value of the last rule.For: a rule that must be violated without a break is violated only
// if even that one is.
func (r *run) hold(rule plan.SLO, v float64) float64 {
	s := r.rules[rule.Source]
	if s == nil {
		s = new(ruleState)
		r.rules[rule.Source] = s
	}
	s.at, s.values = append(s.at, r.now()), append(s.values, v)
	for len(s.at) > 1 && s.at[0] <= r.now()-rule.For {
		s.at, s.values = s.at[1:], s.values[1:]
	}
	if r.now()-s.at[0] < rule.For-2*r.tick { // not long enough yet: held back at what does not violate
		if rule.Less {
			return min(v, rule.Threshold*(1-1e-9))
		}
		return max(v, rule.Threshold*(1+1e-9))
	}
	mild := v
	for _, x := range s.values {
		if rule.Less {
			mild = min(mild, x)
		} else {
			mild = max(mild, x)
		}
	}
	return mild
}

// Selector returns which series an operation's name stands for: "op" is every operation of the steady state.
func Selector(op string) func(string) bool {
	if op == "op" {
		return workload.Steady
	}
	return func(series string) bool { return series == op }
}

// Value returns a latency or rate rule's value over windows, in seconds or as a fraction, from how many operations,
// and whether there was any. window returns the merged window of an operation's name, "op" for all. The latency of an
// operation that ended in an error other than a timeout is not known and not counted.
func Value(rule plan.SLO, window func(op string) *measure.Window) (v float64, n uint64, ok bool) {
	if rule.Stat == "rate" {
		w := window("op")
		n = w.Count()
		if n == 0 {
			return 0, 0, false
		}
		bad := w.Errors()
		if c, known := measure.ParseClass(rule.Arg); known {
			bad = w.Classes[c]
		}
		return float64(bad) / float64(n), n, true
	}
	w := window(rule.Arg)
	h := w.Response
	if rule.Service {
		h = w.Service
	}
	if h.Count() == 0 {
		return 0, 0, false
	}
	switch rule.Stat {
	case "mean":
		return h.Mean().Seconds(), h.Count(), true
	case "max":
		return h.Max().Seconds(), h.Count(), true
	}
	p, err := strconv.ParseFloat(strings.TrimPrefix(rule.Stat, "p"), 64)
	if err != nil {
		return 0, 0, false
	}
	return h.Quantile(p / 100).Seconds(), h.Count(), true
}

// violated reports whether a reading with data from enough operations does not hold.
func violated(rd control.Reading) bool {
	over := rd.Value >= rd.Limit
	if !rd.Less {
		over = rd.Value <= rd.Limit
	}
	return rd.OK && over && rd.Count >= rd.MinCount
}

// writeReadings puts one evaluation of all rules and the search's decision on disk.
func (r *run) writeReadings(rds []control.Reading, act control.Action) {
	for _, rd := range rds {
		r.event(record.Event{At: r.now(), Kind: "slo", Rule: rd.Rule, Value: rd.Value, Limit: rd.Limit, Count: rd.Count,
			Violated: violated(rd), NoData: !rd.OK, Phase: r.phase})
	}
	if act.Phase != "" {
		r.event(record.Event{At: r.now(), Kind: "decision", Phase: act.Phase, Users: act.Users, Text: act.Why})
	}
}

// judgeMeasure evaluates the rules once over the whole measured phase.
func (r *run) judgeMeasure() {
	if r.measured.span() <= 0 {
		return
	}
	rds := r.readings(context.Background(), r.measured)
	r.exportMeasured(rds)
	for _, rd := range rds {
		e := record.Event{At: r.now(), Kind: "slo", Rule: rd.Rule, Value: rd.Value, Limit: rd.Limit, Count: rd.Count,
			NoData: !rd.OK, Phase: "measured"}
		switch {
		case !rd.OK:
			r.out.Validity.Add(record.Finding{Gate: "rule without data", Level: record.Red, Text: fmt.Sprintf("%s had no value in the measured phase", rd.Rule)})
		case violated(rd):
			e.Violated = true
			r.out.Broken = append(r.out.Broken, fmt.Sprintf("%s: %s", rd.Rule, format(rd.Value, rd.Rule)))
		}
		r.event(e)
	}
	r.gateMeasure(r.measured)
}

func format(v float64, rule string) string {
	switch {
	case strings.HasPrefix(rule, "rate") || strings.HasPrefix(rule, "cpu"):
		return fmt.Sprintf("%.4g %%", v*100)
	case strings.HasPrefix(rule, "promql"):
		return fmt.Sprintf("%.4g", v)
	}
	return time.Duration(v * float64(time.Second)).Round(10 * time.Microsecond).String()
}
