package trial

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
	"plimsoll/run/live"
)

// An Audience watches a trial and steers it.
type Audience interface {
	// Watched reports whether frames are wanted at present. It returns at once.
	Watched() bool
	// Publish takes the trial's part of a frame, once a second while it is watched. It never
	// blocks.
	Publish(*live.Frame)
	// Progress takes where the trial is, once a second whether it is watched or not. It never
	// blocks.
	Progress(phase string)
	// Orders returns the orders that have come since the last call; they were accepted. It returns
	// at once.
	Orders() []live.Order
	// LastOrders is Orders when none is carried out any more: from then on they are refused.
	LastOrders() []live.Order
}

const (
	recentSeconds = 10 // of which the quantiles of the table of operations are
	shownWindows  = 12 // of the search, in a frame
)

// watching is the state that a trial keeps for those who watch. Counts go on while nobody does.
type watching struct {
	ops      map[string]*opTotal
	classes  map[string]uint64
	failures map[failed]*live.FailureRow
	recent   []measureSecond // the last ones, while somebody watches
	readings []capacity.RuleReading
	broken   map[string]time.Duration // rules, since when
	gates    []gateNow
	second   []*measure.Window // that has just ended
	windows  []live.SearchWindow
	seen     int // windows of the search
	forecast string
	decision capacity.Action
	search   *capacity.Search
	best     interval           // of the search at its last window
	cpu      map[string]float64 // in the second that has just ended, by role
	lag      time.Duration      // the longest of an operation or an action in that second
	hand     string             // why the run is exploratory
	storms   int                // injected
}

type opTotal struct{ count, errors uint64 }

type failed struct{ class, op, text string }

// gateNow is a gate's reading in the last second.
type gateNow struct {
	value float64
	why   string // there is none
}

func (w *watching) begin(gates int) {
	w.ops = map[string]*opTotal{}
	w.classes = map[string]uint64{}
	w.failures = map[failed]*live.FailureRow{}
	w.broken, w.gates = map[string]time.Duration{}, make([]gateNow, gates)
}

// count takes in the second that ends now.
func (r *run) count(sec measureSecond) {
	if r.Live == nil {
		return
	}
	w, at := &r.watching, r.now().Seconds()
	w.second, w.lag = w.second[:0], 0
	for _, win := range sec {
		if win.Lag.Count() > 0 {
			w.lag = max(w.lag, win.Lag.Max())
		}
		if status, op, ok := workload.AnswerOf(win.Name); ok {
			class := status[:min(1, len(status))] + "xx"
			w.fail(failed{class: class, op: op, text: status}, win.Count(), at)
			continue
		}
		if workload.OfScript(win.Name) {
			w.fail(failed{class: measure.Script.String(), op: win.Name}, win.Errors(), at)
			continue
		}
		if win.Count() == 0 || win.Name == workload.Schedule || win.Name == workload.Inbox ||
			workload.OfAnswers(win.Name) {
			continue
		}
		w.second = append(w.second, win)
		t := w.ops[win.Name]
		if t == nil {
			t = new(opTotal)
			w.ops[win.Name] = t
		}
		t.count += win.Count()
		t.errors += win.Errors()
		if win.Name == workload.Delivery {
			continue
		}
		for class, n := range win.ByClass() {
			w.classes[class] += n
			w.fail(failed{class: class, op: win.Name}, n, at)
		}
	}
	if !r.Live.Watched() {
		w.recent = nil
		return
	}
	w.recent = append(w.recent, sec)
	if len(w.recent) > recentSeconds {
		w.recent = slices.Delete(w.recent, 0, 1)
	}
}

// fail counts failures. Answers with a status are failures of a class too, of which their line is
// the better one.
func (w *watching) fail(k failed, n uint64, at float64) {
	if n == 0 {
		return
	}
	f := w.failures[k]
	if f == nil {
		f = &live.FailureRow{Class: k.class, Op: k.op, Text: k.text, First: at}
		w.failures[k] = f
	}
	f.Count, f.Last = f.Count+n, at
}

// publish hands out the second that has just ended, if anybody watches.
func (r *run) publish(sl slice) {
	if r.Live == nil {
		return
	}
	r.Live.Progress(r.phase)
	if !r.Live.Watched() {
		return
	}
	r.Live.Publish(r.frame(sl))
}

