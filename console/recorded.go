package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/evidence"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/live"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

// mostSeconds bounds the seconds of a run that are read: a day and a half.
const mostSeconds = 36 * 3600

// A recorded run is the past of a run as its directory has it, sealed, under way or killed: the
// columns, phases, windows and log that its frames would have given.
type recorded struct {
	cols    *columns
	phases  []live.PhaseSpan
	rules   []live.Rule
	windows []live.SearchWindow
	log     []live.LogLine
	search  *live.SearchNow    // nil without a search
	classes map[string]float64 // failures since the start
	last    int                // the last second that was read; 0 for none

	most int // the last second that may be read
	// readings of the series, by name; of second i+1 at i, NaN without one
	seconds  map[string][]float64
	searches []searched
	passed   int // of these, before the second under way
}

// searched is an interval of the search from an instant on.
type searched struct {
	at     float64
	lo, hi *float64
	over   bool
}

// recordedOf reads a run into columns, which are empty. A part that cannot be read, or ends early,
// is missing: the others tell of the same seconds.
func recordedOf(ctx context.Context, run *evidence.Run, cols *columns) (*recorded, error) {
	rec := &recorded{
		cols:    cols,
		classes: map[string]float64{},
		seconds: map[string][]float64{},
		most:    mostSeconds,
	}
	log, err := run.Events()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rec.events(run.Manifest, log)
	if !run.Ended() {
		// Its users are the last line of a second. What comes after them is of a second that is
		// being written.
		rec.most = min(len(rec.seconds["users.active"]), mostSeconds)
	}
	if err := rec.series(ctx, run); err != nil {
		return nil, err
	}
	if run.Ended() {
		rec.undecided(log)
	}
	if err := rec.windowsOf(ctx, run.Run); err != nil {
		return nil, err
	}
	if rec.search != nil {
		rec.search.Level = rec.level()
	}
	return rec, ctx.Err()
}

// level returns the last number of users that the search wanted; 0 if it is not known.
func (rec *recorded) level() float64 {
	wanted := rec.seconds["users.wanted"]
	n := len(wanted)
	for _, p := range rec.phases {
		if p.Name == "search" && p.To != nil {
			n = min(n, int(*p.To))
		}
	}
	if n == 0 || math.IsNaN(wanted[n-1]) {
		return 0
	}
	return wanted[n-1]
}

// put keeps a reading of a second.
func (rec *recorded) put(name string, second int, v float64) {
	if second < 1 || second > rec.most || math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	col := rec.seconds[name]
	for len(col) < second {
		col = append(col, math.NaN())
	}
	col[second-1] = v
	rec.seconds[name] = col
	rec.last = max(rec.last, second)
}

// events takes phases, windows, log and active users.
func (rec *recorded) events(m record.Manifest, log []record.Event) {
	for i, e := range log {
		at := e.At.Seconds()
		switch e.Kind {
		case "users":
			rec.put("users.active", int(e.At/time.Second), float64(e.Users))
		case "phase":
			if n := len(rec.phases); n > 0 {
				rec.phases[n-1].To = &at
			}
			rec.phases = append(rec.phases, live.PhaseSpan{Name: e.Phase, From: at})
		case record.WindowEvent:
			rec.window(e)
		case record.SearchOverEvent:
			rec.searches = append(rec.searches, searched{
				at:   at,
				lo:   readingOf(e, record.WindowLo),
				hi:   readingOf(e, record.WindowHi),
				over: true,
			})
		}
		if !e.Routine() {
			line := live.LogLine{N: i + 1, At: at, Kind: e.Kind, Text: e.Line(), Level: e.Level}
			rec.log = append(rec.log, line)
			rec.log = rec.log[max(0, len(rec.log)-maxLog):]
		}
	}
	if len(m.Phases) > 0 {
		rec.phases = rec.phases[:0]
		for _, p := range m.Phases {
			to := p.To.Seconds()
			rec.phases = append(rec.phases, live.PhaseSpan{
				Name: p.Name,
				From: p.From.Seconds(),
				To:   &to,
			})
		}
	}
	if !slices.ContainsFunc(log, func(e record.Event) bool {
		return e.Kind == record.WindowEvent
	}) {
		rec.olderWindows(log)
	}
	if c := m.Capacity; c != nil {
		if n := len(rec.searches); n == 0 || !rec.searches[n-1].over { // of an earlier version
			over := searched{at: rec.endOf("search"), over: true}
			if c.Kind == record.Estimate {
				over.lo, over.hi = &c.Lo, &c.Hi
			}
			rec.searches = append(rec.searches, over)
		}
	}
	rec.searchOf(m)
}

