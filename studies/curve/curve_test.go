package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/studies/study"
)

// Each prefix of the order is balanced: hosts, and on each host the kinds by their weights. A
// longer order goes on where a shorter one ended, and the first twelve hold each of the sized
// differences.
func TestOrder(t *testing.T) {
	all, weights := order(500), 0
	for _, k := range kinds {
		weights += k.weight
	}
	made := map[string]map[string]int{study.Quiet: {}, study.Neighbor: {}}
	steps := map[string]int{}
	for i, c := range all {
		if c.Slot != i+1 || c.Seed == 0 {
			t.Fatalf("place %d has %+v", i, c)
		}
		made[c.Host][c.Kind]++
		steps[c.Host]++
		if d := steps[study.Quiet] - steps[study.Neighbor]; d < -1 || d > 1 {
			t.Errorf("after %d outcomes a host has %d more", c.Slot, d)
		}
		for _, k := range kinds {
			lag := float64(k.weight*steps[c.Host])/float64(weights) - float64(made[c.Host][k.name])
			if math.Abs(lag) > 1.5 {
				t.Errorf(
					"after %d outcomes %s lags by %.1f on a host that is %s",
					c.Slot,
					k.name,
					lag,
					c.Host,
				)
			}
		}
		if i == 11 {
			for _, k := range kinds {
				if n := made[study.Quiet][k.name] + made[study.Neighbor][k.name]; (k.size > 0 || k.name == "none") &&
					n == 0 {
					t.Errorf("%s is not among the first twelve", k.name)
				}
			}
		}
	}
	if !slices.Equal(order(77), all[:77]) {
		t.Error("a shorter order is no prefix of a longer one")
	}
}

// The first cell without an outcome is next, and until the base was read the first that needs no
// reading.
func TestNext(t *testing.T) {
	read := reading{0.001, 0.1, 0.005}
	var done []outcome
	for n := range 100 {
		c := next(done, read)
		if c != order(100)[n] {
			t.Fatalf("after %d outcomes %+v is next", n, c)
		}
		done = append(done, outcome{cell: c})
	}
	done = slices.Delete(done, 40, 41)
	if c := next(done, read); c.Slot != 41 {
		t.Errorf("slot 41 is missing, and %d is next", c.Slot)
	}
	done = nil
	for range 200 {
		c := next(done, reading{})
		if k := kindOf(c.Kind); k.size > 0 {
			t.Fatalf("%+v cannot be planted", c)
		}
		done = append(done, outcome{cell: c})
	}
}

// A difference that is built in has its size against the base for which it was built.
func TestPlant(t *testing.T) {
	base := reading{CPU: 0.0008, Posts: 0.04, P95: 0.006}
	for _, k := range kinds {
		fault, ok := k.plant(base)
		if got := k.planted(fault, base); !ok || math.Abs(got-k.size) > 0.0005 {
			t.Errorf("%s: %q is %.4f of the base, want %.4f", k.name, fault, got, k.size)
		}
	}
	for name, want := range map[string]string{
		"cpu 5 %":   "work:1ms@createPost",
		"wait 10 %": "slow-post:600µs",
		"pool":      "pool:2",
		"none":      "",
	} {
		if got, _ := kindOf(name).plant(base); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	dearer := reading{CPU: 0.0016, Posts: 0.02, P95: 0.012}
	if got := kindOf("cpu 5 %").planted("work:1ms@createPost", dearer); math.Abs(
		got-0.0125,
	) > 1e-9 {
		t.Errorf("on a base that was four times as dear: %v", got)
	}
	if got := mean([]outcome{{Base: base}, {}, {Base: dearer}}); math.Abs(got.CPU-0.0012) > 1e-9 ||
		math.Abs(got.Posts-0.03) > 1e-9 ||
		math.Abs(got.P95-0.009) > 1e-9 {
		t.Errorf("the mean is %+v", got)
	}
}

func TestScore(t *testing.T) {
	const w, s, b, i, v = verdict.Worse, verdict.Same, verdict.Better, verdict.Inconclusive, verdict.Invalid
	for _, tt := range []struct {
		kind     string
		verdicts []verdict.Kind
		want     string
	}{
		{"none", []verdict.Kind{s}, same}, {"none", []verdict.Kind{w}, alarm}, {"none", []verdict.Kind{b}, alarm}, {"none", []verdict.Kind{i}, undecided},
		{"none", nil, without}, {"demo none", []verdict.Kind{s, w}, alarm}, {"demo none", []verdict.Kind{s, i}, undecided}, {"none", []verdict.Kind{v}, without},
		{"cpu 1 %", []verdict.Kind{w}, found}, {"cpu 1 %", []verdict.Kind{s}, missed}, {"cpu 1 %", []verdict.Kind{b}, missed}, {"cpu 1 %", []verdict.Kind{i}, undecided},
		{"cpu 1 %", nil, without}, {"demo", []verdict.Kind{w, w}, found}, {"demo", []verdict.Kind{w, i}, undecided}, {"demo", []verdict.Kind{w, s}, missed},
	} {
		if got := (outcome{
			cell:     cell{Kind: tt.kind},
			Verdicts: tt.verdicts,
		}).score(); got != tt.want {
			t.Errorf("%s, %v: %s, want %s", tt.kind, tt.verdicts, got, tt.want)
		}
	}
	if got := (outcome{Interrupted: true}).score(); got != cut {
		t.Errorf("an interrupted one is %s", got)
	}
}

// The plan is one that the program takes, with each kind's arm.
func TestPlanOfKinds(t *testing.T) {
	for _, k := range kinds {
		text := strings.NewReplacer("SEED", "5", "DIR", "/a/b", "ARM", k.arm).Replace(planText)
		p, err := plan.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		fresh, _ := p.Compare.Arm("new")
		if duet, why := p.Duet(); !duet || !p.Bounded.AutoUsers() || !p.Bounded.Auto() ||
			fresh.Binary != "/a/b/new" {
			t.Errorf("%s: duet %v (%s), arm %+v", k.name, duet, why, fresh)
		}
	}
}

// outcomes are those of the golden page: two of each of the first cells, with one of each score.
func outcomes() (all []outcome) {
	began := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)
	for i, c := range order(40) {
		k := kindOf(c.Kind)
		size := k.size
		o := outcome{
			cell:     c,
			At:       began.Add(time.Duration(i) * 8 * time.Minute),
			Commit:   "abc1234",
			Machine:  "2 × a processor",
			Setting:  "s",
			Minutes:  7,
			Before:   0.004,
			During:   0.01,
			Seconds:  400 + float64(i),
			ID:       "c",
			Blocks:   6,
			Planted:  size * 1.02,
			Verdicts: []verdict.Kind{verdict.Same},
			Endpoints: []endpoint{
				{
					"cost(app)",
					verdict.Worse,
					report.Number(size),
					report.Number(size - 0.01),
					report.Number(size + 0.01),
					0.02,
				},
				{
					Name:   "p99(op)",
					Kind:   verdict.Invalid,
					Effect: report.Number(math.NaN()),
				},
			},
		}
		switch {
		case i == 8:
			o.Verdicts[0] = verdict.Better
		case !k.nothing() && (size > 0.04 || i%5 == 0):
			o.Verdicts[0] = verdict.Worse
		case i%4 == 3 || i == 20:
			o.Verdicts[0] = verdict.Inconclusive
		case i == 16:
			o.Verdicts, o.Problem = nil, "plimsoll ended | with status 1"
		}
		all = append(all, o)
	}
	killed := all[5]
	killed.Interrupted = true
	killed.Problem = "killed"
	killed.Endpoints = nil
	return slices.Insert(append([]outcome{{Setting: "an earlier one"}}, all...), 6, killed)
}