// publishLost hands out the moment in which a part of the generator was lost: no further second
// comes.
func (r *run) publishLost() {
	if r.Live == nil || !r.Live.Watched() {
		return
	}
	if n := len(r.trail.slices); n > 0 {
		r.Live.Publish(r.frame(r.trail.slices[n-1]))
	}
}

// frame is the trial's part of a frame.
func (r *run) frame(sl slice) *live.Frame {
	w, now := &r.watching, r.now()
	_, _, failed := r.Driver.Users()
	f := &live.Frame{
		V:           live.Version,
		Kind:        live.KindRun,
		Seq:         int64(now / time.Second),
		At:          now.Seconds(),
		Phase:       r.phase,
		Left:        max(r.total-now, 0).Seconds(),
		Users:       live.UserCount{Wanted: sl.desired, Active: sl.active, Failed: failed},
		Exploratory: w.hand,
		Mode:        r.mode(),
		Gates:       r.gateColors(),
		Rules:       r.ruleColors(),
		Phases:      []live.PhaseSpan{},
	}
	for _, p := range r.out.Phases {
		to := p.To.Seconds()
		f.Phases = append(f.Phases, live.PhaseSpan{Name: p.Name, From: p.From.Seconds(), To: &to})
	}
	if r.phase != "" {
		f.Phases = append(f.Phases, live.PhaseSpan{Name: r.phase, From: r.from.Seconds()})
	}
	f.Believe = believe(f.Gates, w.hand, r.out.Validity)
	steady := measure.NewWindow("op")
	for _, win := range w.second {
		switch {
		case win.Name == workload.Delivery:
			f.Delivery = &live.Delivery{Rate: float64(win.Count())}
			if q := quantiles(win.Response); q != nil {
				f.Delivery.Quantiles = *q
			}
			continue
		case workload.Steady(win.Name):
			steady.Merge(win)
		}
		f.Errors.Rate += float64(win.Errors())
	}
	f.Ops, f.Response = float64(steady.Count()), quantiles(steady.Response)
	for _, n := range w.classes {
		f.Errors.Total += n
	}
	if len(w.classes) > 0 {
		f.Errors.Classes = maps.Clone(w.classes)
	}
	if r.phase == "search" || r.out.Capacity != nil {
		f.Search = r.searchNow(sl)
	}
	f.Operations, f.Failures, f.CPU = r.operations(), w.failing(), w.cpu
	f.Agents = []live.AgentRow{{
		Name:  "this process",
		Users: sl.active,
		Lag:   milliseconds(w.lag),
		State: live.Here,
	}}
	return f
}

func (r *run) mode() string {
	switch {
	case r.Bounded != nil && r.Search != nil:
		return "both"
	case r.Search != nil:
		return "search"
	}
	return "fixed"
}

func quantiles(h *measure.Histogram) *live.Quantiles {
	if h.Count() == 0 {
		return nil
	}
	return &live.Quantiles{
		P50: milliseconds(h.Quantile(0.5)),
		P95: milliseconds(h.Quantile(0.95)),
		P99: milliseconds(h.Quantile(0.99)),
	}
}