// readingOf returns a named reading of an event; nil if it has none of that name.
func readingOf(e record.Event, name string) *float64 {
	v, ok := e.Readings[name]
	if !ok {
		return nil
	}
	return &v
}

func (rec *recorded) window(e record.Event) {
	w := live.SearchWindow{
		N:       len(rec.windows) + 1,
		At:      e.At.Seconds(),
		Users:   e.Readings[record.WindowUsers],
		Reading: e.Text,
		Ratio:   e.Readings[record.WindowRatio],
		Rule:    e.Rule,
	}
	rec.windows = append(rec.windows, w)
	rec.searches = append(rec.searches, searched{
		at: w.At,
		lo: readingOf(e, record.WindowLo),
		hi: readingOf(e, record.WindowHi),
	})
}

// olderWindows takes the windows of a run of an earlier version from the evaluations of its rules:
// evaluations at one instant make one window. They have no ratios, and the readings of its rules
// stand for an unsound window.
func (rec *recorded) olderWindows(log []record.Event) {
	last := time.Duration(-1)
	for _, e := range log {
		if e.Kind != "slo" || e.Phase != "search" {
			continue
		}
		if e.At != last {
			w := live.SearchWindow{N: len(rec.windows) + 1, At: e.At.Seconds(), Reading: live.Held}
			if active := rec.seconds["users.active"]; len(active) > 0 {
				if i := min(int(e.At/time.Second), len(active)) - 1; i >= 0 &&
					!math.IsNaN(active[i]) {
					w.Users = active[i]
				}
			}
			rec.windows, last = append(rec.windows, w), e.At
		}
		w := &rec.windows[len(rec.windows)-1]
		switch {
		case e.Level == record.Amber: // a warning
		case e.Violated:
			w.Reading, w.Rule = live.Broken, cmp.Or(w.Rule, e.Rule)
		case (e.NoData || e.Undecided) && w.Reading == live.Held:
			w.Reading = live.Undecided
		}
	}
}

// endOf returns the end of a phase, or its beginning while it lasts.
func (rec *recorded) endOf(phase string) (at float64) {
	for _, p := range rec.phases {
		if p.Name == phase {
			if at = p.From; p.To != nil {
				at = *p.To
			}
		}
	}
	return at
}

// phaseAt is the phase of the second that ends at an instant; "" outside of all.
func (rec *recorded) phaseAt(second float64) (name string) {
	for _, p := range rec.phases {
		if p.From < second && (p.To == nil || second <= *p.To) {
			name = p.Name
		}
	}
	return name
}

// searchOf is the search as it stands at the end of the events.
func (rec *recorded) searchOf(m record.Manifest) {
	if len(rec.windows) == 0 && m.Capacity == nil {
		return
	}
	s := &live.SearchNow{Windows: []live.SearchWindow{}}
	for _, x := range rec.searches {
		if s.Lo, s.Hi = 0, 0; x.lo != nil && x.hi != nil {
			s.Lo, s.Hi = *x.lo, *x.hi
		}
	}
	if c := m.Capacity; c != nil {
		s.Step, s.Why, s.Result = "done", c.Why, record.CapacityText(c.Kind, c.Users)
		if c.Kind == record.Estimate {
			s.Estimate, s.Result = c.Users, s.Result+fmt.Sprintf(" (%.0f to %.0f)", c.Lo, c.Hi)
		}
	}
	rec.search = s
}

// series reads from the run's series: wanted users, CPU and rules. A run without series has none of
// these, but users by its phases and decisions.
func (rec *recorded) series(ctx context.Context, run *evidence.Run) error {
	db, err := series.Open(filepath.Join(run.Dir, record.SeriesDir))
	if err != nil {
		return nil //nolint:nilerr // a run whose series were lost is drawn without them
	}
	defer db.Close()
	first, last, ok := db.Bounds()
	epoch := run.Manifest.Epoch
	if !ok || last.Before(epoch) || last.Sub(first) > 2*mostSeconds*time.Second {
		return nil
	}
	// samples have whole milliseconds
	x := eachSecond{
		ctx:   ctx,
		db:    db,
		epoch: epoch,
		last:  min(int((last.Sub(epoch)+time.Millisecond)/time.Second), rec.most),
	}
	level := func(name string) func(map[string]string, int, float64) {
		return func(_ map[string]string, second int, v float64) { rec.put(name, second, v) }
	}
	if err := x.of(`last_over_time(plimsoll_users{state="desired"}[1s])`, level("users.wanted")); err != nil {
		return err
	}
	if err := rec.cpu(x, run.Manifest); err != nil {
		return err
	}
	return rec.rulesOf(x, run)
}

