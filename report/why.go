package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/attribution"
	"plimsoll/judge/attribution/statements"
	"plimsoll/judge/verdict"
)

// Limits of what the first screen shows of a difference that decided nothing.
const (
	// mostDoubt is the largest false discovery rate of such a finding: one in a hundred.
	mostDoubt = 0.01
	// leastStatement is the smallest difference of such a statement, as a share of the execution
	// time of all statements of the base.
	leastStatement = 0.05
	// leastPart is the smallest share of a group of functions, and of any second part, in a sentence.
	leastPart = 0.2
)

// why fills Document.Why and Document.Statements.
func (b *builder) why() {
	b.Suspects = b.in.Suspects
	for i, j := range b.in.Arms {
		f := b.Verdicts[i]
		for _, a := range j.Costs {
			w := Why{Engine: j.Engine, Arm: j.Arm, Endpoint: costName(a.Role), Attributed: a}
			w.Tree, w.Dropped = pruned(a.Tree)
			w.say(f, [2]string{b.baseLabel(), b.armLabel(j.Arm)})
			b.Why = append(b.Why, w)
		}
		if s := j.Statements; s != nil {
			of := StatementsOf{Engine: j.Engine, Arm: j.Arm, Difference: *s}
			of.say(f)
			b.Statements = append(b.Statements, of)
		}
	}
}

// WhyLines returns the sentences of the first screen on the origin of a verdict's differences.
func (d Document) WhyLines(f NamedVerdict) []string {
	var out []string
	for _, w := range d.Why {
		if w.First && w.Engine == f.Engine && w.Arm == f.Arm {
			out = append(out, w.Sentence)
		}
	}
	for _, s := range d.Statements {
		if s.First && s.Engine == f.Engine && s.Arm == f.Arm {
			out = append(out, s.Sentence)
		}
	}
	if line := suspectLine(d.Suspects); line != "" && len(out) > 0 {
		out = append(out, line)
	}
	return append(typicalLines(f), out...)
}

// costName is the endpoint of the cost of a role.
func costName(role string) string { return "cost(" + role + ")" }

func decided(r verdict.Result) bool {
	return r.Kind == verdict.Worse || r.Kind == verdict.Better
}

// say sets the sentence. Of a cost that is worse or better it names the largest parts; of another
// cost the functions that changed, which belong on the first screen only if they are certain.
func (w *Why) say(f NamedVerdict, arms [2]string) {
	r, ok := resultOf(f.Verdict, w.Endpoint)
	change := w.Endpoint
	if ok && known(r.Effect) {
		change += " " + effect(r)
	}
	switch {
	case w.Withheld != "":
		w.Sentence, w.First = change+": "+w.Withheld, decided(r)
	case decided(r):
		w.Sentence, w.First = change+": "+w.cause(arms), true
	default:
		w.quiet(change, arms)
	}
}

// cause names the parts of a difference, of at most two.
func (w *Why) cause(arms [2]string) string {
	parts := slices.Clone(w.Parts)
	parts = slices.DeleteFunc(parts, func(p attribution.CostPart) bool { return !explains(p) })
	slices.SortStableFunc(parts, func(a, b attribution.CostPart) int { return -cmp.Compare(a.Share, b.Share) })
	if len(parts) == 0 {
		text := "no function explains it"
		if could := w.couldFind(); could != "" {
			text += "; this comparison could find " + could
		}
		return text
	}
	text := shareText(parts[0].Share) + " of it is " + w.partText(parts[0], arms)
	if len(parts) > 1 && parts[1].Share >= leastPart {
		text += "; " + shareText(parts[1].Share) + " is " + w.partText(parts[1], arms)
	}
	return text
}

// quiet sets the sentence of a cost that is neither worse nor better.
func (w *Why) quiet(change string, arms [2]string) {
	var certain []attribution.FunctionChange
	for _, f := range w.Findings {
		if f.Q <= mostDoubt && math.Abs(f.Cost.Value) > w.CouldFind*w.Base {
			certain = append(certain, f)
		}
	}
	w.First = len(certain) > 0
	found := certain
	if !w.First {
		found = w.Findings
	}
	if len(found) == 0 {
		w.Sentence = change + ": no function changed"
		if could := w.couldFind(); could != "" {
			w.Sentence += "; this comparison could find " + could
		}
		return
	}
	text := fmt.Sprintf("%s, and %s changed: %s", change,
		count(len(w.Findings), "function", "functions"), w.findingText(found[0], arms))
	if w.Base > 0 {
		text += fmt.Sprintf("; %s of %s", percent(found[0].Cost.Value/w.Base), w.Endpoint)
	}
	w.Sentence = text
}

// explains reports whether a part may be named as the origin of a difference: it goes in its
// direction, and its interval excludes 0. Functions are tested together; the intervals of the
// groups are not, and one of a dozen may exclude 0 by chance, so a small group is not named.
func explains(p attribution.CostPart) bool {
	sure := p.Share > 0 && p.Cost.Low*p.Cost.High > 0
	switch p.Kind {
	case attribution.PartFunction, attribution.PartSpread:
		return sure
	case attribution.PartGroup:
		return sure && p.Share >= leastPart
	default:
		return false
	}
}

// shareText writes a share of a difference; one above the whole is balanced by another part.
func shareText(share float64) string {
	switch {
	case share > 1.05:
		return fmt.Sprintf("more than all (%s %%)", fixed(100*share, 0))
	case share >= 0.995:
		return "all"
	}
	return fixed(100*share, 0) + " %"
}

