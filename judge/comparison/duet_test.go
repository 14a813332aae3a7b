package comparison

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

// TestDuetHasNoOrder judges the same runs as runs of a sequence and of a duet: in a duet no run of
// a pair came first, and the interval has the degrees of freedom of a paired test.
func TestDuetHasNoOrder(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	for mode, ordered := range map[string]bool{
		"":                true,
		plan.ModeSequence: true,
		plan.ModeDuet:     false,
	} {
		c.Mode = mode
		arms, _ := b.judge(c)
		r := resultOf(t, arms[0].Verdict, "capacity")
		if (r.Order != nil) != ordered || (r.Pairs[0].First != "") != ordered {
			t.Errorf("mode %q: order effect %+v, %q came first", mode, r.Order, r.Pairs[0].First)
		}
		if text := fmt.Sprint(r.Warnings); strings.Contains(text, "came first") {
			t.Errorf("mode %q: %s", mode, text)
		}
	}
}

// TestRunsThatTookTurns are not judged as runs of a sequence.
func TestRunsThatTookTurns(t *testing.T) {
	b := newBench(t)
	b.turns = &record.Duet{Seats: 4, Turns: 9}
	c := b.compare(0)
	c.Mode = plan.ModeDuet
	mustJudge(t, c, parse(t), Loader(c, b.load))
	c.Mode = plan.ModeSequence
	if _, _, err := Judge(c, parse(t), Loader(c, b.load)); !errors.Is(err, ErrAltered) ||
		!strings.Contains(err.Error(), "it took turns with other runs") {
		t.Errorf("got %v", err)
	}
}

// TestNoiseOfDuets: duets have a separate environment.
func TestNoiseOfDuets(t *testing.T) {
	b, p := newBench(t), parse(t)
	c := b.compare(0)
	c.Mode = plan.ModeDuet
	arms, _ := mustJudge(t, c, p, b.load)
	env := Environment{Host: "h"}
	lines := AALines(c, p, arms, env, time.Unix(1e9, 0))
	c.Mode = plan.ModeSequence
	others := AALines(c, p, arms, env, time.Unix(1e9, 0))
	if len(lines) == 0 || len(lines) != len(others) {
		t.Fatalf("%d and %d lines", len(lines), len(others))
	}
	for i, l := range lines {
		if l.Environment == others[i].Environment || l.Load != others[i].Load+", duet" {
			t.Errorf("%+v and %+v", l, others[i])
		}
	}
	if n := NoiseOf(Pool(lines), p, env); len(n) != 0 {
		t.Errorf("a sequence has the noise of duets: %+v", n)
	}
	env.Duet = true
	if n := NoiseOf(Pool(lines), p, env); len(n) != len(lines) {
		t.Errorf("a duet has %d lines of noise, want %d", len(n), len(lines))
	}
}

// TestModeOfThePlan refuses a comparison whose mode or slice is not its plan's.
func TestModeOfThePlan(t *testing.T) {
	for want, change := range map[string]func(*plan.Compare){
		`mode is "duet", in its plan "sequence"`: func(c *plan.Compare) {
			c.Mode = plan.ModeSequence
		},
		"slice is 0s, in its plan 1s": func(c *plan.Compare) { c.Slice = time.Second },
	} {
		c, p := newBench(t).compare(0), parse(t)
		change(p.Compare)
		c.Mode, c.Slice = plan.ModeDuet, 0
		c.Plan, c.PlanDigest = p.String(), p.Digest()
		if err := CheckPlan(c, p); !errors.Is(err, ErrAltered) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
