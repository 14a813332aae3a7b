package report

import (
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/judge/drift"
	"plimsoll/judge/sizing"
	"plimsoll/plan"
	"plimsoll/record"
)

// seedDocument is the self-hosters' table with its prices, and the marks of a slow proxy and a
// leak.
func seedDocument(t *testing.T) Document {
	t.Helper()
	p, err := plan.Parse([]byte(`name: cx23
target: {driver: external, url: "https://chat.example"}
workload: {behavior: poster}
sizing: {steps: [50, 200, 400, 500, 750], offer: CX23}
prices:
  - {name: CX23, vcpu: 2, memory: 4GB, price: 6, currency: EUR}
  - {name: CPX22, vcpu: 3, memory: 4GB, price: 9, currency: EUR}
  - {name: t3.medium, vcpu: 2, memory: 4GB, price: 30, currency: USD}
`))
	if err != nil {
		t.Fatal(err)
	}
	row := func(users int, rps, p50, p95, p99, most, cpu float64) sizing.Step {
		return sizing.Step{
			Run:        "run-" + string(rune('a'+users/50)),
			Users:      users,
			Valid:      true,
			Count:      uint64(600 * rps),
			Throughput: rps,
			P50:        p50,
			P95:        p95,
			P99:        p99,
			Max:        most,
			CPU:        map[string]float64{"app": cpu},
			Memory:     map[string]float64{"app": 0.9 * (1 << 30)},
		}
	}
	steps := []sizing.Step{
		row(50, 10, 39, 60, 80, 98, 15),
		row(200, 40, 47, 100, 150, 200, 85), row(400, 80, 46, 150, 300, 372, 130),
		row(500, 100, 46, 200, 2000, 1677, 140), row(750, 115, 1000, 3400, 4700, 9174, 160),
	}
	return Document{Sizing: &SizingPart{
		Format:   SizingFormat,
		ID:       "id",
		Name:     p.Name,
		Tool:     "v1",
		Complete: true,
		Plan:     p,
		PlanText: p.String(),
		Result: sizing.Size(steps, sizing.Machine{
			Name:   "CX23",
			Cores:  2,
			Memory: 4 << 30,
		}, p.Prices),
		Setup: []record.Row{{Name: "Stack", Value: "chat + PostgreSQL + nginx"}},
		Drift: []StepDrift{{
			Users: 50,
			Signals: []drift.Drift{{
				Signal:   "memory of app",
				State:    drift.Rises,
				Sentence: "memory of app rises: +190 MiB over 24 hours",
			},
				{
					Signal:   "CPU of app",
					State:    drift.Steady,
					Sentence: "CPU of app: no drift that matters",
				}},
		}},
	}}
}

func TestSizingGolden(t *testing.T) {
	d := seedDocument(t)
	golden(t, "sizing.md", written(t, Markdown, d))
	golden(t, "sizing.txt", screenText(t, d, 0))
	golden(t, "sizing.csv", written(t, CSV, d))
	golden(t, "sizing.json", written(t, JSON, d))
}

// A ladder with little evidence: interrupted, refused by a proxy, chosen by a search, too short for
// a grade.
func TestSizingOfLittle(t *testing.T) {
	d := seedDocument(t)
	steps := d.Sizing.Steps[:3]
	steps[0].Count = 12
	steps[1].Valid, steps[1].Why = false, "lag: <b>late</b> | \"x\""
	steps[2].Failures = 1
	steps[2].Classes = map[string]uint64{"4xx": 8}
	steps[2].Proxy = []string{"=cmd: post: status 403 challenge page of a proxy"}
	steps[2].Memory, steps[2].CPU = nil, nil
	d.Sizing.Result = sizing.Size(steps, d.Sizing.Machine, d.Sizing.Plan.Prices)
	d.Sizing.Complete, d.Sizing.Why = false, "interrupted by <script>"
	d.Sizing.Search = &record.Capacity{Kind: record.AtLeast, Users: 500, Why: "max_users"}
	golden(t, "sizing-little.md", written(t, Markdown, d))
	page := written(t, HTML, d)
	for _, bad := range []string{"<script>\n", "<b>late", "by <script>"} {
		if n := strings.Count(page, bad); n > 1 || n == 1 && bad != "<script>\n" { // the page's own
			t.Errorf("the page holds %q", bad)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, CSV, d))).ReadAll()
	if err != nil || len(rows) != 4 || rows[2][9] != "" || rows[2][11] != "false" ||
		rows[3][7] != "" {
		t.Errorf("%v, %v", rows, err)
	}
	// Nothing at all.
	for _, empty := range []*SizingPart{{}, {Result: sizing.Size(nil, sizing.Machine{}, nil)}} {
		has(t, written(t, Markdown, Document{Sizing: empty}), "No step carries a grade")
	}
}

// Where nothing succeeded there is no time, where no step has a grade no number of users is
// extrapolated to another price, and a long reason leaves the columns of its row in place.
func TestSizingOfFailures(t *testing.T) {
	d := seedDocument(t)
	for i := range d.Sizing.Steps {
		s := &d.Sizing.Steps[i]
		s.P50 = 0
		s.P95 = 0
		s.P99 = 0
		s.Max = 0
		s.Failures = 1
		s.Proxy = []string{
			"login: status 403, a challenge page of a proxy that stands between the users and the server",
		}
	}
	d.Sizing.Result = sizing.Size(d.Sizing.Steps, d.Sizing.Machine, d.Sizing.Plan.Prices)
	screen := screenText(t, d, 0)
	md := written(t, Markdown, d)
	if strings.Contains(screen+md, " 0 ms") {
		t.Errorf("times of no operation:\n%s%s", screen, md)
	}
	if strings.Contains(screen, "extrapolated") {
		t.Errorf("prices:\n%s", screen)
	}
	has(
		t,
		screen,
		"\n     50   10.0    –    –    –    –   100 %   15 %  922 MiB  none: not the server's answers: login:\n        status 403,",
	)
	for line := range strings.Lines(screen) {
		if n := utf8.RuneCountInString(line) - 1; n > defaultWidth {
			t.Errorf("%d signs: %s", n, line)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(written(t, CSV, d))).ReadAll()
	if err != nil || strings.Join(rows[1][2:7], ",") != ",,,,1" {
		t.Errorf("%v, %v", rows, err)
	}
}

// Steps end at the most users that the plan allows, and the text does not promise others.
func TestSizingStepsEndAtMaxUsers(t *testing.T) {
	d := seedDocument(t)
	d.Sizing.Plan.Unbounded = &plan.Unbounded{MaxUsers: 5000}
	for users, want := range map[float64]bool{4000: true, 3000: false} {
		d.Sizing.Search = &record.Capacity{Kind: record.Estimate, Users: users}
		md := written(t, Markdown, d)
		if strings.Contains(md, "none beyond max") != want {
			t.Errorf("%g users:\n%s", users, md)
		}
	}
}
