package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/store"
	"plimsoll/verdict"
)

// sizing is the verb for a ladder of load steps: a grade for each, and advice.
func (a *app) sizing(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the report as JSON instead of Markdown")
	engine := fs.String("database", "", "database engine, when the plan has several (default its first)")
	arm := fs.String("arm", "", "arm, when the plan compares some (default base)")
	rate := a.calibrateFlag(fs)
	a.outwardFlags(fs)
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	p, err := a.readPlan(rest[0])
	if err != nil {
		return err
	}
	if p.Sizing == nil {
		return usagef("%s: the plan has no section sizing; add one, such as sizing: {steps: [50, 200, 400]}", rest[0])
	}
	pt := part{arm: *arm, engine: *engine}
	if p, err = a.narrow(p, &pt, 0); err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	s, end, err := a.begin(ctx, p, *root, *rate)
	if err != nil {
		return err
	}
	defer end()
	deployed := s.newDeployments()
	defer deployed.close()
	z := &record.Sizing{ID: store.NewID(time.Now(), p.Name), Name: p.Name, Tool: version(), Plan: p.String(), PlanDigest: p.Digest(),
		Engine: pt.engine, Started: time.Now(), State: record.Running, Planned: p.Sizing.Steps}
	pt.comparison = z.ID
	l := &ladder{session: s, plan: p, part: pt, record: z, prefix: rest[0]}
	err = l.climb(ctx, deployed)
	deployed.close()
	z.Ended = time.Now()
	switch {
	case err != nil:
		z.State, z.Why = record.Interrupted, err.Error()
	case ctx.Err() != nil:
		z.State, z.Why = record.Interrupted, context.Cause(ctx).Error()
	default:
		z.State = record.Sealed
	}
	if serr := s.store.SaveSizing(z); err != nil || serr != nil {
		return errors.Join(err, serr)
	}
	s.prog.end()
	// What an interrupted ladder has measured is reported too.
	return a.concludeSizing(context.WithoutCancel(ctx), s.store, z, *asJSON)
}

// A ladder carries out the steps of a sizing on one deployment.
type ladder struct {
	*session
	plan   *plan.Plan // the whole one; session.plan is that of the step under way
	part   part
	record *record.Sizing
	prefix string
}

// searched are the steps of a ladder without given ones, as parts of the capacity that a first search finds: those of the
// self-hosters' table around its own knee of 500 users (50, 200, 400, 500, 750).
var searched = []float64{0.1, 0.4, 0.8, 1, 1.5}

// stepsAround returns the steps for a capacity, with two significant digits, ascending, and at most max users. A capacity
// that is no estimate has no step beyond it that would mean anything.
func stepsAround(c record.Capacity, most int) []int {
	var out []int
	for _, share := range searched {
		if share > 1 && c.Kind != record.Estimate {
			continue
		}
		v := share * c.Users
		unit := math.Pow(10, max(math.Floor(math.Log10(max(v, 1)))-1, 0))
		n := min(max(int(math.Round(v/unit)*unit), 1), most)
		if len(out) == 0 || n > out[len(out)-1] {
			out = append(out, n)
		}
	}
	return out
}

