package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/measure"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/store"
	"plimsoll/verdict"
	"plimsoll/workload"
)

// storeFlag adds the flag that says where the store is.
func (a *app) storeFlag(fs *flag.FlagSet) *string {
	def := a.env("PLIMSOLL_STORE")
	if def == "" {
		def = ".plimsoll"
	}
	return fs.String("store", def, "directory of runs and comparisons (environment PLIMSOLL_STORE)")
}

// ls lists the store's runs.
func (a *app) ls(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the list as JSON")
	aa := fs.Bool("aa", false, "list the noise floors that comparisons of a build with itself have left, by environment, database and metric")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	if *aa {
		return a.listNoise(st, *asJSON)
	}
	entries, warnings, err := st.List(ctx)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		plain.Fprintf(a.stderr, "plimsoll ls: %v\n", w)
	}
	if *asJSON {
		if entries == nil {
			entries = []store.Entry{}
		}
		return a.json(entries)
	}
	tw := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "RUN\tBEGAN\tSTATE\tVALID\tARM\tDATABASE\tBLOCK\tCAPACITY\tCOMPARISON\n")
	for _, e := range entries {
		valid := "no"
		if e.Valid {
			valid = "yes"
		}
		state := string(e.State)
		if len(e.Changed) > 0 {
			state = "CHANGED"
			plain.Fprintf(a.stderr, "plimsoll ls: run %s changed since it was sealed: %s; bring it back as it was, or repeat it\n", e.ID, strings.Join(e.Changed, ", "))
		}
		plain.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Epoch.Local().Format(time.DateTime), state, valid,
			dash(e.Arm), dash(e.Engine), blockText(e.Block), capacityText(e.CapacityKind, e.Capacity), dash(e.Comparison))
	}
	return tw.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func blockText(n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprint(n)
}

func capacityText(kind string, users float64) string {
	switch kind {
	case record.Estimate:
		return fmt.Sprintf("%.0f", users)
	case record.AtLeast:
		return fmt.Sprintf("≥ %.0f", users)
	case record.Unstable, record.Invalid:
		return kind
	}
	return "-"
}

// shown is what show prints of a run.
type shown struct {
	Manifest record.Manifest  `json:"manifest"`
	Validity record.Validity  `json:"validity"`
	Phase    string           `json:"phase"` // that the operations are of
	Ops      []opRow          `json:"operations"`
	Events   []record.Event   `json:"findings_and_errors"`
	Changed  []string         `json:"changed_files"` // since the run was sealed
	Users    *record.Users    `json:"users,omitempty"`
	Login    []opRow          `json:"login,omitempty"`            // over the whole run
	Storms   [][]opRow        `json:"storm_operations,omitempty"` // of each of Users.Storms
	Drift    []verdict.Drift  `json:"drift,omitempty"`            // in the measured phase
	Limiter  *verdict.Limiter `json:"limiter,omitempty"`          // what stopped it
	data     report.RunData
	phase    record.Phase // the one that the operations are of
	// The measured phase is cut into intervals, of which silent had no answer; 0 where it could not be read.
	intervals, silent int
}

// An opRow is one series of a phase. Latencies are response times in milliseconds.
type opRow struct {
	Name   string            `json:"name"`
	Count  uint64            `json:"count"`
	Rate   float64           `json:"per_second"`
	Errors uint64            `json:"errors"`
	Class  map[string]uint64 `json:"errors_by_class,omitempty"`
	Status map[string]uint64 `json:"errors_by_status,omitempty"` // of the answers, 4xx and 5xx
	// Expected are answers with a status from 400 on that the dialect knows as right; they are no errors.
	Expected []workload.ExpectedCount `json:"expected,omitempty"`
	Mean     float64                  `json:"mean_ms"`
	P50      float64                  `json:"p50_ms"`
	P95      float64                  `json:"p95_ms"`
	P99      float64                  `json:"p99_ms"`
	Max      float64                  `json:"max_ms"`
	Within   *within                  `json:"within_run_95,omitempty"` // of the measured phase
	// Of the operations that were under way at the end of the phase, Drained have ended since, and are not in Rate; Open have not. AtLeast
	// names the latencies that are lower bounds because of these.
	Drained uint64   `json:"drained,omitempty"`
	Open    uint64   `json:"open,omitempty"`
	AtLeast []string `json:"at_least,omitempty"`
	// BySchedule is the response as if users had not waited, of phases in which fewer operations began than were intended.
	BySchedule *bySchedule `json:"by_schedule,omitempty"`
}

