package compare

import (
	"fmt"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/run/live"
	"plimsoll/run/preflight"
)

// beginning returns a comparison before its first run, for a console.
func beginning(verb string, cfg config, mode preflight.CompareMode) live.Whole {
	w := live.Whole{
		Kind: live.KindComparison, ID: cfg.id, Mode: mode.Name(), Step: "beginning",
		Verb: verb, Plan: cfg.plan.Name,
		Blocks: cfg.plan.Compare.Blocks, Engines: comparison.Engines(cfg.plan),
	}
	for _, a := range cfg.plan.Compare.Arms {
		w.Arms = append(w.Arms, a.Name)
	}
	return w
}

// engineName returns the name of an engine before its server has reported one.
func engineName(engine string) string {
	return map[string]string{plan.PostgreSQL: "PostgreSQL", plan.MySQL: "MySQL/MariaDB"}[engine]
}

// foresaw reports the endpoints that are left out, before the first block is judged.
func (r *cells) foresaw(all []record.Expected) {
	for _, x := range all {
		if x.NotJudged {
			r.Progress.Say("  not judged: %s (%s)", named(x.Engine, x.Metric), comparison.Takes(x))
		}
	}
}

// named writes a thing on a database.
func named(engine, thing string) string {
	return strings.TrimSpace(engineName(engine) + " " + thing)
}

// onEngine writes an arm on a database.
func onEngine(arm, engine string) string { return strings.TrimSpace(arm + " " + engine) }

// looked reports a planned look.
func (r *cells) looked(n int, l record.Look) {
	var parts []string
	for _, v := range l.Verdicts {
		parts = append(parts, strings.TrimSpace(v.Engine+" "+v.Arm)+" "+v.Kind)
	}
	of := len(comparison.PlannedLooks(r.Plan))
	next := report.LookNext(l, r.Plan.Compare.Budget, engineName)
	r.Progress.Say("look %d of %d, after %d blocks, at the level %.3g %%: %s; %s",
		n, of, l.Blocks, 100*l.Alpha, strings.Join(parts, ", "), next)
}

// blockText names a block in the progress.
func blockText(c cell, blocks int) string {
	text := fmt.Sprintf("block %d/%d", c.block, blocks)
	if c.again {
		text += " again"
	}
	return text
}

// cellText names a run in the progress.
func cellText(c cell, blocks int) string {
	what := onEngine(c.arm, c.engine)
	switch {
	case c.pilot:
		return fmt.Sprintf("pilot %d/%d  %s", c.index, c.of, what)
	case c.again:
		return fmt.Sprintf("%s  run %d of it  %s", blockText(c, blocks), c.order, what)
	default:
		return fmt.Sprintf("%s  run %d/%d  %s", blockText(c, blocks), c.index, c.of, what)
	}
}