// climb searches for steps if there are none, and carries out one after another. An error means that the tool failed.
func (l *ladder) climb(ctx context.Context, deployed *deployments) error {
	most := 0
	if u := l.plan.Unbounded; u != nil && len(l.record.Planned) == 0 {
		most = u.MaxUsers
	}
	for _, n := range l.record.Planned {
		most = max(most, n)
	}
	pt := l.part
	pt.bounded = true
	l.session.plan = l.step(most) // for how many users the system is made
	l.prog.what(l.prefix, 0)
	sys, err := deployed.system(ctx, pt)
	if err != nil {
		return err
	}
	if len(l.record.Planned) == 0 {
		search := l.part
		search.unbounded = true
		l.session.plan = l.plan
		l.prog.what(l.prefix+"  search", 0)
		r, _, err := l.trial(ctx, sys, search)
		if err != nil {
			return err
		}
		l.record.Search, l.record.Capacity = r.Manifest.ID, r.Manifest.Capacity
		if ctx.Err() != nil {
			return nil
		}
		c := r.Manifest.Capacity
		if c == nil || c.Kind == record.Invalid {
			return fmt.Errorf("run %s: the first search found no capacity to choose steps from; look at \"plimsoll show\", or write sizing.steps", r.Manifest.ID)
		}
		around := *c
		if c.Kind == record.Unstable {
			if around.Users = c.Held; around.Users == 0 {
				around.Users = c.Reached
			}
		}
		l.record.Planned = stepsAround(around, most)
		l.prog.say("capacity %s users: steps %v", capacityText(c.Kind, c.Users), l.record.Planned)
	}
	for i, n := range l.record.Planned {
		pt.order = i + 1
		pt.keep = i > 0 // the first one begins with the state that the plan names, the others go on from there
		l.session.plan = l.step(n)
		var after time.Duration
		for _, later := range l.record.Planned[i+1:] {
			b := l.step(later).Bounded
			after += b.Ramp + b.Settle + b.Measure
		}
		l.prog.what(fmt.Sprintf("%s  step %d/%d  %d users", l.prefix, i+1, len(l.record.Planned), n), after)
		r, out, err := l.trial(ctx, sys, pt)
		if err != nil {
			return err
		}
		digest, err := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile))
		if err != nil {
			return err
		}
		l.record.Steps = append(l.record.Steps, record.SizingStep{Users: n, Run: r.Manifest.ID, Digest: digest})
		if err := l.store.SaveSizing(l.record); err != nil {
			return err
		}
		if out.Interrupted != "" && ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// step is the plan of one step: a bounded test alone.
func (l *ladder) step(n int) *plan.Plan {
	q := *l.plan
	z := q.Sizing
	q.Unbounded = nil
	q.Bounded = &plan.Bounded{Users: plan.PerEngine{"": n}, Ramp: z.Ramp.Ramp(n), Settle: z.Settle, Measure: z.Hold}
	steps := *z
	steps.Steps = []int{n}
	q.Sizing = &steps
	if q.Compare != nil {
		c := *q.Compare
		c.Combine = false
		q.Compare = &c
	}
	return &q
}

// refusals are the events by which someone between users and server refused.
func refusals(events []record.Event) []string {
	var out []string
	for _, e := range events {
		if e.Kind != "error" || !mattermost.Refused(e.Text) {
			continue
		}
		_, text, found := strings.Cut(e.Text, "first failure of its kind: ")
		if !found {
			_, text, _ = strings.Cut(e.Text, ": ") // of a user who could not log in
		}
		if !slices.Contains(out, text) && len(out) < 5 {
			out = append(out, text)
		}
	}
	return out
}

