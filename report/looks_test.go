package report

import (
	"strings"
	"testing"
	"time"

	"plimsoll/record"
)

// timed is a comparison with a budget that was over at its second look.
func timed() Input {
	in := planned()
	c := in.Comparison
	c.Budget = 25 * time.Minute
	c.Blocks = 12
	c.Resumed = nil
	at := c.Started
	open := []record.LookVerdict{{Engine: "postgresql", Arm: "new", Kind: "inconclusive"}}
	c.Looks = []record.Look{
		{
			Blocks:   6,
			Alpha:    0.0147,
			At:       at.Add(13 * time.Minute),
			Verdicts: open,
			Spent:    13 * time.Minute,
			Could: []record.Expected{{
				Engine: "postgresql",
				Metric: "capacity",
				MDE:    0.031,
			}, {Engine: "postgresql", Metric: "errors", Unit: "%", Absolute: true, MDE: 0.02}},
		},
		{
			Blocks:   9,
			Alpha:    0.0106,
			At:       at.Add(19 * time.Minute),
			Verdicts: open,
			Spent:    19 * time.Minute,
			Over:     true,
		},
		{Blocks: 12, Alpha: 0.0101},
	}
	c.Before.Budget, c.Before.Fits = c.Budget, 9
	return in
}

func TestBudgetInTheReport(t *testing.T) {
	d := From(timed())
	text := written(t, FullMarkdown, d)
	has(
		t,
		text,
		"As many blocks as are needed, in at most 25m (compare.budget): the first look after about 12m, and time for about 9 blocks.",
		"Planned looks after 6, 9 and 12 blocks, at levels from 1.01 % to 1.47 %, which together are 5 %.",
		"the remaining 12m could still find 3.1 % in capacity on PostgreSQL, 0.02 pp in errors on PostgreSQL.",
		"Look 2 of 3, after 9 blocks, at the level 1.06 %: PostgreSQL: inconclusive; undecided, and the rest of the budget of 25m was too short for another: it ended.",
	)
	const want = "not decided at look 2 of 3, after 9 of at most 12 blocks, at the level 1.06 %: the rest of the budget of 25m was too short for another"
	if got := d.Protocol.lookText(); got != want {
		t.Errorf("got %q", got)
	}
}

func TestLookNext(t *testing.T) {
	for _, tt := range []struct {
		look record.Look
		want string
	}{
		{record.Look{Decided: true}, "decided: the comparison ends"},
		{record.Look{}, "not decided"},
		{record.Look{Over: true}, "not decided, and the rest of the budget of 30m was too short for another: the comparison ends"},
		{record.Look{
			Spent: 18 * time.Minute,
			Could: []record.Expected{{Metric: "cost(app)", MDE: 0.031}},
		}, "not decided; the remaining 12m could still find 3.1 % in cost(app)"},
	} {
		if got := LookNext(tt.look, 30*time.Minute, func(string) string {
			return ""
		}); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestBudgetThatEndsBeforeTheFirstLook(t *testing.T) {
	b := record.Before{Budget: 5 * time.Minute, Least: 12 * time.Minute, Fits: 6}
	if got := budgetText(b); !strings.Contains(
		got,
		"the first look, after about 12m, comes later than that, and will be the only one",
	) {
		t.Errorf("got %q", got)
	}
}
