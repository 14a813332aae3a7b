package trial

import (
	"context"
	"slices"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
	"plimsoll/watch/series"
)

// A Store takes the trial's own series; *[series.DB] is one.
type Store interface {
	Append(t time.Time, samples []series.Sample) error
}

// A Series is one of the names under which a trial stores its values, once a second.
type Series struct {
	Name, Type, Unit string
	Labels           []string
	Help             string
}

// AllSeries lists them. docs/series.md explains them.
func AllSeries() []Series { return slices.Clone(ownSeries) }

var ownSeries = []Series{
	{
		"plimsoll_slo_value",
		"gauge",
		"",
		ruleLabels,
		"Value of a rule over the window that ends now: seconds, a fraction, or what promql gave.",
	},
	{
		"plimsoll_slo_threshold",
		"gauge",
		"",
		ruleLabels,
		"Threshold of a rule, in the unit of its value.",
	},
	{
		"plimsoll_slo_violated",
		"gauge",
		"",
		ruleLabels,
		"1 when the rule does not hold, with data from enough operations; else 0.",
	},
	{"plimsoll_slo_no_data", "gauge", "", ruleLabels, "1 when the rule has no value; else 0."},
	{
		"plimsoll_slo_measured",
		"gauge",
		"",
		ruleLabels,
		"Value of a rule over the whole measured phase, at its end.",
	},
	{
		"plimsoll_op_seconds",
		"gauge",
		"seconds",
		[]string{"op", "stat"},
		"Response time of the operations that ended in the last second.",
	},
	{"plimsoll_ops_total", "counter", "", []string{"op", "class"}, "Operations that ended."},
	{
		"plimsoll_answers_total",
		"counter",
		"",
		[]string{"status"},
		"Operations of the steady state that ended in an answer of this status, " +
			"400 or above, that they did not ask for.",
	},
	{
		"plimsoll_op_bytes_total",
		"counter",
		"bytes",
		[]string{"op"},
		"Bytes received by operations.",
	},
	{
		"plimsoll_wait_seconds",
		"gauge",
		"seconds",
		[]string{"stat"},
		"How long operations waited for a connection or a place in the last second.",
	},
	{
		"plimsoll_lag_seconds",
		"gauge",
		"seconds",
		[]string{"stat"},
		"How late the generator began actions in the last second.",
	},
	{
		"plimsoll_op_lag_seconds",
		"gauge",
		"seconds",
		[]string{"stat"},
		"How late the generator was with operations of the steady state that ended in the last " +
			"second.",
	},
	{"plimsoll_users", "gauge", "", []string{"state"}, "Simulated users."},
	{"plimsoll_messages_acked_total", "counter", "", nil, "Messages that the server accepted."},
	{
		"plimsoll_deliveries_total",
		"counter",
		"",
		[]string{"result"},
		"Deliveries of messages to others; lost may fall, when a lost one comes after all.",
	},
	{
		"plimsoll_gate",
		"gauge",
		"",
		[]string{"gate"},
		"What a gate of the generator's health read in the last second, in the gate's unit.",
	},
	{
		"plimsoll_cpu_share",
		"gauge",
		"",
		[]string{"role"},
		"CPU of generator, app and db in the last second, as a share of the cores of the role.",
	},
	{
		"plimsoll_phase",
		"gauge",
		"",
		[]string{"phase"},
		"1 for the phase that is under way, 0 for those before it.",
	},
}

var ruleLabels = []string{"rule", "stat", "op", "class", "role"}

// exporter turns each second into series.
type exporter struct {
	to      Store
	batch   []series.Sample
	begin   []series.Sample // zeros of counters that were not there a second ago
	ops     map[string]*opCounts
	answers map[string]*answerCount   // by status
	rules   map[string][]series.Label // by source
	holding map[string]*ruleState     // of the readings outside a search
	last    []capacity.RuleReading    // of the search, at its last tick
	phases  []string                  // so far
}

// answerCount is the counter of one status.
type answerCount struct {
	n     uint64
	label []series.Label
}

// opCounts are the counters of one operation, and its labels, which are made once.
type opCounts struct {
	classes [measure.NumClasses]uint64
	bytes   int64
	of      [measure.NumClasses][]series.Label
	stats   [][]series.Label
	name    []series.Label
}

