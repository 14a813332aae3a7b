package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/names"
	"plimsoll/judge/attribution/statements"
	"plimsoll/report"
)

// An outcome is what a comparison said of one variant.
type outcome struct {
	Slot int `json:"slot"` // from 1
	variant
	Symbol  string    `json:"symbol,omitempty"` // of the function with added work
	Repeats int       `json:"repeats,omitempty"`
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Machine string    `json:"machine"`
	Setting string    `json:"setting"`
	Beside  int       `json:"variants"` // that took turns with the base
	// Before and During are the shares of this host's cores that others used.
	Before  float64 `json:"others_before"`
	During  float64 `json:"others_during"`
	Seconds float64 `json:"seconds"` // of wall time, of the whole comparison
	ID      string  `json:"comparison,omitempty"`
	Blocks  int     `json:"blocks_judged"`
	// Planted is the CPU time of the added work as a share of the base's cost in this comparison,
	// by the calls that were counted; Cost is the effect on cost(app) by the verdict.
	Planted float64                      `json:"planted,omitempty"`
	Cost    attribution.IntervalEstimate `json:"cost_app"`
	App     *attribution.Attribution     `json:"app,omitempty"` // of cost(app)
	Queries *statements.Difference       `json:"statements,omitempty"`
	Problem string                       `json:"problem,omitempty"`
	// Interrupted reports that the study was killed meanwhile: the slot is measured again.
	Interrupted bool `json:"interrupted,omitempty"`
}

// The scores of outcomes.
const (
	right   = "right"
	wrong   = "wrong"
	nothing = "nothing named"
	without = "no attribution"
	cut     = "interrupted"
)

// The rule of scoring, which stands on the page. It was written before the first outcome.
const rule = `An outcome is **right** if the first finding is the planted one, and **wrong** if it is another:

- work in a function: the finding names the function by the name that it has in the new build, and
  a rise. That what it calls is named, such as encoding/json.Marshal where work was added by a call
  of it, is wrong: the right one is the function of the server that was changed. A generic function
  is right by the name of any of its instances.
- a statement: the text of the finding has the part of the text that the variant changed, or whose
  plan it changed.
- nothing planted, also under other names: no function is named.

With no finding an outcome is *nothing named*, which is not right where something was planted. An
outcome without an attribution, for any reason, is not right and not left out.`

func (o outcome) machine() string { return o.Machine }

// counts reports whether an outcome is of a setting, of the variant that its slot has now, and whole.
func (o outcome) counts(planted []variant, setting string) bool {
	return !o.Interrupted && o.Setting == setting && o.Name == planted[o.Slot-1].Name
}

// score compares what was named first with the truth.
func (o outcome) score() string {
	switch {
	case o.Interrupted:
		return cut
	case o.Group == statement:
		return o.scoreStatement()
	case o.App == nil || o.App.Withheld != "":
		return without
	case o.Symbol == "" && len(o.App.Findings) == 0:
		return right
	case o.Symbol == "":
		return wrong
	case len(o.App.Findings) == 0:
		return nothing
	}
	f := o.App.Findings[0]
	if f.Cost.Value > 0 && plain(f.Function.Name) == plain(o.Symbol) {
		return right
	}
	return wrong
}

func (o outcome) scoreStatement() string {
	switch {
	case o.Queries == nil || o.Queries.Withheld != "":
		return without
	case len(o.Queries.Findings) == 0:
		return nothing
	}
	f := o.Queries.Findings[0]
	named := strings.Join(strings.Fields(strings.ToLower(f.Text)), " ")
	if slices.ContainsFunc(variants()[o.Slot-1].texts, func(t string) bool {
		return strings.Contains(named, t)
	}) {
		return right
	}
	return wrong
}

// plain is the name of a function without its type arguments.
func plain(name string) string {
	return strings.ReplaceAll(names.WithoutArguments(name), "[...]", "")
}

// renamedTo reports whether the finding that is right says that the function had another name.
func (o outcome) renamedTo() bool {
	return o.score() == right && len(o.App.Findings) > 0 && o.App.Findings[0].Renamed
}

// adds returns the sum of the parts as a share of the base, and whether it is within the interval
// of the whole difference.
func (o outcome) adds() (sum float64, within bool) {
	if o.App == nil || !(o.App.Base > 0) {
		return 0, false
	}
	for _, p := range o.App.Parts {
		sum += p.Cost.Value
	}
	sum /= o.App.Base
	const rounding = 1e-9
	return sum, sum >= o.App.Change.Low-rounding && sum <= o.App.Change.High+rounding
}

// named is what was named first.
func (o outcome) named() string {
	if o.Group == statement {
		if o.Queries == nil || len(o.Queries.Findings) == 0 {
			return "–"
		}
		f := o.Queries.Findings[0]
		text := strings.Join(strings.Fields(f.Text), " ")
		if len(text) > 100 {
			text = text[:100] + "…"
		}
		if f.Plan != nil {
			text += " (plan: " + f.Plan.From + " → " + f.Plan.To + ")"
		}
		return fmt.Sprintf(
			"%s, %s, %+.0f %% of all",
			text,
			f.Kind,
			100*f.Cost.Value/max(o.Queries.Base, 1e-12),
		)
	}
	if o.App == nil || len(o.App.Findings) == 0 {
		return "–"
	}
	f := o.App.Findings[0]
	text := fmt.Sprintf(
		"%s, %s, %+.1f %% of all",
		strings.TrimPrefix(f.Function.Name, module+"/"),
		f.Kind,
		100*f.Cost.Value/o.App.Base,
	)
	if f.From != nil {
		text += ", from " + strings.TrimPrefix(f.From.Name, module+"/")
	}
	if len(o.App.Findings) > 1 {
		text += fmt.Sprintf("; and %d more", len(o.App.Findings)-1)
	}
	return text
}

// read takes what a report says of an arm.
func (o *outcome) read(d report.Document, arm string, c calibration) {
	o.ID, o.Blocks = d.Comparison, d.State.Judged
	for _, v := range d.Verdicts {
		for _, r := range v.Verdict.Results {
			if v.Arm != arm || r.Name != "cost(app)" {
				continue
			}
			o.Cost = attribution.IntervalEstimate{Value: r.Effect, Low: r.Lo, High: r.Hi}
			base := 0.0
			for _, p := range r.Pairs {
				base += p.Base / 1000 / float64(len(r.Pairs)) // from milliseconds
			}
			if base > 0 {
				o.Planted = o.variant.planted(c, o.Repeats) / base
			}
		}
	}
	for _, w := range d.Why {
		if w.Arm == arm && w.Role == "app" {
			app := w.Attribution
			app.Tree = nil
			o.App = &app
		}
	}
	for _, s := range d.Statements {
		if s.Arm == arm {
			queries := s.Difference
			o.Queries = &queries
		}
	}
}
