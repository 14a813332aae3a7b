package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/drift"
	"plimsoll/judge/limiter"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/run/trial"
	"plimsoll/stats"
)

// Shown is a run with everything that is known of it.
type Shown struct {
	Manifest record.Manifest `json:"manifest"`
	Validity record.Validity `json:"validity"`
	Phase    string          `json:"phase"` // that the operations are of
	Ops      []ShownOp       `json:"operations"`
	Events   []record.Event  `json:"findings_and_errors"`
	// Checks are those of a script, and ScriptFaults its iterations that ended in one; nil if there
	// are none.
	Checks     []report.CheckCount `json:"checks,omitempty"`
	Exceptions *ScriptFaults       `json:"exceptions,omitempty"`
	Changed    []string            `json:"changed_files"` // since the run was sealed
	Users      *record.Users       `json:"users,omitempty"`
	Login      []ShownOp           `json:"login,omitempty"`            // over the whole run
	Storms     [][]ShownOp         `json:"storm_operations,omitempty"` // of each of Users.Storms
	Drift      []drift.Drift       `json:"drift,omitempty"`            // in the measured phase
	Limiter    *limiter.Limiter    `json:"limiter,omitempty"`          // the limiter of the run
	// Data holds the record of the users.
	Data report.RunData `json:"-"`
	// Of is the phase that the operations are of.
	Of record.Phase `json:"-"`
	// The measured phase is cut into Intervals, of which Silent had no answer; 0 where it could not
	// be read.
	Intervals int `json:"-"`
	Silent    int `json:"-"`
}

// ScriptFaults count the iterations of a script in a phase, and those that ended in an exception.
type ScriptFaults struct {
	Count uint64 `json:"count"`
	Of    uint64 `json:"of"`
	First string `json:"first,omitempty"` // of the run, from its action on
}

// String returns how many there were, and the first.
func (x *ScriptFaults) String() string {
	text := fmt.Sprintf("%d of %d iterations ended in an exception", x.Count, x.Of)
	if x.First != "" {
		text += ", the first: " + x.First
	}
	return text
}

// exceptionsOf returns the exceptions of a phase; nil without any.
func exceptionsOf(merged map[string]*measure.Window, events []record.Event) *ScriptFaults {
	all := workload.Together("", merged, workload.OfIterations)
	if all.Errors() == 0 {
		return nil
	}
	out := &ScriptFaults{Count: all.Errors(), Of: all.Count()}
	for _, e := range events {
		if text, ok := workload.ExceptionIn(e.Text); ok && e.Kind == "error" {
			out.First = text
			break
		}
	}
	return out
}

// A ShownOp is one series of a phase. Latencies are response times in milliseconds.
type ShownOp struct {
	Name   string            `json:"name"`
	Count  uint64            `json:"count"`
	Rate   float64           `json:"per_second"`
	Errors uint64            `json:"errors"`
	Class  map[string]uint64 `json:"errors_by_class,omitempty"`
	Status map[string]uint64 `json:"errors_by_status,omitempty"` // of the answers, 4xx and 5xx
	// Expected are answers with a status from 400 on that the dialect knows as right; they are not
	// errors.
	Expected []workload.ExpectedCount `json:"expected,omitempty"`
	Mean     float64                  `json:"mean_ms"`
	percentiles
	Interval *PercentileIntervals `json:"within_run_95,omitempty"` // of the measured phase
	// Of the operations that were under way at the end of the phase, Drained have ended since, and
	// are not in Rate; Open have not. AtLeast names the latencies that are lower bounds because of
	// these.
	Drained uint64   `json:"drained,omitempty"`
	Open    uint64   `json:"open,omitempty"`
	AtLeast []string `json:"at_least,omitempty"`
	// BySchedule is the response as if users had not waited, of phases in which fewer operations
	// began than were intended.
	BySchedule *BySchedule `json:"by_schedule,omitempty"`
}

// BySchedule holds the response times of one operation as if users had not waited, in milliseconds:
// of the measured operations and of the operations that were not begun.
type BySchedule struct {
	Omitted uint64 `json:"omitted"`
	percentiles
}

// percentiles of response times, in milliseconds.
type percentiles struct {
	P50  float64 `json:"p50_ms"`
	P95  float64 `json:"p95_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p99.9_ms"`
	Max  float64 `json:"max_ms"`
}

func percentilesOf(h *measure.Histogram) percentiles {
	ms := func(q float64) float64 { return h.Quantile(q).Seconds() * 1e3 }
	return percentiles{ms(.5), ms(.95), ms(.99), ms(.999), h.Max().Seconds() * 1e3}
}

