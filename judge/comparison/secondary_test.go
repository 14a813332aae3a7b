package comparison

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
)

// TestReaders adds metrics from the series of a run: a store method that got slower, a server's
// CPU, methods of one arm alone, and one that is too rare to report.
func TestReaders(t *testing.T) {
	b := newBench(t)
	c := b.compare(0)
	arm := map[string]string{}
	for _, r := range c.Runs {
		arm[r.Run] = r.Arm
	}
	var mu sync.Mutex // runs are read several at once
	read := func(r *record.Run) ([]SecondaryValue, error) {
		mu.Lock()
		defer mu.Unlock()
		slower := 1.0
		if arm[r.Manifest.ID] == "new" {
			slower = 1.5
		}
		noise := func() float64 { return math.Exp(0.02 * b.rng.NormFloat64()) }
		store := SecondaryValue{
			Unit:   "ms",
			Better: plan.Lower,
			Floor:  0.2,
			Count:  1000,
			Calls:  "store Save",
		}
		mean, tail := store, store
		mean.Name, mean.Value, mean.Mean = "mean(store Save)", 2*slower*noise(), true
		tail.Name, tail.Value = "p99(store Save)", 9*noise()
		out := []SecondaryValue{mean, tail,
			{
				Name:   "CPU of app",
				Unit:   "%",
				Better: plan.Lower,
				Floor:  1,
				Value:  40 * slower * noise(),
				Alone:  true,
			},
			{Name: "GC of app", Unit: "%", Better: plan.Lower, Value: 0, Alone: true}}
		if slower > 1 {
			out = append(out, SecondaryValue{
				Count: 2,
				Calls: "store GetThread",
			}, SecondaryValue{Count: 1, Calls: "store Rare"})
		} else {
			out = append(out, SecondaryValue{Count: 40, Calls: "store GetRoot"})
		}
		return out, nil
	}
	arms, databases := b.judge(c, read)
	f := arms[0].Secondary
	for _, m := range f.Worsened {
		if m.Name == "mean(store Save)" &&
			(m.Contribution == nil || math.Abs(*m.Contribution-1) > 0.2 || math.Abs(m.Effect-0.5) > 0.05 || m.NewCalls != 1000) {
			t.Errorf("%+v adds %v s, want about 1 s", m, m.Contribution)
		}
		if m.Name == "CPU of app" && (m.Unit != "%" || m.Contribution != nil || m.NewCalls != 0) {
			t.Errorf("%+v", m)
		}
	}
	if got := names(f.Worsened); !slices.Equal(got, []string{"CPU of app", "mean(store Save)"}) {
		t.Errorf("worsened %v", got)
	}
	if !slices.Equal(f.Appeared, []string{"store GetThread"}) ||
		!slices.Equal(f.Vanished, []string{"store GetRoot"}) {
		t.Errorf(
			"appeared %v, vanished %v; want GetThread (12 calls), GetRoot, and not Rare (6 calls)",
			f.Appeared,
			f.Vanished,
		)
	}
	if strings.Contains(strings.Join(f.Refused, " "), "GC of app") ||
		slices.ContainsFunc(f.Unclear, func(m verdict.Secondary) bool {
			return m.Name == "GC of app"
		}) {
		t.Error("a number that is zero was compared as a ratio")
	}
	if k := arms[0].Verdict.Kind; k != verdict.Same {
		t.Errorf("a further metric decided the verdict: %s", k)
	}
	if len(databases[1].Secondary.Worsened) > 0 {
		t.Errorf("databases %+v", databases[1].Secondary.Worsened)
	}
	boom := errors.New("no series")
	if _, _, err := Judge(c, parse(t), b.load, func(*record.Run) ([]SecondaryValue, error) {
		return nil, boom
	}); !errors.Is(err, boom) {
		t.Errorf("a reader's error is %v", err)
	}
}
