package verbs

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/contenders"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/report"
	"plimsoll/run/compare"
	"plimsoll/run/session"
)

//go:embed quickstart.yaml
var quickstart []byte

// demo is compare with the built-in quickstart plan. Its last line is whether the planted slowdown was found.
func (a *app) demo(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	fault := fs.String("fault", "cpu:25%", "the slowdown planted in the arm \"new\", or none for a comparison of a build with itself")
	blocks := fs.Int("blocks", 0, "number of blocks instead of the plan's; below 6 a verdict is only indicative")
	seed := fs.Uint64("seed", 0, "seed instead of the plan's")
	keep := keepFlag(fs)
	a.consoleFlag(fs)
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	p, err := a.known().Parse(quickstart)
	if err != nil {
		return fmt.Errorf("the built-in plan: %w", err)
	}
	if *blocks != 0 {
		p.Compare.Blocks, p.Compare.Budget = *blocks, 0
		if _, err := a.known().Parse([]byte(p.String())); err != nil {
			return plan.Usagef("-blocks %d: %w", *blocks, err)
		}
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
	if *seed > 0 {
		p.Seed = *seed
	}
	if p, err = a.known().Parse([]byte(p.String())); err != nil {
		return plan.Usagef("-fault %s: %w", *fault, err)
	}
	planted := *fault
	if planted == "none" {
		planted = ""
	}
	// The demo's load is far below what any host can drive: its twenty seconds are better spent on it.
	return a.comparePlan(ctx, comparing{Options: compare.Options{AA: planted == "", Keep: *keep}, plan: p, root: *root, json: *asJSON, planted: &planted})
}

// compare runs arms × databases in blocks.
func (a *app) compare(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
	resume := fs.String("resume", "", "go on with the comparison of this `ID`, or the last, which was cut; its plan is stored with it")
	aa := fs.Bool("aa", false, "compare the plan's base with itself, which measures the noise of this environment (plimsoll ls -aa)")
	minutes := fs.Int("minutes", 0, "let the comparison take so many minutes in all: as many blocks, and with bounded.measure: auto as long ones, as fit (default of OLD NEW: 6)")
	save := fs.String("save", "", "write the plan of OLD NEW to this `FILE`, which is not there yet")
	rate := a.calibrateFlag(fs)
	keep := keepFlag(fs)
	a.outwardFlags(fs)
	rest, err := parse(fs, args, 0, 2)
	if err != nil {
		return err
	}
	if len(rest) == 0 && *resume == "" {
		return plan.Usagef("0 arguments, want a plan, OLD and NEW, or -resume; see plimsoll compare -h")
	}
	if *save != "" && len(rest) < 2 {
		return plan.Usagef("-save is for the plan of OLD NEW; remove it")
	}
	var p *plan.Plan
	src := "" // of a plan that is made here
	switch len(rest) {
	case 2:
		if *aa || *resume != "" {
			return plan.Usagef("-aa and -resume are for one plan: plimsoll compare %s %s measures the noise", rest[0], rest[0])
		}
		if p, src, err = a.pair(ctx, [2]string(rest), *root); err != nil {
			return err
		}
		if *minutes == 0 {
			*minutes = contenders.Minutes
		}
	case 1:
		if p, err = a.readPlan(rest[0]); err != nil {
			return err
		}
		if p.Compare == nil {
			return plan.Usagef("%s has no compare section; add one with the arms base and another", rest[0])
		}
		if why := p.Uncombined(); why != "" {
			return plan.Usagef("%s: %s", rest[0], why)
		}
	}
	j := comparing{Options: compare.Options{AA: *aa, Keep: *keep, Minutes: *minutes}, plan: p, root: *root, rate: *rate, json: *asJSON}
	if *resume != "" {
		return a.resume(ctx, *resume, j)
	}
	if err := j.Fits(p); err != nil {
		return err
	}
	if err := noplan.Save(*save, src); err != nil {
		return err
	}
	if *aa {
		j.plan = comparison.Twins(p)
	}
	return a.comparePlan(ctx, j)
}

// A comparing is a comparison that a verb carries out and reports.
type comparing struct {
	compare.Options
	plan *plan.Plan
	root string
	rate bool // the host's generator first
	json bool
	// planted is the slowdown of the new arms, "" for none; nil where nothing is known of it.
	planted *string
}

func (a *app) comparePlan(ctx context.Context, j comparing) error {
	began := time.Now()
	s, end, err := session.Begin(ctx, a.program(), a.dialects().WithDefaultRules(j.plan), j.root, j.rate)
	if err != nil {
		return err
	}
	defer end()
	j.Began = began
	j.Readers = func(ctx context.Context) []comparison.Reader { return []comparison.Reader{a.catalog().Costs(ctx)} }
	c, err := compare.Run(ctx, s, j.Options)
	if err != nil {
		return err
	}
	s.Progress.Say("rendering the report")
	// The results of an interrupted comparison are reported too.
	status, doc, err := a.conclude(context.WithoutCancel(ctx), s.Store, c, j.json)
	if err != nil {
		return err
	}
	if !j.json {
		plain.Fprintf(a.stdout, "wall time %v\n", time.Since(began).Round(time.Second))
		if doc.State.Complete {
			plain.Fprintf(a.stdout, "verdict: %s\n", summary(doc))
		}
		if j.planted != nil && doc.State.Complete {
			plain.Fprintf(a.stdout, "demo: %s\n", report.Planted(doc, *j.planted))
		}
	}
	if status != exit.OK {
		return exit.StatusError(status)
	}
	return nil
}

// conclude judges a comparison, renders its report beside it, prints the screen and returns the exit status.
func (a *app) conclude(ctx context.Context, st *store.Store, c *record.Comparison, asJSON bool) (int, report.Document, error) {
	var none report.Document
	p, err := a.planOf(c)
	if err != nil {
		return exit.Tool, none, err
	}
	doc, verdicts, pages, err := a.catalog().Document(ctx, c, p, st.Run)
	if err != nil {
		return exit.Tool, none, err
	}
	why := c.NotComplete()
	if why != "" && doc.State.Judged == 0 && !asJSON {
		plain.Fprintf(a.stdout, "comparison %s %s: %d of %d blocks judged, so there is no report yet; its %d runs are kept\n",
			c.ID, why, doc.State.Judged, doc.State.Planned, len(c.Runs))
		a.goesOn(st, c)
		return exit.Tool, doc, st.SaveComparison(c)
	}
	dir := st.ComparisonDir(c.ID)
	if err := writeReport(dir, doc, pages); err != nil {
		return exit.Tool, none, err
	}
	if err := st.SaveComparison(c); err != nil {
		return exit.Tool, none, err
	}
	if asJSON {
		if err := report.JSON(a.stdout, doc); err != nil {
			return exit.Tool, none, err
		}
	} else {
		if err := report.Screen(a.stdout, doc, 100); err != nil {
			return exit.Tool, none, err
		}
		plain.Fprintf(a.stdout, "report: %s\n", filepath.Join(dir, "report.html"))
	}
	if why != "" {
		plain.Fprintf(a.stderr, "plimsoll: the comparison %s\n", why)
		a.goesOn(st, c)
		return exit.Tool, doc, nil
	}
	return exit.Compared(doc, verdicts), doc, nil
}

// goesOn prints the command that continues a comparison.
func (a *app) goesOn(st *store.Store, c *record.Comparison) {
	in := ""
	if def := a.defaultStore(); st.Root() != def {
		in = " -store " + st.Root()
	}
	plain.Fprintf(a.stderr, "plimsoll: plimsoll compare%s -resume %s goes on with it\n", in, c.ID)
}

// summary is the line for scripts: each database, and with several new arms each of them, with its verdict.
func summary(doc report.Document) string {
	var parts []string
	for _, f := range doc.Verdicts {
		name := dash(f.Engine)
		if len(doc.Arms) > 2 {
			name += "/" + f.Arm
		}
		parts = append(parts, name+"="+string(f.Verdict.Kind))
	}
	return strings.Join(parts, " ")
}

// report renders a stored comparison again, or imported numbers.
func (a *app) report(ctx context.Context, fs *flag.FlagSet, args []string) error {
	if len(args) > 0 && args[0] == "trend" {
		return a.trend(ctx, fs, args[1:])
	}
	n := a.numbersFlags(fs)
	n.output.textsFlag(fs)
	rest, err := parse(fs, args, 0, comparison.MostGiven)
	if err != nil {
		return err
	}
	root, asJSON := n.root, n.asJSON
	if err := n.output.check(printable, *asJSON, false); err != nil {
		return err
	}
	if base, fresh, ok := storedArms(*n.base, *n.fresh); ok && len(rest) == 0 {
		return a.gather(ctx, n, base, fresh)
	}
	if *n.base != "" || *n.fresh != "" || len(rest) > 0 && isFile(rest[0]) {
		if *n.output.texts != "" {
			return plan.Usagef("-texts are of the report of a stored comparison or of stored runs; that of given numbers has no comments")
		}
		n.markdown = *n.output.print == ""
		return a.judgeNumbers(n, rest)
	}
	if len(rest) != 1 {
		return plan.Usagef("%d arguments, want the id of a comparison or sizing, the word last, or numbers as judge takes them; see plimsoll report -h", len(rest))
	}
	st, id, err := openStored(*root, rest[0], "comparisons", "sizings")
	if err != nil {
		return err
	}
	c, err := st.Comparison(id)
	if errors.Is(err, store.ErrNotFound) {
		z, err := st.Sizing(id)
		if errors.Is(err, store.ErrNotFound) {
			return notThere(rest[0], "no such comparison or sizing in "+*root)
		}
		if err != nil {
			return plan.UsageError{Err: err}
		}
		if n.output.given() {
			return plan.Usagef("-out, -print and -texts are of comparisons; the forms of a sizing are in %s", st.SizingDir(z.ID))
		}
		if err := n.refuse("a stored sizing is graded", "databases"); err != nil {
			return err
		}
		return a.concludeSizing(ctx, st, z, *asJSON)
	}
	if err != nil {
		return plan.UsageError{Err: err}
	}
	if err := n.refuse("a stored comparison is reported", "databases"); err != nil {
		return err
	}
	if *n.output.out != "" || *n.output.print != "" {
		return a.render(ctx, st, c, n.output, *asJSON)
	}
	unlock, err := st.LockComparison(c.ID)
	if errors.Is(err, store.ErrBusy) {
		return plan.Usagef("comparison %s is under way, and its report is written at its end; -print markdown or -out DIR shows the results so far", c.ID)
	}
	if unwritable(err) && *n.output.texts == "" {
		return a.onlyShow(ctx, st, c, n.output, *asJSON, err)
	}
	if err != nil {
		return err
	}
	defer unlock()
	if c, err = st.Comparison(c.ID); err != nil { // it may have ended since
		return err
	}
	if *n.output.texts != "" { // the report beside the comparison, with them
		return a.render(ctx, st, c, n.output, *asJSON)
	}
	status, _, err := a.conclude(ctx, st, c, *asJSON)
	if unwritable(err) {
		return a.onlyShow(ctx, st, c, n.output, *asJSON, err)
	}
	if err != nil {
		return err
	}
	if status != exit.OK {
		return exit.StatusError(status)
	}
	return nil
}

// unwritable reports whether an error is of a file system that takes nothing: full, read-only or not ours.
func unwritable(err error) bool {
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, fs.ErrPermission} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// notWritten is the message for a report that cannot be kept.
const notWritten = "plimsoll: %v; the report is shown and was not written: files of an earlier one are as they were\n"

// onlyShow shows the report of a comparison whose directory cannot be written. The status is that of the verdict; a
// message reports that the report is not kept.
func (a *app) onlyShow(ctx context.Context, st *store.Store, c *record.Comparison, o *output, asJSON bool, why error) error {
	plain.Fprintf(a.stderr, notWritten, why)
	if !asJSON {
		*o.print = "screen"
	} else {
		*o.print, asJSON = "json", false
	}
	return a.render(ctx, st, c, o, asJSON)
}

func isFile(name string) bool {
	fi, err := os.Stat(name)
	return name == "-" || err == nil && !fi.IsDir()
}
