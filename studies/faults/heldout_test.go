package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/files"
	"plimsoll/judge/limiter"
	"plimsoll/reference/refchat"
	"plimsoll/studies/study"
)

// TestHeldOutFaultsAreNoneOfTheTunedOnes compares the suites: neither a fault of the one is in the
// other, nor does a held-out fault alone set the same values as a tuned one.
func TestHeldOutFaultsAreNoneOfTheTunedOnes(t *testing.T) {
	argsOf := func(f fault) []string {
		l := layout{dbWith: map[string]string{}, settings: map[string]string{}}
		if f.change != nil {
			f.change(&l)
		}
		return slices.DeleteFunc(append(l.appArgs, l.around), func(a string) bool {
			return a == heavy || a == ""
		})
	}
	tuned := map[string]bool{}
	for _, f := range faults() {
		tuned[f.name] = true
		tuned[strings.Join(argsOf(f), " ")] = true
	}
	delete(tuned, "")
	seen, kinds := map[string]bool{}, map[string]int{}
	for _, f := range heldOut() {
		if seen[f.name] || tuned[f.name] || tuned[strings.Join(argsOf(f), " ")] {
			t.Errorf("fault %s is there already", f.name)
		}
		if f.what == "" || len(f.right) == 0 || f.took == nil || f.start < 1 ||
			f.most < 4*f.start ||
			f.extra {
			t.Errorf("fault %s is not whole", f.name)
		}
		if slices.Contains(f.right, unknown) != (f.kind == kindOutside) {
			t.Errorf("fault %s is of kind %s, and right is %v", f.name, f.kind, f.right)
		}
		if f.kind == kindPair && len(f.right) != 2 {
			t.Errorf("pair %s: right is %v", f.name, f.right)
		}
		for _, a := range argsOf(f) {
			if text, ok := strings.CutPrefix(a, "-fault="); ok {
				if err := refchat.CheckFault(text); err != nil {
					t.Errorf("fault %s: %v", f.name, err)
				}
			}
		}
		seen[f.name], kinds[f.kind] = true, kinds[f.kind]+1
	}
	if len(seen) < 12 || kinds[kindSingle]+kinds[kindPair]+kinds[kindOutside] != len(seen) ||
		kinds[kindPair] < 2 ||
		kinds[kindOutside] < 4 {
		t.Errorf("%d faults: %v", len(seen), kinds)
	}
}

