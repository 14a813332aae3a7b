package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/store"
	"plimsoll/verdict"
)

//go:embed quickstart.yaml
var quickstart []byte

// demo is compare with the built-in quickstart plan.
func (a *app) demo(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	fault := fs.String("fault", "cpu:100%", "the slowdown planted in the arm \"new\", or none for a comparison of a build with itself")
	blocks := fs.Int("blocks", 0, "number of blocks instead of the plan's; below 6 a verdict is only indicative")
	seed := fs.Uint64("seed", 0, "seed instead of the plan's")
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	p, err := known().Parse(quickstart)
	if err != nil {
		return fmt.Errorf("the built-in plan: %w", err)
	}
	for i := range p.Compare.Arms {
		arm := &p.Compare.Arms[i]
		if arm.Name == plan.Base {
			continue
		}
		arm.Args = nil
		arm.Version = "the same build"
		if *fault != "none" {
			arm.Args = []string{"-fault=" + *fault}
			arm.Version = "with " + *fault
		}
	}
	if *blocks > 0 {
		p.Compare.Blocks = *blocks
	}
	if *seed > 0 {
		p.Seed = *seed
	}
	if p, err = known().Parse([]byte(p.String())); err != nil {
		return usagef("-fault %s: %w", *fault, err)
	}
	// The demo's load is far below what any host can drive: its twenty seconds are better spent on it.
	return a.comparePlan(ctx, p, *root, false, *asJSON)
}

// compare runs arms × databases in blocks.
func (a *app) compare(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
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
	if p.Compare == nil {
		return usagef("%s has no compare section; add one with the arms base and another", rest[0])
	}
	if p.Bounded != nil && p.Unbounded != nil && !p.Compare.Combine {
		return usagef("%s has a bounded and an unbounded test; set compare.combine: true to carry both out in one run, or remove one", rest[0])
	}
	return a.comparePlan(ctx, p, *root, *rate, *asJSON)
}

// repeats is how many voided blocks a comparison may run again: one for every three planned.
func repeats(blocks int) int { return (blocks + 2) / 3 }

// between is about how long a reset and the end of a run take, for the time that is left.
const between = 6 * time.Second

func (a *app) comparePlan(ctx context.Context, p *plan.Plan, root string, rate, asJSON bool) error {
	began := time.Now()
	p = withDefaultRules(p)
	s, end, err := a.begin(ctx, p, root, rate)
	if err != nil {
		return err
	}
	defer end()
	id := store.NewID(began, p.Name)
	s.prog.say("comparison %s: plan %s, %s", id, p.Name, p.Digest()[:19])
	// The tests of a comparison: both in one run, or the only one.
	base := part{comparison: id, bounded: p.Bounded != nil, unbounded: p.Unbounded != nil}
	cells := p.Compare.Blocks * len(p.Compare.Arms) * len(comparison.Engines(p))
	s.prog.say("%d blocks of %d runs, at most %v each: about %v", p.Compare.Blocks, cells/p.Compare.Blocks, s.length(base),
		(time.Duration(cells) * (s.length(base) + between)).Round(time.Minute))
	deployed := s.newDeployments()
	defer deployed.close()
	c, err := comparison.Run(ctx, comparison.Config{
		ID: id, Tool: version(), Plan: p, Setup: setupRows(p), Repeats: repeats(p.Compare.Blocks), Now: time.Now, Save: s.store.SaveComparison,
		Run: func(ctx context.Context, cell comparison.Cell) (record.ComparisonRun, *record.Capacity, error) {
			pt := base
			pt.arm, pt.engine, pt.block, pt.order, pt.pilot, pt.start = cell.Arm, cell.Engine, cell.Block, cell.Order, cell.Pilot, cell.Start
			left := time.Duration(cells-cell.Index) * (s.length(base) + between)
			if cell.Pilot {
				left = time.Duration(cells+cell.Of-cell.Index) * (s.length(base) + between)
				// A pilot only has to find where the searches begin.
				pt.bounded = false
			}
			s.prog.what(cellText(cell, p.Compare.Blocks), left)
			all := base // a pilot's system serves the runs after it too
			all.arm, all.engine = cell.Arm, cell.Engine
			sys, err := deployed.system(ctx, all)
			if err != nil {
				return record.ComparisonRun{}, nil, err
			}
			r, _, err := s.trial(ctx, sys, pt)
			err = errors.Join(err, sys.halt(ctx))
			if r == nil {
				return record.ComparisonRun{}, nil, err
			}
			digest, derr := record.DigestFile(filepath.Join(r.Dir, record.ManifestFile))
			run := record.ComparisonRun{Run: r.Manifest.ID, Digest: digest, Valid: r.Validity.Valid}
			for _, f := range r.Validity.Findings {
				if f.Level == record.Red {
					run.Why = f.Gate + ": " + f.Text
				}
			}
			if !run.Valid {
				s.prog.say("  run %s is not valid: %s", run.Run, run.Why)
			}
			return run, r.Manifest.Capacity, errors.Join(err, derr)
		},
	})
	deployed.close()
	if err != nil {
		return err
	}
	s.prog.say("rendering the report")
	status, verdicts, err := a.conclude(ctx, s.store, c, asJSON)
	if err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(a.stdout, "wall time %v\n", time.Since(began).Round(time.Second))
		fmt.Fprintf(a.stdout, "verdict: %s\n", summary(verdicts))
	}
	if status != exitOK {
		return statusError(status)
	}
	return nil
}