func rowsOf(merged map[string]*measure.Window, span time.Duration) []opRow {
	all := measure.NewWindow("op")
	var rows []opRow
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		w := merged[name]
		if w.Count() == 0 && w.Response.Count() == 0 { // only lags, of the generator
			continue
		}
		if workload.OfAnswers(name) { // counted with its operation
			continue
		}
		if workload.Steady(name) {
			all.Merge(w)
		}
		row := rowOf(w, span)
		row.Status = workload.AnswersOf(merged, func(op string) bool { return op == name })
		row.Expected = workload.ExpectedOf(merged, func(op string) bool { return op == name })
		rows = append(rows, row)
	}
	if all.Count() > 0 || all.Response.Count() > 0 {
		row := rowOf(all, span)
		row.Status = workload.AnswersOf(merged, workload.Steady)
		rows = append(rows, row)
	}
	return rows
}

func rowOf(w *measure.Window, span time.Duration) opRow {
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	h := w.Response
	r := opRow{Name: w.Name, Count: w.Count(), Errors: w.Errors(), Mean: ms(h.Mean()), P50: ms(h.Quantile(.5)),
		P95: ms(h.Quantile(.95)), P99: ms(h.Quantile(.99)), Max: ms(h.Max())}
	if span > 0 {
		r.Rate = float64(r.Count) / span.Seconds()
	}
	for c, n := range w.Classes {
		if n > 0 && measure.Class(c) != measure.OK {
			if r.Class == nil {
				r.Class = map[string]uint64{}
			}
			r.Class[measure.Class(c).String()] = n
		}
	}
	return r
}

// statusText tells the statuses of a class of answers apart: " (429 3708)".
func statusText(class string, statuses map[string]uint64) string {
	var of []string
	for _, s := range slices.Sorted(maps.Keys(statuses)) {
		if digit, answers := strings.CutSuffix(class, "xx"); answers && strings.HasPrefix(s, digit) {
			of = append(of, fmt.Sprintf("%s %d", s, statuses[s]))
		}
	}
	if len(of) == 0 {
		return ""
	}
	return " (" + strings.Join(of, ", ") + ")"
}

// show prints one run.
func (a *app) show(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the run as JSON")
	pages := fs.String("pages", "", "instead write the run's system and coordinator metrics as HTML pages into this directory")
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	r, err := st.Run(rest[0])
	if err != nil {
		return usageError{err}
	}
	if *pages != "" {
		return a.showPages(ctx, *pages, r)
	}
	s, err := look(ctx, r)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.json(s)
	}
	a.printRun(s, true)
	return nil
}