// sizingDocument reads the runs of a ladder and draws the conclusions.
func (a *app) sizingDocument(ctx context.Context, st *store.Store, z *record.Sizing) (report.SizingDocument, error) {
	d := report.SizingDocument{Format: report.SizingFormat, ID: z.ID, Name: z.Name, Tool: z.Tool, Search: z.Capacity, PlanText: z.Plan,
		Complete: z.State == record.Sealed && len(z.Steps) == len(z.Planned) && len(z.Steps) > 0, Why: z.Why}
	if !d.Complete && d.Why == "" {
		d.Why = fmt.Sprintf("%d of %d steps were done", len(z.Steps), len(z.Planned))
	}
	p, err := plan.Parse([]byte(z.Plan))
	if err != nil {
		return d, fmt.Errorf("the stored plan of %s: %w", z.ID, err)
	}
	d.Plan = p
	var steps []verdict.Step
	var machine verdict.Machine
	var runs []*record.Run
	for _, step := range z.Steps {
		r, err := st.Run(step.Run)
		if err != nil {
			return d, err
		}
		runs = append(runs, r)
		s, err := stepOf(ctx, r, step.Users)
		if err != nil {
			return d, fmt.Errorf("run %s: %w", step.Run, err)
		}
		changed, err := r.VerifyNumbers()
		if err != nil {
			return d, fmt.Errorf("run %s: %w", step.Run, err)
		}
		if digest, err := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile)); err != nil || digest != step.Digest || len(changed) > 0 {
			s.Valid, s.Why = false, "the run was changed since it was sealed"
		}
		if r.Manifest.InDigests && z.Undigested {
			return d, fmt.Errorf("sizing %s %w: steps.json has lost the digests that it was written with; bring it back as it was, or repeat the steps", z.ID, record.ErrAltered)
		}
		steps = append(steps, s)
		signals, err := driftOf(ctx, r)
		if err != nil {
			return d, fmt.Errorf("run %s: %w", step.Run, err)
		}
		if s.Valid && seen(signals) {
			d.Drift = append(d.Drift, report.StepDrift{Users: step.Users, Signals: signals})
		}
		machine.Cores = float64(len(r.Manifest.TargetCPUs))
		d.Setup = setupOf(r.Manifest)
		if t, ok := targetOf(r.Manifest); ok && t.Database != nil {
			d.Setup = append(d.Setup, record.Row{Name: "Database", Value: serverOf(t)})
		}
	}
	for _, o := range p.Prices {
		if o.Name == p.Sizing.Offer {
			machine.Name, machine.Memory = o.Name, float64(o.Memory)
			if machine.Cores == 0 { // the target is elsewhere
				machine.Cores = float64(o.VCPU)
			}
		}
	}
	for _, r := range p.Setup {
		d.Setup = append(d.Setup, record.Row{Name: r.Name, Value: r.Value})
	}
	d.Sizing = verdict.Size(steps, machine, p.Prices)
	l, err := limiterOfSteps(ctx, p, runs, d.Steps)
	d.Limit(l, p.Prices)
	return d, err
}

// seen reports whether a run was long enough to see any drift.
func seen(signals []verdict.Drift) bool {
	return slices.ContainsFunc(signals, func(d verdict.Drift) bool { return d.State != verdict.TooShort })
}

// concludeSizing writes all forms of the report, prints one, and says by its status whether every step may be believed.
func (a *app) concludeSizing(ctx context.Context, st *store.Store, z *record.Sizing, asJSON bool) error {
	d, err := a.sizingDocument(ctx, st, z)
	if err != nil {
		return err
	}
	dir := st.SizingDir(z.ID)
	forms := map[string]func(io.Writer, report.SizingDocument) error{
		"report.md": report.SizingMarkdown, "report.html": report.SizingHTML, "report.csv": report.SizingCSV, "report.json": report.SizingJSON,
	}
	written := makeDir(dir)
	for name, write := range forms {
		if written == nil {
			if written = writeFile(filepath.Join(dir, name), func(w io.Writer) error { return write(w, d) }); written != nil {
				written = fmt.Errorf("report %s: %w", name, written)
			}
		}
	}
	if written != nil && !unwritable(written) {
		return written
	}
	print := report.SizingMarkdown
	if asJSON {
		print = report.SizingJSON
	}
	if err := print(a.stdout, d); err != nil {
		return err
	}
	if written != nil {
		plain.Fprintf(a.stderr, notWritten, written)
	} else {
		plain.Fprintf(a.stderr, "report: %s (and .html, .csv, .json)\n", filepath.Join(dir, "report.md"))
	}
	if z.State != record.Sealed {
		plain.Fprintf(a.stderr, "plimsoll: the steps were interrupted: %s\n", z.Why)
		return statusError(exitTool)
	}
	if slices.ContainsFunc(d.Steps, func(s verdict.Step) bool { return s.Grade == "" }) {
		return statusError(exitInvalid)
	}
	return nil
}
