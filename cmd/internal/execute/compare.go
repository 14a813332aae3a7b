package execute

import (
	"context"
	"flag"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/contenders"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/cmd/internal/read"
	"plimsoll/cmd/internal/usage"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/compare"
	"plimsoll/run/session"
)

// Compare runs arms × databases in blocks.
func Compare(ctx context.Context, a *app.App, fs *flag.FlagSet, args []string) error {
	root := a.StoreFlag(fs)
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
	resume := fs.String(
		"resume",
		"",
		"go on with the comparison of this `ID`, or the last, which was cut; its plan is stored with it",
	)
	aa := fs.Bool(
		"aa",
		false,
		"compare the plan's base with itself, which measures the noise of this environment (plimsoll ls -aa)",
	)
	minutes := fs.Int(
		"minutes",
		0,
		"let the comparison take so many minutes in all: as many blocks, and with bounded.measure: auto as long ones, as fit (default of OLD NEW: 6)",
	)
	save := fs.String(
		"save",
		"",
		"write the plan of OLD NEW to this `FILE`, which is not there yet",
	)
	rate := a.CalibrateFlag(fs)
	keep := app.KeepFlag(fs)
	a.OutwardFlags(fs)
	rest, err := usage.Parse(fs, args, 0, 2)
	if err != nil {
		return err
	}
	if len(rest) == 0 && *resume == "" {
		return plan.Usagef(
			"0 arguments, want a plan, OLD and NEW, or -resume; see plimsoll compare -h",
		)
	}
	if *save != "" && len(rest) < 2 {
		return plan.Usagef("-save is for the plan of OLD NEW; remove it")
	}
	var p *plan.Plan
	src := "" // of a plan that is made here
	switch len(rest) {
	case 2:
		if *aa || *resume != "" {
			return plan.Usagef(
				"-aa and -resume are for one plan: plimsoll compare %s %s measures the noise",
				rest[0],
				rest[0],
			)
		}
		if p, src, err = pair(ctx, a, [2]string(rest), *root); err != nil {
			return err
		}
		if *minutes == 0 {
			*minutes = contenders.Minutes
		}
	case 1:
		if p, err = a.ReadPlan(rest[0]); err != nil {
			return err
		}
		if p.Compare == nil {
			return plan.Usagef(
				"%s has no compare section; add one with the arms base and another",
				rest[0],
			)
		}
		if why := p.Uncombined(); why != "" {
			return plan.Usagef("%s: %s", rest[0], why)
		}
	}
	j := comparing{
		Options: compare.Options{AA: *aa, Keep: *keep, Minutes: *minutes},
		plan:    p,
		root:    *root,
		rate:    *rate,
		json:    *asJSON,
	}
	if *resume != "" {
		return resumeComparison(ctx, a, *resume, j)
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
	return comparePlan(ctx, a, j)
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

func comparePlan(ctx context.Context, a *app.App, j comparing) error {
	began := time.Now()
	s, end, err := session.Begin(
		ctx,
		a.Program(),
		a.Dialects().WithDefaultRules(j.plan),
		j.root,
		j.rate,
	)
	if err != nil {
		return err
	}
	defer end()
	j.Began = began
	j.Readers = func(ctx context.Context) []comparison.Reader {
		return []comparison.Reader{a.Catalog().Costs(ctx)}
	}
	c, err := compare.Run(ctx, s, j.Options)
	if err != nil {
		return err
	}
	s.Progress.Say("rendering the report")
	// The results of an interrupted comparison are reported too.
	status, doc, err := read.Conclude(context.WithoutCancel(ctx), a, s.Store, c, j.json)
	if err != nil {
		return err
	}
	if !j.json {
		plain.Fprintf(a.Stdout, "wall time %v\n", time.Since(began).Round(time.Second))
		if doc.State.Complete {
			plain.Fprintf(a.Stdout, "verdict: %s\n", read.Summary(doc))
		}
		if j.planted != nil && doc.State.Complete {
			plain.Fprintf(a.Stdout, "demo: %s\n", report.Planted(doc, *j.planted))
		}
	}
	return exit.With(status)
}

// pair returns the plan of "compare OLD NEW", also as YAML.
func pair(
	ctx context.Context,
	a *app.App,
	names [2]string,
	root string,
) (*plan.Plan, string, error) {
	src, err := contenders.Plan(ctx, names, root)
	if err != nil {
		return nil, "", err
	}
	p, err := a.Known().Parse([]byte(src))
	return p, src, err
}
