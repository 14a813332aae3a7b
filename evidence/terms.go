package evidence

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/judge/imported"
	"plimsoll/plan"
	"plimsoll/report"
)

// Terms are the terms on which given numbers are judged, as the flags of a caller state them.
// Errors of its methods name the flags. The zero Terms ask for the defaults of a metric without a
// name.
type Terms struct {
	// Name, Better and Unit describe the numbers of a table without columns for them. Better is
	// higher or lower; empty is the direction of the metric, and higher if it is not known. Several
	// overrules Name and Better.
	Name, Better, Unit string
	// Margin is the largest distance of the interval's ends for a difference to be the same: "5%",
	// or a list by metric, "capacity=5%,p95=10%,errors=0.1pp". Empty is the margin of the metric.
	Margin string
	// Arms are the names of both arms, "BASE,NEW"; empty for the names in the files.
	Arms string
	// Several reports that the numbers name their metrics.
	Several bool
	// Given are the flags that the caller set, without a dash.
	Given []string
	// errors is the margin of errors of the runs' plans in percentage points; 0 if there is none.
	errors float64
}

// refuse refuses flags that the caller set and that describe numbers of another form.
func (t Terms) refuse(flags []string, why string) error {
	for _, f := range flags {
		if slices.Contains(t.Given, f) {
			return plan.Usagef("-%s %s", f, why)
		}
	}
	return nil
}

// endpoint returns the endpoint that the terms describe, or the endpoint of a metric when there are
// several.
func (t Terms) endpoint(metric, unit string) (plan.Endpoint, error) {
	if t.Several {
		margins, err := t.margins()
		if err != nil {
			return plan.Endpoint{}, err
		}
		e, err := comparison.EndpointOf(metric, unit, margins)
		if err != nil {
			return e, plan.UsageError{Err: err}
		}
		if _, given := margins["errors"]; metric == "errors" && !given && t.errors > 0 {
			e.Margin = t.errors
		}
		return e, nil
	}
	// A metric has the properties that its name has in other files; an unknown name has the
	// direction of a capacity.
	unit = cmp.Or(unit, t.Unit)
	e, err := comparison.EndpointOf(t.Name, unit, nil)
	if err != nil && t.Name == "errors" {
		return e, plan.UsageError{Err: err}
	} else if err != nil {
		e = plan.Endpoint{Name: t.Name, Unit: unit, Better: plan.Higher, Margin: 0.05}
	}
	if t.Better != "" {
		if e.Better, err = plan.ParseDirection(t.Better); err != nil {
			return e, plan.Usagef("-better: %w", err)
		}
	}
	if t.Margin != "" {
		if e.Margin, e.Absolute, err = t.marginOfOne(); err != nil {
			return e, err
		}
	}
	return e, nil
}

// marginOfOne reads Margin where all numbers are of one metric: its margin, or as in a list with
// the metric's name in front.
func (t Terms) marginOfOne() (margin float64, absolute bool, err error) {
	if !strings.Contains(t.Margin, "=") {
		if margin, absolute, err = imported.ParseMargin(t.Margin); err != nil {
			return 0, false, plan.Usagef("-margin: %w", err)
		}
		return margin, absolute, nil
	}
	margins, err := t.margins()
	if err != nil {
		return 0, false, err
	}
	stat, _, _ := strings.Cut(t.Name, "(")
	for _, metric := range slices.Sorted(maps.Keys(margins)) {
		if metric != t.Name && metric != stat {
			return 0, false, plan.Usagef(
				"-margin is for %s, but the numbers are %s; -name says what they are",
				metric,
				t.Name,
			)
		}
	}
	m, ok := margins[t.Name]
	if !ok {
		m = margins[stat]
	}
	return m.Margin, m.Absolute, nil
}

// margins reads Margin as a list; a margin without a metric is for capacity, as in a plan.
func (t Terms) margins() (map[string]plan.Endpoint, error) {
	out := map[string]plan.Endpoint{}
	if t.Margin == "" {
		return out, nil
	}
	for part := range strings.SplitSeq(t.Margin, ",") {
		metric, text, ok := strings.Cut(part, "=")
		if !ok {
			metric, text = "capacity", part
		}
		metric = strings.TrimSpace(metric)
		m, absolute, err := imported.ParseMargin(text)
		if err != nil {
			return nil, plan.Usagef("-margin: %w", err)
		}
		if _, twice := out[metric]; twice {
			return nil, plan.Usagef("-margin: %s is there twice", metric)
		}
		out[metric] = plan.Endpoint{Margin: m, Absolute: absolute}
	}
	return out, nil
}

// checkMargins refuses a margin of a metric that is not judged, rather than ignore it.
func (t Terms) checkMargins(in report.JudgeInput) error {
	if !t.Several {
		return nil
	}
	margins, err := t.margins()
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range in.Rows {
		there[r.Metric] = true
	}
	for name := range in.Skipped {
		there[name] = true
	}
	all := slices.Sorted(maps.Keys(there))
	for _, metric := range slices.Sorted(maps.Keys(margins)) {
		is := func(name string) bool {
			return name == metric || strings.HasPrefix(name, metric+"(")
		}
		if !slices.ContainsFunc(all, is) {
			return plan.Usagef(
				"-margin is for %s, but there are only %s",
				metric,
				strings.Join(all, ", "),
			)
		}
	}
	return nil
}

// names returns the names of the arms: the terms', or else the files'.
func (t Terms) names(files [2]string) ([2]string, error) {
	if t.Arms == "" {
		return files, nil
	}
	base, fresh, ok := strings.Cut(t.Arms, ",")
	base, fresh = strings.TrimSpace(base), strings.TrimSpace(fresh)
	if !ok || base == "" || fresh == "" || base == fresh || strings.Contains(fresh, ",") {
		return files, plan.Usagef("-arms %q: want two names, such as v11.0.4,v11.1.0-rc2", t.Arms)
	}
	return [2]string{base, fresh}, nil
}