func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		name  string
		right []string
		r     result
		want  outcome
	}{
		{"the name", []string{"cpu app"}, result{Limiter: "cpu app", Injected: "x"}, isRight},
		{"one of two", []string{"db-pool app", "cpu app"}, result{
			Limiter:  "cpu app",
			Injected: "x",
		}, isRight},
		{"the kind on another role", []string{"cpu app"}, result{
			Limiter:  "cpu db",
			Injected: "x",
		}, isWrong},
		{"another name", []string{"workers app"}, result{
			Limiter:  "db-pool app",
			Injected: "x",
		}, isWrong},
		{"a name where nothing is watched", []string{unknown}, result{
			Limiter:  "cpu app",
			Injected: "x",
		}, isWrong},
		{"UNKNOWN where nothing is watched", []string{unknown}, result{
			Limiter:    unknown,
			Exonerated: 3,
			Injected:   "x",
		}, isRight},
		{"UNKNOWN because nothing was seen", []string{unknown}, result{
			Limiter:  unknown,
			Injected: "x",
		}, isUnnamed},
		{"UNKNOWN where a name is right", []string{"cpu app"}, result{
			Limiter:  unknown,
			Injected: "x",
		}, isUnnamed},
		{"nothing limited the run", []string{"cpu app"}, result{
			Limiter:  limiter.LimitNone,
			Injected: "x",
		}, isUnnamed},
		{"nothing limited the run, where nothing is watched", []string{unknown}, result{
			Limiter:  limiter.LimitNone,
			Injected: "x",
		}, isUnnamed},
		{"the tool failed", []string{unknown}, result{
			Problem:  "no JSON",
			Injected: "x",
		}, isUnnamed},
		{"right by chance: the fault was not there", []string{"cpu app"}, result{Limiter: "cpu app"}, isVoid},
		{"the generator was not healthy", []string{"cpu app"}, result{
			Limiter:  "generator",
			Injected: "x",
		}, isVoid},
		{"others on the host", []string{"cpu app"}, result{Limiter: "host", Injected: "x"}, isVoid},
		{"others on the host, who are the fault", []string{"host"}, result{
			Limiter:  "host",
			Injected: "x",
		}, isRight},
	} {
		tt.r.Right = tt.right
		if got := tt.r.outcome(); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestHeldOutFigures has 19 names of which one is wrong, and 20: the second reaches the required
// share.
func TestHeldOutFigures(t *testing.T) {
	count := func(right, unknownRight, wrong, unnamed, void int) (s shares) {
		add := func(n int, r result) {
			for range n {
				s.add(r)
			}
		}
		add(right, result{Right: []string{"cpu app"}, Limiter: "cpu app", Injected: "x"})
		add(unknownRight, result{
			Right:      []string{unknown},
			Limiter:    unknown,
			Exonerated: 9,
			Injected:   "x",
		})
		add(wrong, result{Right: []string{"cpu app"}, Limiter: "gc app", Injected: "x"})
		add(unnamed, result{Right: []string{"cpu app"}, Limiter: unknown, Injected: "x"})
		add(void, result{Right: []string{"cpu app"}, Limiter: "generator", Injected: "x"})
		return s
	}
	for _, tt := range []struct {
		name string
		s    shares
		met  bool
	}{
		{"nothing", shares{}, false},
		{"one wrong of 19", count(18, 0, 1, 0, 0), false},
		{"one wrong of 20", count(19, 0, 1, 0, 0), true},
		{"void ones do not help", count(18, 0, 1, 0, 20), false},
		{"right UNKNOWNs are no names", count(8, 100, 1, 0, 0), false},
		{"never a name", count(0, 20, 0, 0, 0), false},
		{"misses are no errors", count(19, 0, 1, 20, 0), true},
	} {
		if tt.s.met() != tt.met {
			t.Errorf("%s: %+v, met %v", tt.name, tt.s, !tt.met)
		}
	}
	s := count(3, 2, 1, 4, 5)
	if s.scored() != 10 || s.right != 5 || s.named != 3 || s.void != 5 {
		t.Errorf("%+v", s)
	}
}

func TestHeldTable(t *testing.T) {
	f := []fault{{
		name:  "a",
		kind:  kindSingle,
		what:  "x",
		right: []string{"cpu app"},
	}, {name: "b", kind: kindOutside, what: "y", right: []string{unknown}}}
	results := []result{
		{
			Fault:      "a",
			Right:      f[0].right,
			Limiter:    "cpu app",
			Confidence: "high",
			Injected:   "x",
			At:         "2026-01-02T03:00:00Z",
			Machine:    "M",
			Commit:     "c1",
		},
		{
			Fault:      "a",
			Right:      f[0].right,
			Limiter:    "gc app",
			Confidence: "low",
			Injected:   "x",
			At:         "2026-01-02T04:00:00Z",
			Machine:    "M",
			Commit:     "c1",
		},
		{
			Fault:      "b",
			Right:      f[1].right,
			Limiter:    unknown,
			Exonerated: 9,
			Injected:   "x",
			At:         "2026-01-02T05:00:00Z",
			Machine:    "M",
			Commit:     "c1",
		},
		{
			Fault:   "b",
			Right:   f[1].right,
			Limiter: unknown,
			At:      "2026-01-02T06:00:00Z",
			Machine: "M",
			Commit:  "c1",
		},
	}
	text, all := table(heldOutSuite, f, results)
	if all.right != 2 || all.wrong != 1 || all.void != 1 {
		t.Errorf("%+v", all)
	}
	for _, want := range []string{
		"from 2026-01-02T03:00:00Z to 2026-01-02T06:00:00Z by `make faults-heldout` on M; commit c1: 4 runs of 2 faults.",
		"| `a` | x | cpu app | cpu app (high), gc app (low) | 1 | 1 | 0 | 0 |",
		"| `b` | y | UNKNOWN | UNKNOWN, not injected | 1 | 0 | 0 | 1 |",
		"| **all** | 2 of 3, 67 % [9, 99] | 1 of 2, 50 % [1, 99] | 1 of 3, 33 % [1, 91] | 0 of 3, 0 % [0, 71] | 1 |",
		"are not reached.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestHeldOutTableFollowsFromItsFile makes the table of the page again from the results beside it,
// whose right answers must be those of the suite: they stand before the runs.
func TestHeldOutTableFollowsFromItsFile(t *testing.T) {
	const dir = "../results"
	b, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		t.Fatal(err)
	}
	results, err := files.ReadJSONLines[result](resultsOf(dir, heldOutSuite))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := table(heldOutSuite, heldOut(), results); !strings.Contains(
		string(b),
		study.Part(suites[heldOutSuite].part, text),
	) {
		t.Errorf(
			"the table of %s is not what its results say; run bin/faults -suite=heldout -results=studies/results -render",
			page,
		)
	}
	suite := map[string]fault{}
	for _, f := range heldOut() {
		suite[f.name] = f
	}
	for _, r := range results {
		if f, ok := suite[r.Fault]; !ok || !slices.Equal(f.right, r.Right) {
			t.Errorf(
				"a run of %s was made when %v was right; the suite says %v",
				r.Fault,
				r.Right,
				f.right,
			)
		}
	}
}

// TestStreamTouchesMemoryUntilItsEnd is the neighbor, for one round and for none.
func TestStreamTouchesMemoryUntilItsEnd(t *testing.T) {
	if n := stream(t.Context(), 1<<16, time.Millisecond); n < 1 {
		t.Errorf("%d rounds", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if n := stream(ctx, 1<<16, time.Hour); n != 0 {
		t.Errorf("%d rounds after the end", n)
	}
}

// TestSuiteEndsWithinItsTime begins no run when the time is over, and reports which are missing.
func TestSuiteEndsWithinItsTime(t *testing.T) {
	said := ""
	b := bench{log: func(format string, _ ...any) { said += format }}
	got, err := b.all(t.Context(), heldOut(), nil, 2, 2, time.Nanosecond)
	if err != nil || len(got) != 0 || !strings.Contains(said, "missing") {
		t.Errorf("%d runs, %v, said %q", len(got), err, said)
	}
}

// TestTriesOf counts attempts: a run that is evidence about the system is not repeated.
func TestTriesOf(t *testing.T) {
	results := []result{
		{Fault: "a", Number: 1, Limiter: "generator", Right: []string{"cpu app"}},
		{Fault: "a", Number: 2, Limiter: "gc app", Right: []string{"cpu app"}},
		{Fault: "b", Number: 1, Limiter: "host", Right: []string{"host"}},
	}
	for _, tt := range []struct {
		fault  string
		number int
		want   int
	}{{"a", 1, 1}, {"a", 2, 4}, {"a", 3, 0}, {"b", 1, 4}} {
		if got := triesOf(results, tt.fault, tt.number, 4); got != tt.want {
			t.Errorf("%s %d: %d tries, want %d", tt.fault, tt.number, got, tt.want)
		}
	}
}

// TestTrackedCountsItsDrops reads the output of nft.
func TestTrackedCountsItsDrops(t *testing.T) {
	const listing = "table inet faults {\n chain a { counter packets 7 bytes 420 drop }\n chain b { counter packets 5 bytes 300 drop }\n}"
	if n := packets(listing); n != 12 {
		t.Errorf("%d packets, want 12", n)
	}
}
