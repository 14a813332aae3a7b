package trial

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// ruleState holds a rule's recent past, for rules that reach further back than a window.
type ruleState struct {
	at     []time.Duration
	values []float64
	// that the values are of, of a promql rule in the measured phase; "" while it holds
	who []string
	// evidence are the operations between the last evaluations, for a rate. Operations before spent
	// have decided already, and since is the moment at which a longer span than the window began to
	// show the rule as violated; -1 when it does not.
	evidence     []evidence
	spent, since time.Duration
	lastData     time.Duration
}

// evidence is a rate's part of the time between two evaluations.
type evidence struct {
	at      time.Duration
	users   float64
	bad, of uint64
}

func (r *run) state(rule plan.SLO) *ruleState {
	s := r.rules[rule.Source]
	if s == nil {
		s = &ruleState{since: -1, spent: -1, lastData: r.now()}
		r.rules[rule.Source] = s
	}
	return s
}

// everyRule returns the rules of both tests, each once.
func (r *run) everyRule() []plan.SLO {
	if r.Bounded == nil || r.Bounded.Rules == nil {
		return r.Rules
	}
	all := slices.Clone(r.Bounded.Rules)
	for _, rule := range r.Rules {
		if !slices.ContainsFunc(all, func(o plan.SLO) bool { return o.Source == rule.Source }) {
			all = append(all, rule)
		}
	}
	return all
}

// roles returns the roles whose CPU the rules need.
func (r *run) roles() []string {
	var roles []string
	for _, rule := range r.everyRule() {
		if rule.Stat == "cpu" && !slices.Contains(roles, rule.Arg) {
			roles = append(roles, rule.Arg)
		}
	}
	return roles
}

// readings evaluates all rules over a stretch. A live one ends now, and rules may look further back
// than it.
func (r *run) readings(ctx context.Context, st stretch, live bool) []capacity.RuleReading {
	out := make([]capacity.RuleReading, 0, len(r.judging))
	// rules share windows; merging one is most of an evaluation
	r.merged = map[stretchKey]*measure.Window{}
	for _, rule := range r.judging {
		if !live && rule.Stat == "promql" {
			out = append(out, r.lasted(rule, st))
			continue
		}
		at := st
		if live && rule.Over > 0 && rule.Stat != "rate" {
			at = r.trail.last(rule.Over)
		}
		rd := r.reading(ctx, rule, at)
		if at.span() != st.span() {
			rd.Span = at.span()
		}
		// users do not add up over windows
		if live && rule.Stat == "rate" && rule.Arg != plan.Disconnected {
			rd = r.extend(rule, rd)
		}
		if live && rule.For > r.Window && rd.Status() != capacity.Missing {
			var whole bool
			rd.Value, whole = r.state(rule).hold(r.now(), rule.For, rd.Value, rule.Less)
			rd.Brief = !whole
		}
		out = append(out, rd)
	}
	return out
}

// stretchKey names the operations of a stretch within one evaluation.
type stretchKey struct {
	op          string
	first, span time.Duration
}

// blank is a reading of a rule without data.
func blank(rule plan.SLO) capacity.RuleReading {
	return capacity.RuleReading{
		Rule:     rule.Source,
		Limit:    rule.Threshold,
		Less:     rule.Less,
		Warning:  rule.Warning,
		Grace:    rule.Grace,
		MinCount: uint64(rule.Min),
	}
}

// reading evaluates one rule over a stretch, but a promql rule at the present time. It is a part of
// readings.
func (r *run) reading(ctx context.Context, rule plan.SLO, st stretch) capacity.RuleReading {
	rd := blank(rule)
	window := func(op string) *measure.Window {
		k := stretchKey{op, st.first, st.span()}
		if r.merged[k] == nil {
			r.merged[k] = st.merged(Selector(op))
		}
		return r.merged[k]
	}
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
		switch {
		case rule.Arg == plan.Disconnected:
			rd.Value, rd.Count, rd.OK = st.disconnected()
			rd.Bad, rd.Of = badOf(rd), rd.Count
		case rule.OfScript():
			rd.Value, rd.Count, rd.OK = st.scripted(rule.Arg)
		case slices.Contains(plan.MessageFaults(), rule.Arg):
			rd.Value, rd.Count, rd.OK = st.faults(rule.Arg)
		default:
			rd.Value, rd.Count, rd.OK = Value(rule, window)
		}
		rd.Rate = true
	default:
		rd.Value, rd.Count, rd.OK = Value(rule, window)
	}
	return rd
}

