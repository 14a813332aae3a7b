package verbs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/cmd/internal/own"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/plan/draft"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
	"plimsoll/run/session"
	"plimsoll/run/sizing"
)

// sizing is the verb for a ladder of load steps: a grade for each, and advice.
func (a *app) sizing(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the report as JSON")
	engine := fs.String("database", "", "database engine, when the plan has several (default its first)")
	arm := fs.String("arm", "", "arm, when the plan compares some (default base)")
	rate := a.calibrateFlag(fs)
	keep := keepFlag(fs)
	a.outwardFlags(fs)
	users := fs.Int("users", 0, "with a URL: users of the highest step (default 200)")
	first := noplan.AddFlags(fs)
	rest, err := parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	p, next, err := a.planAt(ctx, draft.Graded, rest[0], *users, first)
	if err != nil {
		return err
	}
	if next == "" && *users != 0 {
		return plan.Usagef("-users goes with the URL of a server; write sizing.steps into the plan")
	}
	if p.Sizing == nil {
		return plan.Usagef("%s: the plan has no section sizing; add one, such as sizing: {steps: [50, 200, 400]}", rest[0])
	}
	pt := session.RunPart{Arm: *arm, Engine: *engine}
	if p, err = a.program().Narrow(p, &pt, 0); err != nil {
		return fmt.Errorf("%s: %w", rest[0], err)
	}
	a.clearance.Part = &pt
	s, end, err := session.Begin(ctx, a.program(), p, *root, *rate)
	if err != nil {
		return err
	}
	defer end()
	deployed := s.NewDeployments()
	deployed.Kept = *keep
	defer deployed.Close()
	z := &record.Sizing{ID: store.NewID(time.Now(), p.Name), Name: p.Name, Tool: own.Version(), Plan: p.String(), PlanDigest: p.Digest(),
		Engine: pt.Engine, Started: time.Now(), State: record.Running, Planned: p.Sizing.Steps}
	pt.Comparison = z.ID
	l := &sizing.Ladder{Session: s, Plan: p, Part: pt, Record: z, Prefix: label(rest[0], draft.Graded, next)}
	err = l.Climb(ctx, deployed)
	deployed.Close()
	z.Ended = time.Now()
	switch {
	case err != nil:
		z.State, z.Why = record.Interrupted, err.Error()
	case ctx.Err() != nil:
		z.State, z.Why = record.Interrupted, context.Cause(ctx).Error()
	default:
		z.State = record.Sealed
		deployed.Clear()
	}
	if serr := s.Store.SaveSizing(z); err != nil || serr != nil {
		return errors.Join(err, serr)
	}
	s.Progress.End()
	// The results of an interrupted ladder are reported too.
	err = a.concludeSizing(context.WithoutCancel(ctx), s.Store, z, *asJSON)
	a.goOn(next, *asJSON)
	return err
}

// concludeSizing writes all forms of the report, prints one, and returns its status.
func (a *app) concludeSizing(ctx context.Context, st *store.Store, z *record.Sizing, asJSON bool) error {
	d, err := a.catalog().Sizing(ctx, z, st.Run)
	if err != nil {
		return err
	}
	dir := st.SizingDir(z.ID)
	forms := map[string]func(io.Writer) error{
		"report.md": func(w io.Writer) error { return report.Markdown(w, d) }, "report.html": func(w io.Writer) error { return report.HTML(w, d) },
		"report.csv": func(w io.Writer) error { return report.SizingCSV(w, d) }, "report.json": func(w io.Writer) error { return report.JSON(w, d) },
	}
	written := makeDir(dir)
	for name, write := range forms {
		if written == nil {
			if written = writeFile(filepath.Join(dir, name), write); written != nil {
				written = fmt.Errorf("report %s: %w", name, written)
			}
		}
	}
	if written != nil && !unwritable(written) {
		return written
	}
	show := func(w io.Writer) error { return report.SizingScreen(w, d, 0) }
	if asJSON {
		show = forms["report.json"]
	}
	if err := show(a.stdout); err != nil {
		return err
	}
	if written != nil {
		plain.Fprintf(a.stderr, notWritten, written)
	} else {
		plain.Fprintf(a.stderr, "report: %s (and .html, .csv, .json)\n", filepath.Join(dir, "report.md"))
	}
	if z.State != record.Sealed {
		plain.Fprintf(a.stderr, "plimsoll: the steps were interrupted: %s\n", z.Why)
	}
	for _, w := range d.LostWarnings() {
		plain.Fprintf(a.stderr, "plimsoll: %s\n", w)
	}
	if status := exit.Sized(z.State, d); status != exit.OK {
		return exit.StatusError(status)
	}
	return nil
}