func newExporter(to Store, rules []plan.SLO) *exporter {
	x := &exporter{
		to:      to,
		ops:     map[string]*opCounts{},
		answers: map[string]*answerCount{},
		rules:   map[string][]series.Label{},
		holding: map[string]*ruleState{},
	}
	for _, r := range rules {
		of := []string{"rule", r.Source, "stat", r.Stat}
		switch r.Stat {
		case "promql":
		case "cpu":
			of = append(of, "role", r.Arg)
		case "rate":
			of = append(of, "class", r.Arg)
		default:
			of = append(of, "op", r.Arg)
		}
		x.rules[r.Source] = labels(of...)
	}
	// from 0 on: a run without them is known to have had none
	for _, status := range []string{"429", "503"} {
		x.answers[status] = &answerCount{label: labels("status", status)}
	}
	return x
}

func (x *exporter) add(name string, l []series.Label, v float64) {
	x.batch = append(x.batch, series.Sample{Name: name, Labels: l, Value: v})
}

// export stores the second that has just ended. A failure to store is an event, not the end of the
// trial: the same numbers are in windows.hdr.
func (r *run) export(ctx context.Context, sl slice) {
	x := r.series
	if x == nil {
		return
	}
	x.batch, x.begin = x.batch[:0], x.begin[:0]
	_, _, failed := r.Driver.Users()
	for i, n := range []int{sl.desired, sl.active, failed} {
		x.add("plimsoll_users", userStates[i], float64(n))
	}
	if !slices.Contains(x.phases, r.phase) {
		x.phases = append(x.phases, r.phase)
	}
	for _, phase := range x.phases {
		x.add("plimsoll_phase", labels("phase", phase), number(phase == r.phase))
	}
	for role, v := range r.watching.cpu {
		if role == "database" {
			role = "db" // as in all other series
		}
		x.add("plimsoll_cpu_share", labels("role", role), v)
	}
	steady := measure.NewWindow("op")
	for _, w := range r.sec.sorted() {
		switch {
		case w.Name == workload.Schedule:
			x.stats("plimsoll_lag_seconds", w.Lag)
		case x.answer(w), workload.Beyond(w.Name):
		case w.Count() > 0:
			x.op(w)
			if workload.Steady(w.Name) {
				steady.Merge(w)
			}
		}
	}
	x.op(steady)
	x.stats("plimsoll_wait_seconds", steady.Wait)
	x.stats("plimsoll_op_lag_seconds", steady.Lag)
	x.counters()
	x.messages(r.Ledger.Count())
	rds := r.evaluated(ctx)
	r.evaluatedNow(rds)
	for _, rd := range rds {
		x.rule(rd)
	}
	r.store(r.now()-time.Second, x.begin)
	r.store(r.now(), x.batch)
}

// store stores samples of a moment.
func (r *run) store(at time.Duration, samples []series.Sample) {
	if err := r.series.to.Append(r.Clock.Date(at), samples); err != nil {
		r.note("series of the trial", err)
	}
}

// evaluated returns the rules' readings at present: those of the search, or outside one, of the
// window that ends now.
func (r *run) evaluated(ctx context.Context) []capacity.RuleReading {
	x := r.series
	if rds := x.last; rds != nil {
		x.last = nil
		return rds
	}
	// A rule that must be violated for a while keeps a memory of its own here, so that looking
	// changes no judgement.
	mine := r.rules
	r.rules = x.holding
	defer func() { r.rules = mine }()
	return r.readings(ctx, r.trail.last(r.Window), true)
}

func (x *exporter) rule(rd capacity.RuleReading) {
	l := x.rules[rd.Rule]
	x.add("plimsoll_slo_threshold", l, rd.Limit)
	x.add("plimsoll_slo_no_data", l, number(rd.Status() == capacity.Missing))
	if rd.Status() != capacity.Missing {
		x.add("plimsoll_slo_value", l, rd.Value)
		x.add("plimsoll_slo_violated", l, number(rd.Status() == capacity.Violated))
	}
}

// exportMeasured stores the values of the rules over the whole measured phase.
func (r *run) exportMeasured(rds []capacity.RuleReading) {
	x := r.series
	if x == nil {
		return
	}
	x.batch = x.batch[:0]
	for _, rd := range rds {
		if rd.OK {
			x.add("plimsoll_slo_measured", x.rules[rd.Rule], rd.Value)
		}
	}
	r.store(r.now(), x.batch)
}

