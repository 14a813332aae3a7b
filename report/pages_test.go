package report

import (
	"strings"
	"testing"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/record"
)

// searched is a run of a search with one rule that stopped it, one that came near, and one about a
// minimum, which is far; margins take the place of theirs.
func searched(kind, rule string, margins ...record.RuleMargin) RunData {
	r := RunData{
		Cell: record.ComparisonRun{
			Run:    "r-1",
			Block:  2,
			Arm:    "new",
			Engine: "postgresql",
			Valid:  true,
		},
		Validity: record.Validity{Valid: true},
	}
	r.Manifest = record.Manifest{
		ID:    "r-1",
		Epoch: time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC),
		Tool:  "plimsoll v0.1.0",
		Phases: []record.Phase{{
			Name: "measure",
			To:   20 * time.Second,
		}, {Name: "search", From: 20 * time.Second, To: 60 * time.Second}},
		Capacity: &record.Capacity{
			Kind:    kind,
			Users:   1204,
			Rule:    rule,
			Stopped: "max users: 5000 were reached",
			Why:     "it could not go on",
		},
	}
	r.Manifest.Capacity.Margins = []record.RuleMargin{{
		Rule:  "cpu(app) < 85%",
		Value: 1,
		Limit: 1,
	}, {
		Rule:  "p99(op) < 2s",
		Value: 0.63,
		Limit: 1,
	}, {Rule: "promql: free > 10", Value: 0.25, Limit: 1}}
	for _, m := range margins {
		for i := range r.Manifest.Capacity.Margins {
			if r.Manifest.Capacity.Margins[i].Rule == m.Rule {
				r.Manifest.Capacity.Margins[i] = m
			}
		}
	}
	for k := range 4 {
		at := time.Duration(25+10*k) * time.Second
		r.Events = append(r.Events, record.Event{
			At:       at,
			Kind:     "slo",
			Rule:     "cpu(app) < 85%",
			Value:    0.8 + 0.05*float64(k),
			Limit:    0.85,
			Violated: k > 1,
			Phase:    "search",
		})
	}
	r.Events = append(r.Events,
		evaluated(20*time.Second, measuredPhase, "cpu(app) < 85%", 0.5, 0.85),
		evaluated(20*time.Second, measuredPhase, "p99(op) < 2s", 1.8, 2))
	return r
}