// Show gathers everything that is known of the run. Parts that cannot be read become error events;
// the rest is worth showing.
func (r *Run) Show(ctx context.Context) (Shown, error) {
	s := Shown{Manifest: r.Manifest, Phase: "measure"}
	if err := r.LookAtAll(); err != nil {
		return s, err
	}
	s.Validity, s.Changed = r.Validity, r.Changed
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		if ph, ok = r.Manifest.Phase("search"); ok {
			s.Phase = "search"
		} else {
			s.Phase, ph.To = "whole run", 1<<62
		}
	}
	merged, err := r.Merged(ph.From, ph.To)
	// The rest of a damaged run is worth showing, with the changes.
	if err != nil && !errors.Is(err, record.ErrWindows) {
		return s, err
	}
	span := ph.To - ph.From
	if s.Phase == "whole run" {
		span = 0
	}
	s.Ops, s.Checks = opsOf(merged, span), report.ChecksOf(merged)
	fail := func(part string, err error) {
		s.Events = append(s.Events, record.Event{Kind: "error", Text: part + err.Error()})
	}
	if err := s.edges(r, ph, merged, span); err != nil {
		fail("", err)
	}
	events, err := r.Events()
	if err != nil {
		return s, err
	}
	s.Exceptions = exceptionsOf(merged, events)
	for _, e := range events {
		if e.Kind == "finding" || e.Kind == "error" || e.Phase == "measured" {
			s.Events = append(s.Events, e)
		}
	}
	var storms []record.StormOutcome
	if s.Data, storms, err = r.usersAndStorms(); err == nil {
		s.Data.Outside, err = r.Outside(storms)
	}
	if errors.Is(err, record.ErrWindows) {
		fail("", err)
	} else if err != nil {
		return s, err
	}
	if err := s.inside(ctx, r); err != nil { // the rest of the run is worth showing
		fail("stability: ", err)
	}
	if s.Limiter, err = r.Limiter(ctx, events); err != nil {
		fail("limiter: ", err)
	}
	s.Users, s.Login = s.Data.Users, opsOf(s.Data.Outside.Login, 0)
	for _, ops := range s.Data.Outside.Storms {
		s.Storms = append(s.Storms, opsOf(ops, 0))
	}
	return s, nil
}

// inside adds the drift in the measured phase, and the intervals of its percentiles.
func (s *Shown) inside(ctx context.Context, r *Run) error {
	c, err := r.Course()
	if err != nil || c == nil {
		return err
	}
	s.Intervals, s.Silent = c.N, Silent(c)
	for i := range s.Ops {
		o := &s.Ops[i]
		if o.Interval, err = IntervalsOf(c, o.Name, r.Manifest.Seed); err != nil {
			return err
		}
	}
	s.Drift, err = r.DriftIn(ctx, c)
	return err
}

// opsOf returns the operations of a phase of this length, by name and at last all of the steady
// state together; with 0 their rates are left out.
func opsOf(merged map[string]*measure.Window, span time.Duration) []ShownOp {
	var rows []ShownOp
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		w := merged[name]
		if w.Count() == 0 && w.Response.Count() == 0 { // only lags, of the generator
			continue
		}
		if workload.OfAnswers(name) || workload.OfChecks(name) { // shown with operations, or as checks
			continue
		}
		row := rowOf(w, span)
		is := func(op string) bool { return op == name }
		row.Status, row.Expected = workload.AnswersOf(merged, is), workload.ExpectedOf(merged, is)
		rows = append(rows, row)
	}
	if all := workload.Together(allOps, merged,
		workload.Steady); all.Count() > 0 || all.Response.Count() > 0 {
		row := rowOf(all, span)
		row.Status = workload.AnswersOf(merged, workload.Steady)
		rows = append(rows, row)
	}
	return rows
}

func rowOf(w *measure.Window, span time.Duration) ShownOp {
	r := ShownOp{
		Name:        w.Name,
		Count:       w.Count(),
		Errors:      w.Errors(),
		Class:       w.ByClass(),
		Mean:        w.Response.Mean().Seconds() * 1e3,
		percentiles: percentilesOf(w.Response),
	}
	if span > 0 {
		r.Rate = float64(r.Count) / span.Seconds()
	}
	return r
}

// edges adds to the rows the operations under way at the end of the phase, and those expected by
// the schedule of its users.
func (s *Shown) edges(r *Run, ph record.Phase, merged map[string]*measure.Window,
	span time.Duration) error {
	s.Of = ph
	never, _, err := r.Omitted()
	for i := range s.Ops {
		o := &s.Ops[i]
		selected := trial.Selector(o.Name)
		all := workload.Together(o.Name, merged, selected)
		omitted := workload.Together(o.Name, never, func(name string) bool {
			return merged[name] != nil && selected(name)
		})
		o.end(ph.Tail.Of(selected), all, span)
		if n := omitted.Response.Count(); n > 0 {
			omitted.Merge(all)
			o.BySchedule = &BySchedule{n, percentilesOf(omitted.Response)}
		}
	}
	return err
}