// exportGates stores the readings of the gates in the second that has just ended.
func (r *run) exportGates(e record.Event) {
	x := r.series
	if x == nil || len(e.Readings) == 0 {
		return
	}
	x.batch = x.batch[:0]
	for name, v := range e.Readings {
		x.add("plimsoll_gate", labels("gate", name), v)
	}
	r.store(r.now(), x.batch)
}

var (
	userStates = [][]series.Label{
		labels("state", "desired"),
		labels("state", "active"),
		labels("state", "failed"),
	}
	statNames = []string{"p50", "p95", "p99", "mean", "max"}
)

// labels returns the labels of names and values.
func labels(of ...string) (out []series.Label) {
	for l := range slices.Chunk(of, 2) {
		out = append(out, series.Label{Name: l[0], Value: l[1]})
	}
	return out
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// figures returns the statistics of statNames, in seconds.
func figures(h *measure.Histogram) [5]float64 {
	return [5]float64{
		h.Quantile(0.5).Seconds(),
		h.Quantile(0.95).Seconds(),
		h.Quantile(0.99).Seconds(),
		h.Mean().Seconds(),
		h.Max().Seconds(),
	}
}

// stats stores a histogram of the last second; one without values has no figures.
func (x *exporter) stats(name string, h *measure.Histogram) {
	if h.Count() == 0 {
		return
	}
	for i, v := range figures(h) {
		x.add(name, labels("stat", statNames[i]), v)
	}
}

func (x *exporter) op(w *measure.Window) {
	c := x.ops[w.Name]
	fresh := c == nil
	if fresh {
		c = &opCounts{name: labels("op", w.Name)}
		for i := range c.of {
			c.of[i] = labels("op", w.Name, "class", measure.Class(i).String())
		}
		for _, s := range statNames {
			c.stats = append(c.stats, labels("op", w.Name, "stat", s))
		}
		x.ops[w.Name] = c
		x.begin = append(x.begin, series.Sample{Name: "plimsoll_op_bytes_total", Labels: c.name})
	}
	for i, n := range w.Classes {
		// A class has a series from its first operation on (ok always); it begins at 0, so that
		// increase() counts that one.
		begins := c.classes[i] == 0 && n > 0
		if measure.Class(i) == measure.OK {
			begins = fresh
		}
		if begins {
			x.begin = append(x.begin, series.Sample{Name: "plimsoll_ops_total", Labels: c.of[i]})
		}
		c.classes[i] += n
	}
	c.bytes += w.Bytes
	if w.Response.Count() > 0 {
		for i, v := range figures(w.Response) {
			x.add("plimsoll_op_seconds", c.stats[i], v)
		}
	}
}

// answer counts failed operations by the status of their answer, if the window is of those.
func (x *exporter) answer(w *measure.Window) bool {
	status, _, ok := workload.AnswerOf(w.Name)
	if !ok {
		return false
	}
	a := x.answers[status]
	if a == nil {
		a = &answerCount{label: labels("status", status)}
		x.answers[status] = a
		x.begin = append(x.begin, series.Sample{Name: "plimsoll_answers_total", Labels: a.label})
	}
	a.n += w.Count()
	return true
}

// counters stores all counters, also of operations of which none ended in the last second.
func (x *exporter) counters() {
	for _, c := range x.ops {
		for i, n := range c.classes {
			if n > 0 || measure.Class(i) == measure.OK {
				x.add("plimsoll_ops_total", c.of[i], float64(n))
			}
		}
		x.add("plimsoll_op_bytes_total", c.name, float64(c.bytes))
	}
	for _, a := range x.answers {
		x.add("plimsoll_answers_total", a.label, float64(a.n))
	}
}

var results = [][]series.Label{
	labels("result", "seen"),
	labels("result", "late"),
	labels("result", "lost"),
	labels("result", "duplicated"),
	labels("result", "misordered"),
}

func (x *exporter) messages(c workload.LedgerCount) {
	x.add("plimsoll_messages_acked_total", nil, float64(c.Acked))
	for i, n := range []int64{c.Seen, c.Late, c.Lost, c.Duplicated, c.Misordered} {
		x.add("plimsoll_deliveries_total", results[i], float64(n))
	}
}