// TestGolden compares page and picture of fixed outcomes with their files; on a difference it
// writes them beside these.
func TestGolden(t *testing.T) {
	c := curveOf(outcomes())
	for name, got := range map[string]string{
		"page.md":     c.page(),
		"picture.svg": c.picture(),
		"empty.md":    curveOf(nil).page(),
	} {
		file := filepath.Join("testdata", name)
		if want, err := os.ReadFile(file + ".golden"); err != nil || string(want) != got {
			t.Errorf("%s differs: see %[1]s.got (%v)", file, err)
			if err := os.WriteFile(file+".got", []byte(got), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}

// The smallest size is known from five outcomes of each larger one on.
func TestSmallest(t *testing.T) {
	made := func(kind string, n, right int) (out []outcome) {
		for i := range n {
			o := outcome{
				cell:     cell{Slot: i, Kind: kind, Host: study.Quiet},
				Verdicts: []verdict.Kind{verdict.Same},
			}
			if i < right {
				o.Verdicts[0] = verdict.Worse
			}
			out = append(out, o)
		}
		return out
	}
	for name, tt := range map[string]struct {
		all  [][]outcome
		want string
	}{
		"nothing":         {nil, "not known yet"},
		"too few":         {[][]outcome{made("cpu 10 %", 4, 4)}, "not known yet"},
		"the largest":     {[][]outcome{made("cpu 10 %", 5, 4), made("cpu 5 %", 4, 4), made("cpu 2 %", 5, 5)}, "10 %"},
		"down to 2 %":     {[][]outcome{made("cpu 10 %", 5, 5), made("cpu 5 %", 10, 8), made("cpu 2 %", 5, 4), made("cpu 1 %", 5, 3)}, "2 %"},
		"a larger missed": {[][]outcome{made("cpu 10 %", 5, 3), made("cpu 5 %", 5, 5)}, "none of these"},
	} {
		if got := curveOf(slices.Concat(tt.all...)).smallest(byCPU, study.Quiet); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestResults compares page and picture of the results with the outcomes beside them.
func TestResults(t *testing.T) {
	const dir = "../results"
	all, torn, err := study.Lines[outcome](filepath.Join(dir, outcomesFile))
	if err != nil || torn {
		t.Fatal(torn, err)
	}
	c := curveOf(all)
	for name, want := range map[string]string{pageFile: c.page(), pictureFile: c.picture()} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf(
				"%s is not that of %s (%v): make curve CURVEFLAGS=-draw",
				name,
				outcomesFile,
				err,
			)
		}
	}
}