// roleNames are the names of roles in frames.
var roleNames = map[string]string{
	"generator": "generator",
	"app":       "app",
	"db":        "database",
	"database":  "database",
}

// cpu takes the CPU of the roles, or in a run of an earlier version the CPU of its probes.
func (rec *recorded) cpu(x eachSecond, m record.Manifest) error {
	scaled := func(most float64) func(map[string]string, int, float64) {
		return func(labels map[string]string, second int, v float64) {
			if name, ok := roleNames[labels["role"]]; ok {
				rec.put("cpu."+name, second, min(max(v/most, 0), 1))
			}
		}
	}
	if err := x.of(`last_over_time(plimsoll_cpu_share[1s])`, scaled(1)); err != nil {
		return err
	}
	if slices.ContainsFunc([]string{"generator", "app", "database"}, func(role string) bool {
		return len(rec.seconds["cpu."+role]) > 0
	}) {
		return nil
	}
	if n := len(m.TargetCPUs); n > 0 {
		if err := x.of(`sum by (role) (last_over_time(plimsoll_process_cpu_ratio{role=~"app|db"}[1s]))`, scaled(float64(n))); err != nil {
			return err
		}
	}
	return x.of(`last_over_time(plimsoll_cpu_busy_ratio{role="generator"}[1s])`, scaled(1))
}

// undecided marks the rules of an ended run whose last evaluation saw too few operations, or too
// short a time: their series look like the series of rules that hold.
func (rec *recorded) undecided(log []record.Event) {
	last := map[string]bool{}
	for _, e := range log {
		if e.Kind == "slo" {
			last[e.Rule] = e.Undecided
		}
	}
	for i, r := range rec.rules {
		if r.Status == live.Holds && last[r.Rule] {
			rec.rules[i].Status = live.Undecided
		}
	}
}

// rulesOf takes the values of the rules, in the order that the frames of the run have, and how each
// stands at the end.
func (rec *recorded) rulesOf(x eachSecond, run *evidence.Run) error {
	rules := rulesIn(run.Asked(), rec.phases)
	at := map[string]int{}
	for i, r := range rules {
		at[r.Source] = i
		rec.rules = append(rec.rules, live.Rule{
			Rule:    r.Source,
			Limit:   r.Threshold,
			Less:    r.Less,
			Warning: r.Warning,
			Unit:    trial.UnitOf(r),
			Status:  live.Undecided,
		})
	}
	if len(rules) == 0 {
		return nil
	}
	judged := make([]int, len(rules)) // the last second with data, or known to have none
	if err := x.of(`last_over_time(plimsoll_slo_no_data[1s])`, func(l map[string]string, second int, v float64) {
		if i, ok := at[l["rule"]]; ok && second >= judged[i] {
			judged[i] = second
			if rec.rules[i].Status = live.Holds; v > 0 {
				rec.rules[i].Status, rec.rules[i].Value = live.NoData, nil
			}
		}
	}); err != nil {
		return err
	}
	if err := x.of(`last_over_time(plimsoll_slo_value[1s])`, func(l map[string]string, second int, v float64) {
		if i, ok := at[l["rule"]]; ok {
			rec.put(ruleName(i), second, v)
			if second == judged[i] && rec.rules[i].Status != live.NoData {
				rec.rules[i].Value = &v
			}
		}
	}); err != nil {
		return err
	}
	since := make([]int, len(rules)) // since when it is broken; 0 while it is not
	defer func() {
		newest := slices.Max(judged)
		// while the run goes on, the test of such a rule is over or has not begun
		for i := range rec.rules {
			if r := &rec.rules[i]; !run.Ended() && judged[i] < newest {
				r.Status = live.Undecided
				r.Value = nil
				r.BrokenFor = 0
			}
		}
	}()
	return x.of(
		`last_over_time(plimsoll_slo_violated[1s])`,
		func(l map[string]string, second int, v float64) {
			i, ok := at[l["rule"]]
			switch {
			case !ok || rec.rules[i].Status == live.NoData && second == judged[i]:
			case v == 0:
				since[i] = 0
				if second == judged[i] {
					rec.rules[i].BrokenFor = 0
				}
			default:
				since[i] = cmp.Or(since[i], second)
				if second == judged[i] {
					rec.rules[i].Status = live.Broken
					rec.rules[i].BrokenFor = float64(second - since[i])
				}
			}
		},
	)
}