func TestDominant(t *testing.T) {
	broken := searched(record.Estimate, "")
	broken.Events[len(broken.Events)-1].Violated = true
	silent := searched(record.Estimate, "")
	silent.Events = []record.Event{{
		At:       20 * time.Second,
		Kind:     "slo",
		Rule:     "cpu(app) < 85%",
		NoData:   true,
		Violated: true,
		Phase:    measuredPhase,
	}}
	least := searched(record.Estimate, "")
	least.Events = []record.Event{
		evaluated(20*time.Second, measuredPhase, "promql: free > 10", 11, 10),
		evaluated(20*time.Second, measuredPhase, "p99(op) < 2s", 1.2, 2),
	}
	none := searched(record.Estimate, "")
	none.Manifest.Capacity = nil
	for _, tt := range []struct {
		name, test string
		run        RunData
		want       string
	}{
		{"the rule that stopped the search", Unbounded, searched(record.Estimate, "cpu(app) < 85%"),
			"cpu(app) < 85% dominated: it stopped the search at 1204 users, broken in 2 of 4 evaluations. Next to its limit was p99(op) < 2s, at 63 % of its limit there."},
		{"a search that no rule stopped", Unbounded, searched(record.AtLeast, ""),
			"No rule stopped the search (max users: 5000 were reached). Nearest to its limit was cpu(app) < 85%, at 100 % of its limit."},
		{"a lower bound", Unbounded, searched(record.AtLeast, "p99(op) < 2s"),
			"p99(op) < 2s dominated; the search ended at a limit of its own (max users: 5000 were reached), so 1204 users is a lower bound. Next to its limit was cpu(app) < 85%, at 100 % of its limit there."},
		{"a minimum that stopped the search", Unbounded, searched(record.Estimate, "cpu(app) < 85%", record.RuleMargin{
			Rule:  "promql: free > 10",
			Value: 0.9,
			Limit: 1,
		}),
			"cpu(app) < 85% dominated: it stopped the search at 1204 users, broken in 2 of 4 evaluations. Next to its limit was promql: free > 10, at 90 % of its limit there."},
		{"a search that failed", Unbounded, searched(record.Invalid, "cpu(app) < 85%"),
			"cpu(app) < 85% dominated, broken in 2 of 4 evaluations, and the search has no result: it could not go on."},
		{"a gate of the generator", Unbounded, searched(record.AtLeast, record.ByGate+"lag"),
			"The search was ended by the gate lag of the generator's health and not by a rule: it could not go on."},
		{"no search", Unbounded, none, "The search ended without a result, so no rule is named."},
		{"a bounded test that held", Bounded, searched(record.Estimate, ""),
			"No rule was broken over the measured phase. Nearest to its limit was p99(op) < 2s, at 90 % of its limit (1.8 s, limit 2 s)."},
		{"a bounded test that broke a rule", Bounded, broken, "Broken over the measured phase: p99(op) < 2s (1.8 s, limit 2 s)."},
		{"a rule without data is not healthy", Bounded, silent, "No rule has a value over the measured phase. 1 rule had no data over it."},
		{"a minimum", Bounded, least, "No rule was broken over the measured phase. Nearest to its limit was promql: free > 10, at 91 % of its limit (11.0, limit 10)."},
		{"no rules", Bounded, RunData{}, "The plan has no rules, so none dominated."},
	} {
		if got := Dominant(tt.run, tt.test); got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

// somePage is a page with a panel of every kind.
func somePage(kind string, name string) Page {
	r := searched(record.Estimate, "cpu(app) < 85%"+name)
	r.Limiter = &limiter.Limiter{Sentence: "Limited by cpu app" + name}
	line := Line{T: []float64{0, 10, 20, 30}, V: []float64{0.2, 0.5, 0.9, 0.95}}
	p := Page{PageRef: NewPageRef(r, Unbounded, kind), Data: r}
	p.Panels = []Panel{
		RulePanel("cpu(app) < 85%", 0.85, line, []Stretch{{20, 31}}, []Stretch{{0, 5}}),
		RulePanel("promql: gone"+name+" < 1", 1, Line{}, nil, nil),
		{
			Group:     "Load",
			Title:     "Users" + name,
			Lines:     []PanelLine{{"active" + name, line}},
			Limit:     1,
			LimitName: "the capacity",
		},
		{Group: "Disk", Title: "Throughput", Unit: "MiB/s", Why: "no disk" + name},
	}
	many := Panel{Group: "Load", Title: "Many", Unit: "%"}
	for i := range 30 {
		l := Line{T: line.T}
		for range line.T {
			l.V = append(l.V, float64(i))
		}
		many.Lines = append(many.Lines, PanelLine{"line" + string(rune('A'+i)), l})
	}
	p.Panels = append(p.Panels, many)
	return p
}

func TestPages(t *testing.T) {
	page := string(render(t, somePage(CoordinatorPage, "").HTML))
	golden(t, "coordinator-page.html", bare(page))
	if system := string(render(t, somePage(SystemPage, "").HTML)); !strings.Contains(
		system,
		"Limited by cpu app",
	) ||
		strings.Contains(system, "dominated") {
		t.Error("the system page leads with the limiter")
	}
	bad := somePage(SystemPage, "")
	bad.Data.Validity = record.Validity{Findings: []record.Finding{{
		Gate:  "lag",
		Level: record.Red,
		Text:  "31 ms late",
	}}}
	has(t, string(render(t, bad.HTML)), "This run is not valid", "lag: 31 ms late")
}

// TestPagesAreClosed checks pages as reports are checked: no external resources, no markup injected
// by a name.
func TestPagesAreClosed(t *testing.T) {
	for _, kind := range []string{SystemPage, CoordinatorPage} {
		for _, name := range []string{"", nasty} {
			checkClosed(t, kind, string(render(t, somePage(kind, name).HTML)))
		}
	}
	r := RunData{Manifest: record.Manifest{ID: "../../etc/" + nasty}}
	if ref := NewPageRef(r, Bounded, SystemPage); strings.ContainsAny(ref.File, `/\"'<> `) {
		t.Errorf("the file of a page is %q", ref.File)
	}
}
