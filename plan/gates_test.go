package plan_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// A red gate is charged to somebody.
func TestEveryGateHasACause(t *testing.T) {
	for _, g := range plan.DefaultGates() {
		if g.Cause == "" {
			t.Errorf("nobody is charged when the gate %s is red", g.Name)
		}
	}
}

// The table of docs/validity.md is made of the gates.
func TestGatesPageGolden(t *testing.T) {
	const page, from, to = "../docs/validity.md", "<!-- gates -->\n", "<!-- end of gates -->\n"
	b, err := os.ReadFile(page)
	failure.None(t, err)
	head, rest, begins := strings.Cut(string(b), from)
	_, tail, ends := strings.Cut(rest, to)
	if !begins || !ends {
		t.Fatalf("%s has no marks for the table", page)
	}
	want := head + from + gatesTable() + to + tail
	if *update {
		failure.None(t, os.WriteFile(page, []byte(want), 0o666))
		return
	}
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf(
			"%s is not what the gates make (-want +got; rewrite with -update):\n%s",
			page,
			diff,
		)
	}
}

func gatesTable() string {
	var b strings.Builder
	b.WriteString(
		"| gate | reading | amber | red | source of the limits | caused by | spoils | measured phase | search |\n",
	)
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	over := map[plan.Stretch]string{
		plan.MeanOfPhase:  "each second",
		plan.WorstMoment:  "each second, the worst",
		plan.SecondsAlone: "each second alone",
		plan.WholePhase:   "phase",
	}
	search := map[plan.SearchPart]string{
		plan.EndsSearch:  "each second, ends",
		plan.HeldWindows: "held",
		plan.EachSecond:  "each second",
	}
	for _, g := range plan.DefaultGates() {
		reading := g.What
		below := ""
		spoils := "all"
		without := ""
		if g.Detail != "" {
			reading += "; " + g.Detail
		}
		if g.Floor {
			below = "below "
		}
		if g.TimesOnly {
			spoils = "times"
		}
		if g.Without != "" {
			without = "; not applicable " + g.Without
		}
		fmt.Fprintf(
			&b,
			"| `%s` | %s | %s%s | %s%s | %s | %s | %s | %s%s | %s |\n",
			g.Name,
			reading,
			below,
			g.Format(g.Amber),
			below,
			g.Format(g.Red),
			g.Source,
			g.Cause,
			spoils,
			over[g.Over],
			without,
			search[g.Search],
		)
	}
	return b.String()
}