// end adds the operations that were under way when the phase of w ended.
func (o *ShownOp) end(t record.TailOp, w *measure.Window, span time.Duration) {
	o.Drained, o.Open = t.Drained, t.Open
	if span > 0 {
		o.Rate = float64(o.Count-min(t.Drained, o.Count)) / span.Seconds()
	}
	if t.Open == 0 {
		return
	}
	o.AtLeast = []string{"mean"}
	for name, q := range map[string]float64{"p50": .5, "p95": .95, "p99": .99, "p99.9": .999} {
		if t.Bound(w.Response.Quantile(q)) {
			o.AtLeast = append(o.AtLeast, name)
		}
	}
	if t.Bound(w.Response.Max()) {
		o.AtLeast = append(o.AtLeast, "max")
	}
	slices.Sort(o.AtLeast)
}

// usersAndStorms reads the record of a run's users.
func (r *Run) usersAndStorms() (d report.RunData, storms []record.StormOutcome, err error) {
	d.Manifest = r.Manifest
	if d.Users, err = r.Users(); d.Users != nil {
		storms = d.Users.Storms
	}
	return d, storms, err
}

// Title is the first line about a run. One that was interrupted has the reason in the place of its
// validity.
func (s *Shown) Title() string {
	m := s.Manifest
	state, valid := string(m.State), "NOT VALID"
	if s.Validity.Valid {
		valid = "valid"
	}
	switch {
	case len(s.Changed) > 0:
		state = "CHANGED since it was " + state
	case m.State == record.Interrupted:
		return fmt.Sprintf(
			"run %s: %s; only a part of it was measured",
			m.ID,
			record.Interruption(m.Why),
		)
	}
	return fmt.Sprintf("run %s: %s, %s", m.ID, state, valid)
}

// Found returns the findings, except the interruption of the run, which is in the title.
func (s *Shown) Found() []record.Finding {
	return slices.DeleteFunc(slices.Clone(s.Validity.Findings), func(f record.Finding) bool {
		return f.Gate == "complete" && s.Manifest.State == record.Interrupted
	})
}

// Ended returns how the search ended, and why it is unstable, if it is; without the cause that the
// limiter names.
func (s *Shown) Ended() (how, unstable string) {
	c := s.Manifest.Capacity
	if how = c.Stopped; c.Kind == record.Unstable {
		unstable = c.Why
	}
	_, reading := c.Gate()
	if reading == "" || s.Limiter == nil {
		return how, unstable
	}
	if _, rest, ok := strings.Cut(unstable, reading+"; "); ok {
		unstable = rest
	}
	return "", unstable
}

// Named returns the limiter, but for one that is none and repeats why the search is unstable.
func (s *Shown) Named() *limiter.Limiter {
	c, l := s.Manifest.Capacity, s.Limiter
	if l != nil && l.Name == limiter.LimitNone && c != nil && c.Kind == record.Unstable {
		return nil
	}
	return l
}

// unnamed returns the findings that neither the limiter nor the capacity of an unstable search
// names.
func (s *Shown) unnamed() []record.Finding {
	c := s.Manifest.Capacity
	if c == nil {
		return s.Found()
	}
	gate, _ := c.Gate()
	return slices.DeleteFunc(s.Found(), func(f record.Finding) bool {
		return f.Level == record.Amber &&
			(c.Kind == record.Unstable && f.Gate == "search" || s.Limiter != nil && f.Gate == gate)
	})
}

// unsettled returns the reason why no test was made whether the target was settled in the measured
// phase; "" if it was tested, or if there is no such phase.
func (s *Shown) unsettled() string {
	ph, ok := s.Manifest.Phase("measure")
	if !ok {
		return ""
	}
	switch _, n := ph.Seconds(); {
	case s.Users != nil && len(s.Users.Storms) > 0:
		return "a measured phase with storms is not asked whether it was steady from its beginning; they are there to disturb it"
	case n < stats.MinWarmup:
		return fmt.Sprintf(
			"a measured phase of %d s is too short to tell whether it was steady from its beginning; %d s are needed",
			n,
			stats.MinWarmup,
		)
	case !stats.FewHoles(s.Silent, s.Intervals):
		return fmt.Sprintf(
			"%d of %d intervals of the measured phase had no answer; with more than a tenth of them it is not told whether it was steady from its beginning",
			s.Silent,
			s.Intervals,
		)
	}
	return ""
}

// moved returns the signals that were not steady in the measured phase.
func (s *Shown) moved() []string {
	var moved []string
	for _, d := range s.Drift {
		if d.State != drift.Steady && d.State != drift.TooShort {
			moved = append(moved, d.Signal)
		}
	}
	return moved
}

// Tail returns the operations of the steady state that were under way at the end of the phase;
// nothing if the run does not record them.
func (s *Shown) Tail() record.TailOp {
	if s.Of.Tail == nil {
		return record.TailOp{}
	}
	return s.Of.Tail.Of(workload.Steady)
}
