package execute

import (
	"context"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/contenders"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/cmd/internal/read"
	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/compare"
	"plimsoll/run/session"
)

// Compare runs arms × databases in blocks.
func Compare(ctx context.Context, a *app.App) error {
	fs := a.Flags
	root := a.StoreFlag()
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
	script := fs.String(
		"script",
		"",
		"with OLD NEW: `file` of a script that the users follow; two programs are started with a port in PORT",
	)
	rate := a.CalibrateFlag()
	keep := a.KeepFlag()
	a.OutwardFlags()
	rest, err := a.Parse(0, 2)
	if err != nil {
		return err
	}
	if len(rest) == 0 && *resume == "" {
		return plan.Usagef(
			"0 arguments, want a plan, OLD and NEW, or -resume; see plimsoll compare -h",
		)
	}
	if *save+*script != "" && len(rest) < 2 {
		return plan.Usagef("-save and -script are for OLD NEW; write workload: {script: FILE} into a plan")
	}
	if len(rest) == 2 && (*aa || *resume != "") {
		return plan.Usagef(
			"-aa and -resume are for one plan: plimsoll compare %s %s measures the noise",
			rest[0],
			rest[0],
		)
	}
	j := comparing{
		Options: compare.Options{AA: *aa, Keep: *keep, Minutes: *minutes},
		root:    *root,
		rate:    *rate,
		json:    *asJSON,
	}
	src, err := j.choose(ctx, a, rest, *script, *save)
	if err != nil {
		return err
	}
	if *resume != "" {
		return resumeComparison(ctx, a, *resume, j)
	}
	if err := j.Fits(j.plan); err != nil {
		return err
	}
	if err := noplan.Save(*save, src); err != nil {
		return err
	}
	if *aa {
		j.plan = comparison.Twins(j.plan)
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

// choose sets the plan: the one that the only argument names, or the one that compares OLD and NEW,
// whose text it returns. Without arguments it sets none.
func (j *comparing) choose(
	ctx context.Context,
	a *app.App,
	args []string,
	script, save string,
) (src string, err error) {
	switch len(args) {
	case 2:
		if src, err = contenders.Plan(ctx, [2]string(args), j.root, noplan.Beside(script, save)); err != nil {
			return "", err
		}
		if j.plan, err = a.Known().Parse([]byte(src)); err != nil {
			return "", err
		}
		if j.plan, err = a.Complete(j.plan, save); err != nil {
			return "", err
		}
		if j.Minutes == 0 {
			j.Minutes = contenders.Minutes
		}
	case 1:
		if j.plan, err = a.ReadPlan(args[0]); err != nil {
			return "", err
		}
		if j.plan.Compare == nil {
			return "", plan.Usagef(
				"%s has no compare section; add one with the arms base and another",
				args[0],
			)
		}
		if why := j.plan.Uncombined(); why != "" {
			return "", plan.Usagef("%s: %s", args[0], why)
		}
	}
	return src, nil
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
		a.Printf("wall time %v\n", time.Since(began).Round(time.Second))
		if doc.State.Complete {
			a.Printf("verdict: %s\n", read.Summary(doc))
		}
		if j.planted != nil && doc.State.Complete {
			a.Printf("demo: %s\n", report.Planted(doc, *j.planted))
		}
	}
	return exit.With(status)
}