func (w *Why) couldFind() string {
	if !known(w.CouldFind) || w.CouldFind <= 0 {
		return ""
	}
	return trim(fixed(100*w.CouldFind, 1)) + " %"
}

// partText names a part inside a sentence.
func (w *Why) partText(p attribution.CostPart, arms [2]string) string {
	switch {
	case p.Kind == attribution.PartFunction && p.Finding >= 0 && p.Finding < len(w.Findings):
		return w.findingText(w.Findings[p.Finding], arms)
	case p.Kind == attribution.PartSpread:
		return evenly
	}
	return p.Name
}

const evenly = "spread over all functions by about the same share"

// findingText names a function with its change and its caller; the table has the rest.
func (w *Why) findingText(f attribution.FunctionChange, arms [2]string) string {
	text := shortFunction(f.Function.Name)
	about := whatHappened(f, arms)
	if len(f.Within) > 0 && !f.Whole && elsewhere(w.Tree, f.Within[0], f.Function) {
		about = append(about, "in "+shortFunction(f.Within[0].Name))
	}
	if c := changeText(f.Change); c != "" && f.Kind != attribution.Removed {
		about = append(about, c)
	}
	text += inParens(strings.Join(about, ", "))
	if len(f.Callers) > 0 {
		text += ", called by " + shortFunction(f.Callers[0].Name)
	}
	return text
}

// elsewhere reports whether a function has a place in a tree that is not below another one: if it
// has none, the other one alone is its name.
func elsewhere(n *attribution.Node, f, below attribution.Function) bool {
	if n == nil || n.Function == below {
		return false
	}
	return n.Function == f || slices.ContainsFunc(n.Children, func(child *attribution.Node) bool {
		return elsewhere(child, f, below)
	})
}

// whatHappened tells what a change in percent does not.
func whatHappened(f attribution.FunctionChange, arms [2]string) []string {
	switch {
	case f.Kind == attribution.Added:
		return []string{"no samples in " + arms[0]}
	case f.Kind == attribution.Removed:
		return []string{"no samples in " + arms[1]}
	case f.Kind == attribution.Moved && f.From != nil:
		return []string{"moved from " + shortFunction(f.From.Name)}
	}
	return nil
}

// remarks describe a finding beside its change in a table.
func remarks(f attribution.FunctionChange, arms [2]string) []string {
	out := whatHappened(f, arms)
	if f.Renamed && f.From != nil {
		out = append(out, "renamed from "+shortFunction(f.From.Name))
	}
	if f.Whole {
		out = append(out, "and all that it calls")
	}
	if len(f.Within) > 0 {
		out = append(out, "in "+shortFunction(f.Within[0].Name))
	}
	if len(f.Also) > 0 {
		out = append(out, "with it "+list(f.Also))
	}
	return out
}

// manyfold is the relative change from which it is written as a multiple: percent of almost nothing
// have five digits.
const manyfold = 9

// changeText writes a relative change with its interval; empty where there is none.
func changeText(c attribution.IntervalEstimate) string {
	if c == (attribution.IntervalEstimate{}) {
		return ""
	}
	if c.Value >= manyfold {
		return fmt.Sprintf("%.0f times as much [%s, %.0f]", 1+c.Value, multiple(1+c.Low), 1+c.High)
	}
	return interval(c.Value, c.Low, c.High).text()
}

// multiple writes a number of times, a small one with a decimal.
func multiple(times float64) string {
	if times < 10 {
		return fmt.Sprintf("%.1f", times)
	}
	return fmt.Sprintf("%.0f", times)
}

// say sets the sentence about the statement that has most of a difference.
func (s *StatementsOf) say(f NamedVerdict) {
	if len(s.Findings) == 0 {
		return
	}
	// Those whose time changed for certain come first.
	rank := func(x statements.ChangedStatement) float64 {
		if x.Cost.Low*x.Cost.High <= 0 {
			return 0
		}
		return math.Abs(x.Cost.Value)
	}
	top := slices.MaxFunc(s.Findings, func(a, b statements.ChangedStatement) int {
		return cmp.Compare(rank(a), rank(b))
	})
	r, _ := resultOf(f.Verdict, costName("db"))
	certain := top.Q <= mostDoubt && rank(top) >= leastStatement*s.Base
	s.First = rank(top) > 0 && (certain || decided(r) && top.Cost.Value*r.Effect > 0)
	s.Sentence = fmt.Sprintf("%s changed: %s", count(len(s.Findings), "statement", "statements"),
		short(plain.OneLine(top.Text), longStatement))
	about := statementFacts(top)
	if top.Operation != "" {
		about = append(about, "issued by "+top.Operation)
	}
	s.Sentence += inParens(strings.Join(about, "; "))
}

// longStatement is the largest length of a statement in a sentence.
const longStatement = 90

// statementFacts are the changes of a statement and of its plan.
func statementFacts(f statements.ChangedStatement) []string {
	var out []string
	switch f.Kind {
	case statements.Added:
		out = append(out, "new")
	case statements.Removed:
		out = append(out, "gone")
	default:
	}
	for _, x := range f.Figures {
		c := changeText(x.Change)
		if c != "" && (x.Found || x.Measure == statements.Time && f.Kind == statements.Changed) {
			out = append(out, string(x.Measure)+" "+c)
		}
	}
	if p := f.Plan; p != nil {
		out = append(out, "plan changed: "+p.From+" → "+p.To)
	}
	return out
}