// reach is the most windows that a rate looks back, and alike the largest distance of users, as a
// fraction, for operations to speak of the same load.
const (
	reach = 20
	alike = 0.1
)

// extend lets a rate look back until it has its minimum of operations: at most over the rule's own
// span, at about the present number of users, and not to operations that have made it violated for
// a whole window before, which would otherwise count twice. The window alone decides where it can.
func (r *run) extend(rule plan.SLO, rd capacity.RuleReading) capacity.RuleReading {
	s := r.state(rule)
	users := r.trail.last(r.Window).meanUsers()
	fresh := r.tick // since it was evaluated last
	if n := len(s.evidence); n > 0 {
		fresh = r.now() - s.evidence[n-1].at
	}
	tick := r.reading(context.Background(), rule, r.trail.last(fresh))
	s.evidence = append(s.evidence, evidence{r.now(), users, badOf(tick), tick.Count})
	span := rule.Over
	if span == 0 {
		span = reach * r.Window
	}
	for len(s.evidence) > 0 && s.evidence[0].at <= r.now()-max(span, r.Window) {
		s.evidence = s.evidence[1:]
	}
	rd.Bad, rd.Of, rd.Span = badOf(rd), rd.Count, r.Window
	switch st := rd.Status(); {
	case st == capacity.Missing:
		return rd
	case st != capacity.Undecided:
		s.since = -1
		if st == capacity.Violated {
			s.spent = r.now()
		}
		return rd
	}
	bad, of := uint64(0), uint64(0)
	for _, e := range slices.Backward(s.evidence) {
		inside := e.at > r.now()-r.Window
		if !inside &&
			(of >= rd.MinCount || e.at <= s.spent || math.Abs(e.users-users) > alike*users) {
			break
		}
		bad, of, rd.Span = bad+e.bad, of+e.of, max(r.Window, r.now()-e.at+r.tick)
	}
	if of > rd.Count {
		rd.Value, rd.Count = float64(bad)/float64(of), of
	} else {
		rd.Span = r.Window
	}
	if rd.Status() != capacity.Violated {
		s.since = -1
		return rd
	}
	if s.since < 0 {
		s.since = r.now()
	}
	if r.now()-s.since >= r.Window {
		s.spent, s.since = r.now(), -1
	}
	return rd
}

func badOf(rd capacity.RuleReading) uint64 {
	return uint64(math.Round(rd.Value * float64(rd.Count)))
}

// hold returns the mildest value of the last span; whole reports whether the values reach back over
// all of it: a rule that must be violated without a break is violated only if even that one is. The
// oldest value may lie further back, where none lies at the beginning of the span; a moment without
// a value is not a break.
func (s *ruleState) hold(now, span time.Duration, v float64, less bool) (mild float64, whole bool) {
	s.at, s.values = append(s.at, now), append(s.values, v)
	for len(s.at) > 1 && s.at[1] <= now-span {
		s.at, s.values = s.at[1:], s.values[1:]
	}
	if less {
		return slices.Min(s.values), now-s.at[0] >= span
	}
	return slices.Max(s.values), now-s.at[0] >= span
}

// sample records the values of promql rules once a second of the measured phase.
func (r *run) sample() {
	if r.now()%time.Second != 0 {
		return
	}
	for _, rule := range r.judging {
		if rule.Stat != "promql" {
			continue
		}
		rd := r.reading(context.Background(), rule, stretch{})
		if rd.Status() == capacity.Missing {
			continue
		}
		s := r.sampled[rule.Source]
		if s == nil {
			s = new(ruleState)
			r.sampled[rule.Source] = s
		}
		who := ""
		if rd.Status() == capacity.Violated {
			who = r.whose(rule)
		}
		s.at = append(s.at, r.now())
		s.values = append(s.values, rd.Value)
		s.who = append(s.who, who)
	}
}

// lasted reads a promql rule over the measured phase: in every stretch of it that is as long as the
// rule must be violated, a window at least, the mildest value; of these the worst. So it is
// violated exactly if it was so in such a stretch without a break. A phase that is not longer than
// that is one stretch. No stretch that is whole has no data.
func (r *run) lasted(rule plan.SLO, phase stretch) capacity.RuleReading {
	rd := blank(rule)
	s := r.sampled[rule.Source]
	if s == nil {
		return rd
	}
	// the first sample is a second old
	span := min(max(rule.For, r.Window), phase.span()-time.Second)
	var held ruleState
	for i, at := range s.at {
		if at <= phase.first { // before the part that counts
			continue
		}
		v, whole := held.hold(at, span, s.values[i], rule.Less)
		if whole && (!rd.OK || rule.Less == (v > rd.Value)) {
			rd.Value, rd.OK = v, true
		}
	}
	return rd
}

