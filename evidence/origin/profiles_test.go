package origin

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/attribution"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/watch/profile"
)

// stored is a profile of a server: handlers with a thousand samples each, and slow ones in one.
func stored(slow int64) profile.Stored {
	s := profile.Stored{Module: "example.org/chat", Period: time.Millisecond, Seconds: 60,
		Binaries:  []profile.Binary{{Name: "chat"}},
		Functions: []profile.Symbol{{Name: "main.main", Binary: "chat", Kind: "own"}}}
	for i := range int32(20) {
		s.Functions = append(s.Functions, profile.Symbol{Name: fmt.Sprintf("main.handle%d", i),
			File: "main.go", Binary: "chat", Kind: "own"})
		s.Stacks = append(s.Stacks, profile.SampledStack{Functions: []int32{0, i + 1}, Samples: 1000})
	}
	s.Stacks[7].Samples += slow
	for _, st := range s.Stacks {
		s.CPU += float64(st.Samples) / 1000
	}
	return s
}

// A kept is the runs of a comparison of six blocks.
type kept struct {
	Origins
	runs  map[string]*record.Run
	pairs []verdict.Pair
}

// comparison makes runs of base and new, whose operations cost 2 ms and 2.2 ms; put writes into
// each.
func comparison(t *testing.T, put func(w *record.Writer, block int, arm string)) kept {
	t.Helper()
	k := kept{runs: map[string]*record.Run{}}
	k.Origins = Origins{&record.Comparison{Arms: []string{"base", "new"},
		Engines: []string{"postgresql"}, Blocks: 6}, func(id string) (*record.Run, error) {
		return k.runs[id], nil
	}, nil}
	for b := 1; b <= 6; b++ {
		p := verdict.Pair{Block: b, Base: 2 + 0.01*float64(b), New: 2.2 + 0.01*float64(b)}
		k.pairs = append(k.pairs, p)
		for i, arm := range k.Arms {
			id := fmt.Sprintf("%s-%d", arm, b)
			dir := filepath.Join(t.TempDir(), id)
			w, err := record.Create(dir, record.Manifest{ID: id})
			if err != nil {
				t.Fatal(err)
			}
			put(w, b, arm)
			if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
				t.Fatal(err)
			}
			if k.runs[id], err = record.Open(dir); err != nil {
				t.Fatal(err)
			}
			k.Runs = append(k.Runs, record.ComparisonRun{Run: id, Block: b, Order: i + 1, Arm: arm,
				Engine: "postgresql", Valid: true})
		}
	}
	return k
}

// costs attributes cost(app) and cost(db).
func (k kept) costs(t *testing.T) []attribution.Attribution {
	t.Helper()
	var v verdict.Verdict
	for _, name := range []string{"p95(post)", "cost(app)", "cost(db)"} {
		v.Results = append(v.Results, verdict.Result{Endpoint: plan.Endpoint{Name: name}, Pairs: k.pairs})
	}
	all, err := k.Costs("postgresql", "new", v)
	if err != nil {
		t.Fatal(err)
	}
	var out []attribution.Attribution
	for _, a := range all {
		out = append(out, a.Attribution)
	}
	return out
}

func write(t *testing.T, w *record.Writer, role string, s profile.Stored) {
	t.Helper()
	f, err := w.Profile(role)
	if err == nil {
		if err = profile.Write(f, s); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCostsAreThoseOfTheVerdict attributes a difference to the function that has it: base, new and
// the sum of the parts are the costs that were judged.
func TestCostsAreThoseOfTheVerdict(t *testing.T) {
	k := comparison(t, func(w *record.Writer, block int, arm string) {
		slow := int64(10 * block)
		if arm == "new" {
			slow += 2000
		}
		write(t, w, "app", stored(slow))
	})
	all := k.costs(t)
	if len(all) != 1 || all[0].Role != "app" || all[0].Blocks != 6 {
		t.Fatalf("the attributions are %+v", all)
	}
	a := all[0]
	if math.Abs(a.Base-2.035e-3) > 1e-9 || math.Abs(a.New-2.235e-3) > 1e-9 {
		t.Errorf("the costs are %v and %v, and 0.002035 and 0.002235 were judged", a.Base, a.New)
	}
	sum := 0.0
	for _, p := range a.Parts {
		sum += p.Cost.Value
	}
	if math.Abs(sum-(a.New-a.Base)) > 1e-12 {
		t.Errorf("the parts are %v, and the difference is %v", sum, a.New-a.Base)
	}
	if len(a.Findings) != 1 || a.Findings[0].Function.Name != "main.handle7" {
		t.Errorf("the findings are %+v", a.Findings)
	}
	if again := k.costs(t); fmt.Sprint(again[0].Parts, again[0].Findings) != fmt.Sprint(a.Parts, a.Findings) {
		t.Error("the same files gave another attribution")
	}
}

// TestSomeBlocksHaveNoProfile leaves them out, and counts them.
func TestSomeBlocksHaveNoProfile(t *testing.T) {
	k := comparison(t, func(w *record.Writer, block int, arm string) {
		if block > 2 || arm == "new" {
			write(t, w, "app", stored(0))
		}
	})
	all, err := k.Costs("postgresql", "new", verdict.Verdict{Results: []verdict.Result{
		{Endpoint: plan.Endpoint{Name: "cost(app)"}, Pairs: k.pairs},
	}})
	if err != nil || len(all) != 1 || all[0].Without != 2 || all[0].Blocks != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	if want := [2]string{"runs/base-3/app.pprof", "runs/new-3/app.pprof"}; all[0].Profiles != want {
		t.Errorf("the profiles are %v, want %v", all[0].Profiles, want)
	}
}

// TestNotProfiled gives the reason that the runs have, and nothing for runs that were not to be
// profiled.
func TestNotProfiled(t *testing.T) {
	if all := comparison(t, func(*record.Writer, int, string) {}).costs(t); len(all) > 0 {
		t.Errorf("runs without profiles have %+v", all)
	}
	k := comparison(t, func(w *record.Writer, _ int, _ string) {
		err := w.Event(record.Event{Kind: record.NotProfiledEvent, Rule: "db", Text: "it is elsewhere"})
		if err != nil {
			t.Fatal(err)
		}
	})
	all := k.costs(t)
	if len(all) != 1 || all[0].Role != "db" || all[0].Withheld != "not profiled: it is elsewhere" {
		t.Errorf("the attributions are %+v", all)
	}
}

// TestDamagedProfile is an error that names the run.
func TestDamagedProfile(t *testing.T) {
	k := comparison(t, func(w *record.Writer, _ int, _ string) {
		f, err := w.Profile("app")
		if err == nil {
			_, err = f.Write([]byte("no profile"))
		}
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	_, err := k.Costs("postgresql", "new", verdict.Verdict{Results: []verdict.Result{
		{Endpoint: plan.Endpoint{Name: "cost(app)"}, Pairs: k.pairs},
	}})
	if err == nil || !strings.Contains(err.Error(), "base-1") {
		t.Errorf("the error is %v", err)
	}
}