// look gathers what show prints.
func look(ctx context.Context, r *record.Run) (shown, error) {
	s := shown{Manifest: r.Manifest, Phase: "measure"}
	if r.Ended() {
		changed, err := r.Verify()
		if err != nil {
			return s, err
		}
		r.Distrust(changed...)
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
	if err != nil && !errors.Is(err, record.ErrWindows) { // what is there of a damaged run is worth showing, with what changed
		return s, err
	}
	span := ph.To - ph.From
	if s.Phase == "whole run" {
		span = 0
	}
	s.Ops = rowsOf(merged, span)
	if err := s.edges(r, ph, merged, span); err != nil {
		s.Events = append(s.Events, record.Event{Kind: "error", Text: err.Error()})
	}
	events, err := r.Events()
	if err != nil {
		return s, err
	}
	for _, e := range events {
		if e.Kind == "finding" || e.Kind == "error" || e.Phase == "measured" {
			s.Events = append(s.Events, e)
		}
	}
	if s.data, err = usersData(r); errors.Is(err, record.ErrWindows) {
		s.Events = append(s.Events, record.Event{Kind: "error", Text: err.Error()})
	} else if err != nil {
		return s, err
	}
	if err := s.inside(ctx, r); err != nil { // the rest of the run is worth showing
		s.Events = append(s.Events, record.Event{Kind: "error", Text: "stability: " + err.Error()})
	}
	if s.Limiter, err = limiterOf(ctx, r, events); err != nil {
		s.Events = append(s.Events, record.Event{Kind: "error", Text: "limiter: " + err.Error()})
	}
	s.Users, s.Login = s.data.Users, rowsOf(s.data.Outside.Login, 0)
	for _, ops := range s.data.Outside.Storms {
		s.Storms = append(s.Storms, rowsOf(ops, 0))
	}
	return s, nil
}

// inside says what moved in the measured phase, and how well it knows its percentiles.
func (s *shown) inside(ctx context.Context, r *record.Run) error {
	c, err := courseOf(r)
	if err != nil || c == nil {
		return err
	}
	s.intervals, s.silent = c.N, silent(c)
	if err := addWithin(s.Ops, c, r.Manifest.Seed); err != nil {
		return err
	}
	db, err := openSeries(r.Dir)
	if err != nil {
		return err
	}
	defer db.Close()
	s.Drift, err = driftIn(ctx, db, r, c)
	return err
}

// printRun shows a run; with all, every gate with its readings.
func (a *app) printRun(s shown, all bool) {
	m := s.Manifest
	w := a.stdout
	state := string(m.State)
	if len(s.Changed) > 0 {
		state = "CHANGED since it was " + state
	}
	plain.Fprintf(w, "run %s: %s, %s\n", m.ID, state, validText(s.Validity))
	if m.Why != "" {
		plain.Fprintf(w, "  why: %s\n", m.Why)
	}
	for _, c := range s.Changed {
		plain.Fprintf(w, "  changed: %s\n", c)
	}
	plain.Fprintf(w, "  plan %s (%s), seed %d, arm %s, database %s\n", m.Name, clip(m.PlanDigest, 19), m.Seed, dash(m.Arm), dash(m.Engine))
	for _, p := range m.Phases {
		plain.Fprintf(w, "  %-8s %6.1f s to %6.1f s, %d users at its end", p.Name, p.From.Seconds(), p.To.Seconds(), p.Users)
		if p.Ended != "" {
			plain.Fprintf(w, "; %s", p.Ended)
		}
		plain.Fprintf(w, "\n")
	}
	if c := m.Capacity; c != nil {
		plain.Fprintf(w, "  capacity: %s", capacityText(c.Kind, c.Users))
		if c.Kind == record.Estimate {
			plain.Fprintf(w, " users [%.0f, %.0f] within the run, by %s", c.Lo, c.Hi, c.Estimator)
		}
		plain.Fprintf(w, "; stopped by %s; %s\n", dash(c.Rule), c.Stopped)
		if c.Confirmed > 0 {
			plain.Fprintf(w, "  held for %v without a violation; an effect that comes later would not have shown\n", c.Confirmed.Round(100*time.Millisecond))
		}
		if c.Kind == record.Unstable {
			plain.Fprintf(w, "  unstable: %s\n", c.Why)
			if c.Reached > 0 && c.Held > 0 {
				plain.Fprintf(w, "  two capacities: %.0f users going up, %.0f after an overload\n", c.Reached, c.Held)
			}
		}
		if c.Recommended > 0 {
			plain.Fprintf(w, "  nine of ten plateaus hold at %.0f users\n", c.Recommended)
		}
	}
	for _, f := range s.Validity.Findings {
		plain.Fprintf(w, "  %s %s: %s\n", f.Level, f.Gate, f.Text)
	}
	printGates(w, s.Validity.Gates, all)
	if c := m.Connections; c != nil && c.String() != "" {
		plain.Fprintf(w, "  kept connections: %s\n", c)
	}
	if a := m.Answers; a != nil {
		plain.Fprintf(w, "  answers under way: %s\n", a)
	}
	plain.Fprintf(w, "\noperations of phase %s (response times in ms):\n", s.Phase)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	between := hasWithin(s.Ops)
	head := "NAME\tCOUNT\t/S\tERRORS\tMEAN\tP50\tP95\tP99\tMAX\t"
	if between {
		head += "95 % OF P95\t"
	}
	plain.Fprintf(tw, "%s\n", plain.Block(head))
	for _, o := range s.Ops {
		plain.Fprintf(tw, "%s\t%d\t%.2f\t%d\t%s\t%s\t%s\t%s\t%s\t", o.Name, o.Count, o.Rate, o.Errors, o.ms("mean", o.Mean), o.ms("p50", o.P50), o.ms("p95", o.P95), o.ms("p99", o.P99), o.ms("max", o.Max))
		if between {
			plain.Fprintf(tw, "%s\t", withinText(o))
		}
		plain.Fprintf(tw, "\n")
	}
	tw.Flush()
	s.printEdges(w)
	printWithin(w, s.Ops)
	for _, o := range s.Ops {
		for _, c := range slices.Sorted(maps.Keys(o.Class)) {
			plain.Fprintf(w, "  %s: %d %s%s\n", o.Name, o.Class[c], c, statusText(c, o.Status))
		}
		for _, e := range o.Expected {
			plain.Fprintf(w, "  %s: %s (no error)\n", o.Name, e)
		}
	}
	for _, e := range s.Events {
		if e.Kind == "slo" {
			mark := "✓"
			if e.Violated {
				mark = "✗"
			}
			if e.NoData {
				mark = "no data"
			}
			plain.Fprintf(w, "  %s %s: %.4g of %.4g\n", mark, e.Rule, e.Value, e.Limit)
		} else if e.Kind == "error" {
			plain.Fprintf(w, "  error at %.1f s: %s\n", e.At.Seconds(), e.Text)
		}
	}
	printLimiter(w, s.Limiter, all)
	printSettling(w, s)
	if seen(s.Drift) {
		plain.Fprintf(w, "\nstability in the measured phase (docs/statistics.md):\n")
		steady := 0
		for _, d := range s.Drift {
			if !all && d.State == verdict.Steady {
				steady++
				continue
			}
			plain.Fprintf(w, "  %s\n", d.Sentence)
		}
		if steady > 0 {
			plain.Fprintf(w, "  %d of %d signals show no drift that matters; show names how slow a one the run could not see\n", steady, len(s.Drift))
		}
	}
	p, err := plan.Parse([]byte(m.Plan))
	if err != nil {
		p = nil // of another version; then the report names neither mix nor login
	}
	if err := report.RunText(w, s.data, p); err != nil {
		plain.Fprintf(a.stderr, "plimsoll: %v\n", err)
	}
}

// usersData reads what the users of a run did.
func usersData(r *record.Run) (d report.RunData, err error) {
	d.Manifest = r.Manifest
	if d.Users, err = r.Users(); err != nil {
		return d, err
	}
	var storms []record.Storm
	if d.Users != nil {
		storms = d.Users.Storms
	}
	d.Outside, err = r.Outside(storms)
	return d, err
}

// printGates shows the gates of the generator's health: each with all, otherwise how many were in which state.
func printGates(w io.Writer, gates []record.Gate, all bool) {
	if len(gates) == 0 {
		return
	}
	if !all {
		names := map[string][]string{}
		for _, g := range gates {
			names[g.Level] = append(names[g.Level], g.Name)
		}
		plain.Fprintf(w, "  gates of the generator: %d green", len(names[record.Green]))
		for _, level := range []string{record.Amber, record.Red, record.NotMeasured, record.NotApplicable} {
			if n := names[level]; len(n) > 0 {
				plain.Fprintf(w, "; %d %s (%s)", len(n), level, strings.Join(n, ", "))
			}
		}
		plain.Fprintf(w, "\n")
		return
	}
	plain.Fprintf(w, "\ngates of the generator (docs/validity.md; the last three columns are seconds):\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "GATE\tSTATE\tREADING\tWORST\tAMBER\tRED\tREAD\tAMBER\tRED\t\n")
	for _, g := range gates {
		show := func(v *float64) string {
			if v == nil {
				return "-"
			}
			return plan.Gate{Unit: g.Unit}.Format(*v)
		}
		plain.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d\t%d\t%s\n", g.Name, g.Level, show(g.Value), show(g.Worst), show(&g.Amber), show(&g.Red),
			g.Seconds, g.AmberSeconds, g.RedSeconds, g.Why)
	}
	tw.Flush()
}

func validText(v record.Validity) string {
	if v.Valid {
		return "valid"
	}
	return "NOT VALID"
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
