package bisect

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/attribution"
	"plimsoll/judge/bisect"
	"plimsoll/plan"
	"plimsoll/record"
)

// named writes a build with its place in the range.
func (r *Record) named(i int) string {
	b := r.Builds[i]
	text := fmt.Sprintf("%d of %d: %s", i+1, len(r.Builds), b.Short())
	if b.Title != "" {
		text += fmt.Sprintf(" %q", b.Title)
	}
	return text
}

// change writes a change of the endpoint with its interval.
func (r *Record) change(i attribution.IntervalEstimate) string {
	text := fmt.Sprintf("%s %+.1f %%", r.Endpoint, 100*i.Value)
	if i.Low != 0 || i.High != 0 {
		text += fmt.Sprintf(" [%.1f, %.1f]", 100*i.Low, 100*i.High)
	}
	return text
}

// Worse reports whether the change of the answer is for the worse.
func (r *Record) Worse() bool {
	e, err := plan.ParseEndpoint(r.Endpoint)
	change := r.Answer.Effect.Value
	return err == nil && change != 0 && (change > 0) == (e.Better == plan.Lower)
}

// Progress is the knowledge of a search that is not over, on one line.
func (r *Record) Progress() string {
	if len(r.Probabilities) == 0 {
		return "the whole range: " + r.change(r.Answer.Ends)
	}
	type one struct {
		build int
		p     float64
	}
	var all []one
	for i, p := range r.Probabilities {
		all = append(all, one{i, p})
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(b.p, a.p) })
	var parts []string
	for _, x := range all[:min(3, len(all))] {
		if x.p >= 0.005 {
			parts = append(parts, fmt.Sprintf("%d (%s)", x.build+1, percent(x.p)))
		}
	}
	return "most probable first: build " + strings.Join(parts, ", ")
}

// Lines are the answer, most important first.
func (r *Record) Lines() []string {
	a := r.Answer
	var out []string
	switch {
	case a.Outcome == bisect.Found:
		out = append(out, r.found())
		out = append(out, r.several()...)
	case a.Outcome == bisect.Nothing:
		text := fmt.Sprintf("nothing to find: %s over the whole range, in %d blocks",
			r.change(a.Ends), r.blocks())
		if a.Ends.Low > 0 || a.Ends.High < 0 {
			text += fmt.Sprintf("; it is not certain to be %g %% or more", 100*bisect.Least)
		}
		out = append(out, text)
	case a.Outcome == bisect.Undecided:
		out = append(out, "undecided: "+a.Why, r.Progress())
		out = append(out, r.several()...)
	default:
		out = append(out, fmt.Sprintf("not over after %d blocks: %s", r.blocks(), r.Why), r.Progress())
	}
	var skipped []string
	for i, b := range r.Builds {
		if b.Skipped != "" {
			first, _, _ := strings.Cut(b.Skipped, "\n")
			skipped = append(skipped, fmt.Sprintf("skipped %s: %s", r.named(i), first))
		}
	}
	return append(out, skipped...)
}

// found is the sentence on the build that was found.
func (r *Record) found() string {
	a := r.Answer
	how := "better"
	if r.Worse() {
		how = "worse"
	}
	text := fmt.Sprintf("the first %s build is %s", how, r.named(a.Build))
	if a.Before < a.Build-1 {
		text = fmt.Sprintf("the first %s build is one of %d to %d, of which only the last can be measured: %s",
			how, a.Before+2, a.Build+1, r.named(a.Build))
	}
	return fmt.Sprintf("%s: %s, probability %s; confirmed by %d blocks against build %d",
		text, r.change(a.Effect), percent(a.Probability), a.Blocks, a.Before+1)
}

// several reports more than one change.
func (r *Record) several() []string {
	a := r.Answer
	if a.More < bisect.Several {
		return nil
	}
	text := fmt.Sprintf("more than one change, probability %s: %s over the whole range",
		percent(a.More), r.change(a.Ends))
	if a.Outcome == bisect.Found && a.Build < len(r.Builds)-1 {
		text += fmt.Sprintf("; bisect again from build %d for the next", a.Build+1)
	}
	return []string{text}
}

// percent writes a probability; it is never 100 %.
func percent(p float64) string { return fmt.Sprintf("%.0f %%", min(100*p, 99)) }

// blocks counts the valid blocks.
func (r *Record) blocks() int {
	n := 0
	for _, s := range r.Steps {
		n += len(s.Ratios)
	}
	return n
}

// Markdown is the report.
func (r *Record) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Bisection %s\n\n", r.ID)
	for _, line := range r.Lines() {
		fmt.Fprintf(&b, "- %s\n", cell(line))
	}
	fmt.Fprintf(&b, "\n%d builds, %d steps, %d blocks; %s to %s; Plimsoll %s\n", len(r.Builds),
		len(r.Steps), r.blocks(), r.Started.UTC().Format("2006-01-02 15:04"),
		r.Saved.UTC().Format("2006-01-02 15:04 MST"), r.Tool)
	if r.Suspects != nil {
		fmt.Fprintf(&b, "\n## Suspects\n\n")
		if r.Suspects.Withheld != "" {
			fmt.Fprintf(&b, "%s\n\n", cell(r.Suspects.Withheld))
		}
		for _, s := range r.Suspects.Suspects {
			fmt.Fprintf(&b, "- %.12s %s: %s\n", s.Commit, cell(s.Title), cell(s.Reason))
		}
	}
	fmt.Fprintf(&b, "\n## Builds\n\n| build | name | title | probability |\n|---|---|---|---|\n")
	for i, build := range r.Builds {
		p := ""
		if i < len(r.Probabilities) && r.Probabilities[i] >= 0.005 {
			p = percent(r.Probabilities[i])
		}
		if build.Skipped != "" {
			p = "skipped"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s |\n", i+1, cell(build.Short()), cell(build.Title), p)
	}
	fmt.Fprintf(&b, "\n## Steps\n\nEach is a stored comparison; `plimsoll report ID` renders it.\n\n"+
		"| step | for | build | against | blocks | %s | comparison |\n|---|---|---|---|---|---|---|\n",
		cell(r.Endpoint))
	for i, s := range r.Steps {
		change := "no valid block"
		if len(s.Ratios) > 0 {
			sum := 0.0
			for _, x := range s.Ratios {
				sum += x
			}
			change = fmt.Sprintf("%+.1f %%", 100*math.Expm1(sum/float64(len(s.Ratios))))
		}
		fmt.Fprintf(&b, "| %d | %s | %d | %d | %d | %s | %s |\n", i+1, s.Purpose, s.Build+1,
			s.Against+1, len(s.Ratios), change, s.Comparison)
	}
	return b.String()
}

// cell writes a text into a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(plain.Text(text), "|", `\|`) }

// Over reports whether nothing is left to do.
func (r *Record) Over() bool { return r.State == record.Sealed }