// Selector returns which series an operation's name stands for: "op" is every operation of the
// steady state.
func Selector(op string) func(string) bool {
	if op == "op" {
		return workload.Steady
	}
	return func(series string) bool { return series == op }
}

// Value returns a latency or rate rule's value over windows, in seconds or as a fraction, from how
// many operations, and whether there was any. window returns the merged window of an operation's
// name, "op" for all. The latency of an operation that ended in an error other than a timeout is
// not known and not counted.
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

// carried reports whether the users of a window were carried: every rule that moves users has data,
// and none is violated.
func carried(readings []capacity.RuleReading) bool {
	return !slices.ContainsFunc(readings, func(rd capacity.RuleReading) bool {
		st := rd.Status()
		return !rd.Warning && (st == capacity.Violated || st == capacity.Missing)
	})
}

// writeReadings puts one evaluation of all rules and the search's decision on disk.
func (r *run) writeReadings(rds []capacity.RuleReading, act capacity.Action) {
	for _, rd := range rds {
		r.event(r.evaluation(rd, r.phase))
	}
	if act.Phase != "" {
		r.event(record.Event{Kind: "decision", Phase: act.Phase, Users: act.Users, Text: act.Why})
	}
}

// evaluation is the event of one reading.
func (r *run) evaluation(rd capacity.RuleReading, phase string) record.Event {
	st := rd.Status()
	e := record.Event{
		Kind:      "slo",
		Rule:      rd.Rule,
		Limit:     rd.Limit,
		Count:     rd.Count,
		Span:      rd.Span,
		Phase:     phase,
		Violated:  st == capacity.Violated,
		NoData:    st == capacity.Missing,
		Undecided: st == capacity.Undecided,
	}
	if st != capacity.Missing { // NaN cannot be written either
		e.Value = rd.Value
	}
	if rd.Warning {
		e.Level = record.Amber
	}
	return e
}

// judgeMeasure evaluates the rules once over the whole measured phase, when the operations under
// way at its end have ended too.
func (r *run) judgeMeasure() {
	rds := r.readings(context.Background(), r.measured, false)
	r.exportMeasured(rds)
	for i, rd := range rds {
		rule := r.judging[i]
		where := ""
		if s := r.sampled[rd.Rule]; s != nil && rd.Status() == capacity.Violated {
			where = s.breach(rule, r.measured.first)
		}
		switch st := rd.Status(); {
		case st == capacity.Missing:
			f := record.Finding{
				Gate:  "rule without data",
				Level: record.Red,
				Text: fmt.Sprintf(
					"%s had no value, or for too short a time, in the measured phase",
					rd.Rule,
				),
			}
			if rd.Warning {
				f.Level = record.Amber
			}
			r.out.Validity.Add(f)
		case st == capacity.Violated && rd.Warning:
			r.out.Warned = append(r.out.Warned, brokenText(rule, rd, where))
		case st == capacity.Violated:
			r.out.Broken = append(r.out.Broken, brokenText(rule, rd, where))
		case st == capacity.Undecided && rd.Less && rd.Value >= rd.Limit: // rules with a minimum require less
			of := "operations"
			if rule.Arg == plan.Disconnected {
				of = "users"
			}
			r.amber("rules", fmt.Sprintf(
				"%s was not decided: it was %s in the measured phase, but of %d %s where it asks for %d",
				rd.Rule,
				format(rd.Value, rule.Unit),
				rd.Count,
				of,
				rd.MinCount,
			))
		}
		e := r.evaluation(rd, "measured")
		e.Text = where
		r.event(e)
	}
	r.judgeLevel()
}

// brokenText is a broken rule with its value over the measured phase, and where that came from.
func brokenText(rule plan.SLO, rd capacity.RuleReading, where string) string {
	text := fmt.Sprintf("%s: %s", rd.Rule, format(rd.Value, rule.Unit))
	if where != "" {
		text += " (" + where + ")"
	}
	return text
}

// format returns a value with the unit of a rule.
func format(v float64, unit string) string {
	switch unit {
	case "fraction":
		return fmt.Sprintf("%.4g %%", v*100)
	case "":
		return fmt.Sprintf("%.4g", v)
	}
	return time.Duration(v * float64(time.Second)).Round(10 * time.Microsecond).String()
}