// rulesIn returns the rules in the order of a run's frames: the rules of its bounded test, then the
// further rules of its search.
func rulesIn(p *plan.Plan, phases []live.PhaseSpan) []plan.SLO {
	u, _ := p.Search()
	search := slices.IndexFunc(phases, func(ph live.PhaseSpan) bool { return ph.Name == "search" })
	if search == 0 || p.Bounded == nil {
		return u.SLO
	}
	out := p.BoundedRules()
	if search < 0 && slices.ContainsFunc(phases, func(ph live.PhaseSpan) bool {
		return ph.Name == "audit"
	}) {
		return out // it is over, and had none
	}
	for _, r := range u.SLO {
		if !slices.ContainsFunc(out, func(o plan.SLO) bool { return o.Source == r.Source }) {
			out = append(out, r)
		}
	}
	return out
}

// windowsOf goes through the seconds of the histograms and puts the columns together. The windows
// of a second that comes in two frames are added up.
func (rec *recorded) windowsOf(ctx context.Context, run *record.Run) error {
	at := 0 // the second that is gathered
	ops := measure.NewWindow("op")
	delivery := measure.NewWindow(workload.Delivery)
	values := map[string]float64{}
	begin := func(second int) {
		at, values = second, map[string]float64{"ops": 0, "errors": 0}
		ops, delivery = measure.NewWindow("op"), measure.NewWindow(workload.Delivery)
		for class := range rec.classes {
			values["errors."+class] = 0
		}
	}
	next := 1
	// until adds the seconds before one, with their readings besides operations.
	until := func(second int) {
		for ; next < second; next++ {
			if v := rec.others(next, map[string]float64{}); len(v) > 0 {
				rec.cols.add(float64(next), v)
			}
		}
	}
	end := func() {
		if at == 0 || at < next {
			return
		}
		until(at)
		values["ops"] = float64(ops.Count())
		quantiles(values, "", ops)
		quantiles(values, "delivery.", delivery)
		rec.cols.add(float64(at), rec.others(at, values))
		next, rec.last = at+1, max(rec.last, at)
	}
	_, err := run.EachSecond(func(second int, ws []*measure.Window) bool {
		if second >= rec.most {
			return false
		}
		if second+1 != at {
			end()
			begin(second + 1)
		}
		for _, w := range ws {
			switch {
			case w.Name == workload.Delivery:
				delivery.Merge(w)
				continue
			case w.Count() == 0 && w.Response.Count() == 0 || w.Name == workload.Schedule || w.Name == workload.Inbox || workload.Beyond(w.Name):
				continue
			case workload.Steady(w.Name):
				ops.Merge(w)
			}
			values["errors"] += float64(w.Errors())
			for name, n := range w.ByClass() {
				rec.classes[name] += float64(n)
				values["errors."+name] += float64(n)
			}
		}
		return ctx.Err() == nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end()
	until(rec.last + 1)
	return nil
}

// others adds the readings of a second besides its operations.
func (rec *recorded) others(second int, values map[string]float64) map[string]float64 {
	for name, col := range rec.seconds {
		if second <= len(col) && !math.IsNaN(col[second-1]) {
			values[name] = col[second-1]
		}
	}
	now := float64(second)
	// seconds come in their order
	for rec.passed < len(rec.searches) && rec.searches[rec.passed].at < now {
		rec.passed++
	}
	var best *searched
	if rec.passed > 0 {
		best = &rec.searches[rec.passed-1]
	}
	if rec.phaseAt(now) == "search" || best != nil && best.over {
		if wanted, ok := values["users.wanted"]; ok {
			values["search.level"] = wanted
		}
		if best != nil && best.lo != nil && best.hi != nil {
			values["search.lo"], values["search.hi"] = *best.lo, *best.hi
		}
	}
	return values
}

// past adds the data outside the columns to the Past of the contract.
func (rec *recorded) past() map[string]any {
	p := rec.cols.past(-1)
	p["phases"] = append([]live.PhaseSpan{}, rec.phases...)
	p["rules"] = append([]live.Rule{}, rec.rules...)
	p["windows"] = append([]live.SearchWindow{}, rec.windows...)
	if rec.search != nil {
		p["search"] = rec.search
	}
	return p
}

// raw are values as lines of JSON, and the greatest n of them.
func raw[T any](items []T, n func(T) int) (out []json.RawMessage, last float64) {
	for _, it := range items {
		if b, err := json.Marshal(it); err == nil {
			out, last = append(out, b), max(last, float64(n(it)))
		}
	}
	return out, last
}