// milliseconds is rounded to a microsecond: more digits are none of the clock's.
func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// operations is the table, those with the most operations first.
func (r *run) operations() []live.Operation {
	w := &r.watching
	recent := measureSecond{}
	for _, sec := range w.recent {
		for _, win := range sec {
			if w.ops[win.Name] != nil {
				recent.add([]*measure.Window{win})
			}
		}
	}
	asked, done := r.mixNow()
	var out []live.Operation
	for name, t := range w.ops {
		o := live.Operation{Name: name, Count: t.count, Errors: t.errors}
		if win := recent[name]; win != nil {
			o.Rate = float64(win.Count()) / float64(len(w.recent))
			if q := quantiles(win.Response); q != nil {
				o.P50 = q.P50
				o.P95 = q.P95
				o.P99 = q.P99
			}
		}
		if v, ok := asked[name]; ok {
			is := done[name]
			o.Asked, o.Done = &v, &is
		}
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b live.Operation) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// mixNow returns the requested and the achieved shares of the actions that have an operation of
// their name, over all behaviors.
func (r *run) mixNow() (asked, done map[string]float64) {
	asked, done = map[string]float64{}, map[string]float64{}
	mixes := r.Tally.Snapshot().Mixes()
	all := 0.0
	for _, m := range mixes {
		all += float64(m.OK)
	}
	if all == 0 {
		return nil, nil
	}
	for _, m := range mixes {
		for _, a := range m.Actions {
			part := float64(m.OK) / all
			asked[a.Name] += a.Requested * part
			done[a.Name] += a.Achieved * part
		}
	}
	return asked, done
}

// failing is the table of failures, the latest first. A class is left out where all of it stands
// there by status.
func (w *watching) failing() []live.FailureRow {
	byStatus := map[failed]uint64{}
	for k, f := range w.failures {
		if k.text != "" {
			byStatus[failed{class: k.class, op: k.op}] += f.Count
		}
	}
	var out []live.FailureRow
	for k, f := range w.failures {
		if k.text != "" || byStatus[k] < f.Count {
			one := *f
			if k.text == "" {
				one.Count -= byStatus[k]
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b live.FailureRow) int {
		return cmp.Or(
			cmp.Compare(b.Last, a.Last),
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Op, b.Op),
			cmp.Compare(a.Class, b.Class),
		)
	})
	return out
}

// ruleColors are the rules of both tests by their last evaluation, each always at its place. Those
// of the test that is not under way are undecided.
func (r *run) ruleColors() []live.Rule {
	out := []live.Rule{}
	for _, rule := range r.watchedRules() {
		one := live.Rule{
			Rule:    rule.Source,
			Limit:   rule.Threshold,
			Less:    rule.Less,
			Warning: rule.Warning,
			Unit:    UnitOf(rule),
			Status:  live.Undecided,
		}
		i := slices.IndexFunc(r.watching.readings, func(rd capacity.RuleReading) bool {
			return rd.Rule == rule.Source
		})
		if i < 0 {
			out = append(out, one)
			continue
		}
		rd := r.watching.readings[i]
		switch rd.Status() {
		case capacity.Missing:
			one.Status = live.NoData
		case capacity.Undecided:
		case capacity.Violated:
			one.Status = live.Broken
			one.BrokenFor = (r.now() - r.watching.broken[rd.Rule]).Seconds()
		default:
			one.Status = live.Holds
		}
		if rd.Status() != capacity.Missing {
			one.Value = &rd.Value
		}
		out = append(out, one)
	}
	return out
}

// watchedRules are the rules of the tests that the trial has, each once.
func (r *run) watchedRules() []plan.SLO {
	if r.Search == nil && r.Bounded != nil && r.Bounded.Rules != nil {
		return r.Bounded.Rules
	}
	return r.everyRule()
}

// UnitOf is the unit of a rule's value: "s" of a latency, "share" of a rate or of CPU, none of
// promql.
func UnitOf(rule plan.SLO) string {
	switch rule.Stat {
	case "promql":
		return ""
	case "rate", "cpu":
		return "share"
	}
	return "s"
}

// evaluatedNow keeps the readings of this second.
func (r *run) evaluatedNow(rds []capacity.RuleReading) {
	if r.Live == nil {
		return
	}
	w := &r.watching
	w.readings = rds
	for _, rd := range rds {
		if rd.Status() != capacity.Violated {
			delete(w.broken, rd.Rule)
		} else if _, ok := w.broken[rd.Rule]; !ok {
			w.broken[rd.Rule] = r.now()
		}
	}
}

// gateColors are the gates by their last reading, and by their seconds beyond a limit so far.
func (r *run) gateColors() []live.GateNow {
	out := make([]live.GateNow, len(r.gates))
	for i := range r.gates {
		g, now := &r.gates[i], r.watching.gates[i]
		out[i] = live.GateNow{Name: g.Name, Color: live.Gray, Text: now.why}
		if now.why != "" {
			continue
		}
		side := "above"
		if g.Floor {
			side = "below"
		}
		limits := fmt.Sprintf(
			"amber %s %s, red %s %s",
			side,
			g.Format(g.Amber),
			side,
			g.Format(g.Red),
		)
		level := g.Gate.Level(now.value)
		many := record.Tolerated(g.seconds)
		text := fmt.Sprintf("%s: %s; %s", g.What, g.Format(now.value), limits)
		beyond := func(color, limit string, seconds int) {
			out[i].Color = color
			text = fmt.Sprintf("%s: %s now, beyond %s limit in %d of %d seconds",
				g.What, g.Format(now.value), limit, seconds, g.seconds)
		}
		switch {
		case level == record.Red:
			out[i].Color = live.Red
		case g.red > many && g.Over != plan.WholePhase:
			beyond(live.Red, "the red", g.red)
		case level == record.Amber:
			out[i].Color = live.Amber
		case g.red+g.amber > many && g.Over != plan.WholePhase:
			beyond(live.Amber, "a", g.red+g.amber)
		default:
			out[i].Color, text = live.Green, fmt.Sprintf("%s; %s", g.Format(now.value), limits)
		}
		out[i].Text = text
	}
	return out
}

// believe is the answer to whether the run may be believed so far.
func believe(gates []live.GateNow, hand string, v record.Validity) *live.GateNow {
	b := &live.GateNow{Name: "all", Color: live.Green}
	if hand != "" {
		b.Color, b.Text = live.Red, "The run is exploratory: "+hand+"; it gets no verdict."
		return b
	}
	for _, f := range v.Findings {
		if f.Level == record.Red {
			b.Color, b.Text = live.Red, "The run is not valid: "+f.Text
			return b
		}
	}
	var read, bad [2]int // bad: amber, red
	text := ""
	for _, g := range gates {
		if g.Color == live.Gray {
			read[1]++
			continue
		}
		read[0]++
		switch g.Color {
		case live.Red:
			if bad[1]++; bad[1] == 1 {
				text = g.Text
			}
		case live.Amber:
			if bad[0]++; bad[0]+bad[1] == 1 {
				text = g.Text
			}
		}
	}
	are := func(color string, n int) {
		b.Color, b.Text = color, fmt.Sprintf("%d of %d gates are %s: %s.", n, read[0], color, text)
	}
	switch {
	case bad[1] > 0:
		are(live.Red, bad[1])
	case bad[0] > 0:
		are(live.Amber, bad[0])
	case read[0] == 0:
		b.Color, b.Text = live.Gray, "No gate has been read yet."
	default:
		b.Text = fmt.Sprintf("All %d gates that were read are green.", read[0])
	}
	return b
}

// steer carries out the orders that have come. A trial that is steered is not the plan's any more.
func (r *run) steer() error {
	if r.Live == nil {
		return nil
	}
	for _, o := range r.Live.Orders() {
		text, over := "", time.Duration(o.Over*float64(time.Second))
		switch o.Do {
		case live.OrderUsers:
			text = fmt.Sprintf("users were set to %d by hand", o.Users)
			if err := r.Driver.SetUsers(o.Users, over); err != nil {
				return err
			}
		case live.OrderStorm:
			text = fmt.Sprintf(
				"a storm %s of %.3g %% of the users was injected by hand",
				o.Kind,
				100*o.Share,
			)
			d, ok := r.Driver.(Stormer)
			if !ok {
				r.steered("no storm: this driver's users take part in none", 0)
				continue
			}
			if r.phase != "measure" {
				r.steered("no storm: the measured phase had ended", 0)
				continue
			}
			planned := 0
			if r.Bounded != nil {
				planned = len(r.Bounded.Storms)
			}
			s := workload.Storm{
				Kind:  o.Kind,
				Index: planned + r.watching.storms,
				Share: o.Share,
				Over:  over,
			}
			r.watching.storms++
			r.beginStorm(d, TimedStorm{At: r.now(), Storm: s})
		default:
			continue
		}
		if r.watching.hand == "" {
			r.watching.hand = text
			r.red(record.HandGate, "the run is exploratory: "+text+"; it gets no verdict")
		}
		r.out.Exploratory = r.watching.hand
		r.steered(text, o.Users)
	}
	return nil
}

// steered puts into the log what became of an order.
func (r *run) steered(text string, users int) {
	r.event(record.Event{Kind: "steered", Phase: r.phase, Text: text, Users: users})
}

// noMore ends the steering: what has come since the last tick is not carried out, as its users may
// have been stopped.
func (r *run) noMore() {
	if r.Live == nil {
		return
	}
	for _, o := range r.Live.LastOrders() {
		text := fmt.Sprintf("users were not set to %d", o.Users)
		if o.Do == live.OrderStorm {
			text = "no storm"
		}
		r.steered(text+": the bounded test had ended", 0)
	}
}
