package read

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/usage"
	"plimsoll/evidence"
	"plimsoll/internal/parallel"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
)

// Ls lists the store's runs.
func Ls(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	root := a.StoreFlag(fs)
	asJSON := fs.Bool("json", false, "write the list as JSON")
	aa := fs.Bool("aa", false, "list the noise floors that comparisons of a build with itself have left, by environment, database and metric")
	if _, err := usage.Parse(fs, args, 0, 0); err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	if *aa {
		return listNoise(a, st, *asJSON)
	}
	entries, warnings, err := st.List(ctx)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		plain.Fprintf(a.Stderr, "plimsoll ls: %v\n", w)
	}
	if *asJSON {
		if entries == nil {
			entries = []store.Entry{}
		}
		return a.JSON(entries)
	}
	tw := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	plain.Fprintf(tw, "RUN\tBEGAN\tSTATE\tVALID\tARM\tDATABASE\tBLOCK\tUSERS\tPER S\tP95 MS\tERRORS\tCAPACITY\tCOMPARISON\n")
	for _, e := range entries {
		valid := "no"
		switch {
		case e.Valid:
			valid = "yes"
		case e.State == record.Interrupted:
			valid = "-"
		}
		state := string(e.State)
		if len(e.Changed) > 0 {
			state = "CHANGED"
			plain.Fprintf(a.Stderr, "plimsoll ls: run %s changed since it was sealed: %s; bring it back as it was, or repeat it\n", e.ID, strings.Join(e.Changed, ", "))
		}
		measured := "-\t-\t-\t-"
		if m := e.Measured; m != nil {
			measured = fmt.Sprintf("%d\t%.3g\t%.3g\t%d of %d", m.Users, m.Rate, m.P95, m.Errors, m.Count)
		}
		plain.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", e.ID, e.Epoch.Local().Format(time.DateTime), state, valid, dash(e.Arm),
			dash(e.Engine), blockText(e.Block), plain.Block(measured), record.CapacityText(e.CapacityKind, e.Capacity), dash(e.Comparison))
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

// shown is a run as it is printed.
type shown struct{ evidence.Shown }

// look gathers the output of show.
func look(ctx context.Context, a *app.App, r *record.Run) (shown, error) {
	s, err := a.Catalog().Of(r).Show(ctx)
	return shown{s}, err
}

// Show prints one run.
func Show(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	root := a.StoreFlag(fs)
	asJSON := fs.Bool("json", false, "write the run as JSON")
	pages := fs.String("pages", "", "instead write the run's system and coordinator metrics as HTML pages into this directory")
	rest, err := usage.Parse(fs, args, 1, 1)
	if err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	r, err := st.Run(rest[0])
	if err != nil {
		return plan.UsageError{Err: err}
	}
	if *pages != "" {
		return showPages(ctx, a, *pages, r)
	}
	s, err := look(ctx, a, r)
	if err != nil {
		return err
	}
	if *asJSON {
		return a.JSON(s)
	}
	printRun(a, s)
	return nil
}

// showPages writes the pages of a run into a directory and prints where they are.
func showPages(ctx context.Context, a *app.App, dir string, r *record.Run) error {
	pages, err := a.Catalog().Of(r).Pages(ctx)
	if err != nil {
		return err
	}
	if err := app.MakeDir(dir); err != nil {
		return err
	}
	if err := parallel.Each(len(pages), func(i int) error { return app.WriteFile(filepath.Join(dir, pages[i].Name), pages[i].Write) }); err != nil {
		return err
	}
	for _, f := range pages {
		plain.Fprintf(a.Stdout, "%v\n", filepath.Join(dir, f.Name))
	}
	return nil
}

// printRun shows a run with everything that is known of it.
func printRun(a *app.App, s shown) {
	m := s.Manifest
	w := a.Stdout
	plain.Fprintf(w, "%s\n", s.Title())
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
		plain.Fprintf(w, "  capacity: %s", record.CapacityText(c.Kind, c.Users))
		if c.Kind == record.Estimate {
			plain.Fprintf(w, " users [%.0f, %.0f] within the run, by %s", c.Lo, c.Hi, c.Estimator)
		}
		plain.Fprintf(w, "; stopped by %s; %s\n", dash(c.Rule), c.Stopped)
		if m.Duet != nil {
			plain.Fprintf(w, "  %s\n", record.InTurns)
		}
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
	for _, f := range s.Found() {
		plain.Fprintf(w, "  %s %s: %s\n", f.Level, f.Gate, f.Text)
	}
	printGates(w, s.Validity.Gates)
	if c := m.Connections; c != nil && c.String() != "" {
		plain.Fprintf(w, "  kept connections: %s\n", c)
	}
	if a := m.Answers; a != nil {
		plain.Fprintf(w, "  answers under way: %s\n", a)
	}
	plain.Fprintf(w, "\noperations of phase %s:\n", s.Phase)
	ops := make([]report.RunOp, len(s.Ops))
	for i, o := range s.Ops {
		ops[i] = lineOf(o)
	}
	if err := report.RunOps(w, ops); err != nil {
		plain.Fprintf(a.Stderr, "plimsoll: %v\n", err)
	}
	s.printEdges(w)
	if slices.ContainsFunc(ops, func(o report.RunOp) bool { return o.Within != "" }) {
		plain.Fprintf(w, "  95 %% of p95 is the interval of this run's own percentile (moving-block bootstrap). Runs differ by more: only a comparison of several runs shows by how much.\n")
	}
	for _, e := range s.Events {
		if e.Kind == "slo" {
			plain.Fprintf(w, "  %s\n", report.RuleLine(e))
		}
	}
	for _, line := range report.ErrorLines(s.Events) {
		plain.Fprintf(w, "  error %s\n", line)
	}
	evidence.LimiterText(w, s.Limiter)
	if why := s.Unsettled(); why != "" {
		plain.Fprintf(w, "  settling: %s\n", why)
	}
	if evidence.Seen(s.Drift) {
		plain.Fprintf(w, "\nstability in the measured phase (docs/method/statistics.md):\n")
		for _, d := range s.Drift {
			plain.Fprintf(w, "  %s\n", d.Sentence)
		}
	}
	p, err := evidence.Plan(m.Plan)
	if err != nil {
		p = nil // of another version; then the report names neither mix nor login
	}
	if err := report.RunText(w, s.Data, p); err != nil {
		plain.Fprintf(a.Stderr, "plimsoll: %v\n", err)
	}
}

// printGates shows the gates of the generator's health with their readings.
func printGates(w io.Writer, gates []record.GateOutcome) {
	if len(gates) == 0 {
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

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