func cellText(c comparison.Cell, blocks int) string {
	what := strings.TrimSpace(c.Arm + " " + c.Engine)
	if c.Pilot {
		return fmt.Sprintf("pilot %d/%d  %s", c.Index, c.Of, what)
	}
	return fmt.Sprintf("block %d/%d  run %d/%d  %s", c.Block, blocks, c.Index, c.Of, what)
}

// setupRows are the plan's own rows of the Setup table.
func setupRows(p *plan.Plan) []record.Row {
	var rows []record.Row
	for _, r := range p.Setup {
		rows = append(rows, record.Row{Name: r.Name, Value: r.Value})
	}
	return rows
}

// conclude judges a comparison, renders its report beside it, prints the screen and returns the exit status.
func (a *app) conclude(ctx context.Context, st *store.Store, c *record.Comparison, asJSON bool) (int, []verdict.Verdict, error) {
	p, err := plan.Parse([]byte(c.Plan))
	if err != nil {
		return exitTool, nil, fmt.Errorf("the stored plan of %s: %w", c.ID, err)
	}
	doc, verdicts, err := a.document(ctx, st, c, p)
	if err != nil {
		return exitTool, nil, err
	}
	dir := st.ComparisonDir(c.ID)
	if err := writeReport(dir, doc); err != nil {
		return exitTool, nil, err
	}
	if err := st.SaveComparison(c); err != nil {
		return exitTool, nil, err
	}
	if asJSON {
		if err := report.JSON(a.stdout, doc); err != nil {
			return exitTool, nil, err
		}
	} else {
		if err := report.Screen(a.stdout, doc, 100); err != nil {
			return exitTool, nil, err
		}
		fmt.Fprintf(a.stdout, "report: %s\n", filepath.Join(dir, "report.html"))
		fmt.Fprintf(a.stdout, "        %s\n", filepath.Join(dir, "report.md"))
	}
	if c.State == record.Interrupted {
		fmt.Fprintf(a.stderr, "plimsoll: the comparison was interrupted: %s\n", c.Why)
		return exitTool, verdicts, nil
	}
	return verdict.Worst(verdicts...).ExitStatus(), verdicts, nil
}

// summary is the line for scripts: each database with its verdict.
func summary(verdicts []verdict.Verdict) string {
	var parts []string
	for _, v := range verdicts {
		parts = append(parts, dash(v.Database)+"="+string(v.Kind))
	}
	return strings.Join(parts, " ")
}

// report renders a stored comparison again, or numbers that somebody already has.
func (a *app) report(ctx context.Context, fs *flag.FlagSet, args []string) error {
	n := a.numbersFlags(fs)
	rest, err := parse(fs, args, 0, comparison.MostGiven)
	if err != nil {
		return err
	}
	root, asJSON := n.root, n.asJSON
	if *n.base != "" || *n.fresh != "" || len(rest) > 0 && isFile(rest[0]) {
		n.markdown = true
		return a.judgeNumbers(n, rest)
	}
	if len(rest) != 1 {
		return usagef("%d arguments, want the id of a comparison or sizing, or numbers as judge takes them; see plimsoll report -h", len(rest))
	}
	if _, err := os.Stat(*root); err != nil {
		return usageError{err}
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	c, err := st.Comparison(rest[0])
	if errors.Is(err, store.ErrNotFound) {
		if z, zerr := st.Sizing(rest[0]); zerr == nil {
			return a.concludeSizing(ctx, st, z, *asJSON)
		}
	}
	if err != nil {
		return usageError{err}
	}
	status, _, err := a.conclude(ctx, st, c, *asJSON)
	if err != nil {
		return err
	}
	if status != exitOK {
		return statusError(status)
	}
	return nil
}

func isFile(name string) bool {
	fi, err := os.Stat(name)
	return name == "-" || err == nil && !fi.IsDir()
}
