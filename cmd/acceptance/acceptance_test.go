package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
)

// TestPlans reads the plans of all comparisons: strict keys, and the arms that are scored.
func TestPlans(t *testing.T) {
	for _, c := range planned() {
		p, err := plan.Parse([]byte(c.plan()))
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		var arms []string
		for _, a := range p.Compare.Arms {
			arms = append(arms, a.Name)
		}
		slices.Sort(arms)
		if want := []string{plan.Base, armQuota, armSame, armSlow}; !slices.Equal(arms, want) || p.Seed != c.Seed || !slices.Equal(p.Database.Engine, []string{c.Engine}) {
			t.Errorf("%v: arms %v, seed %d, engines %v", c, arms, p.Seed, p.Database.Engine)
		}
	}
}

func found(engine string, seed uint64, same, quota, slow verdict.Kind) outcome {
	return outcome{comparison: comparison{engine, seed}, Plan: planDigest(), Blocks: 6, Arms: []said{
		{Arm: armSame, Kind: same, Tested: 40},
		{Arm: armQuota, Kind: quota, Worse: []string{"capacity"}, Tested: 40, Found: []string{"p50(upload)"}},
		{Arm: armSlow, Kind: slow, Worse: []string{"p95(post)"}, Tested: 40, Found: []string{"p50(post)", "p95(post)", "p50(delivery)"}},
	}}
}

// allRight are the outcomes of a tool without a fault.
func allRight() (out []outcome) {
	for _, c := range planned() {
		out = append(out, found(c.Engine, c.Seed, verdict.Same, verdict.Worse, verdict.Worse))
	}
	return out
}

func TestScore(t *testing.T) {
	for name, test := range map[string]struct {
		change func([]outcome) []outcome
		want   string
	}{
		"all right":      {func(o []outcome) []outcome { return o }, ""},
		"one false line": {func(o []outcome) []outcome { o[0].Arms[0].Kind = verdict.Better; return o }, ""},
		"undecided is no line": {func(o []outcome) []outcome {
			o[0].Arms[0].Kind, o[1].Arms[0].Kind = verdict.Inconclusive, verdict.Inconclusive
			return o
		}, ""},
		"two false lines": {func(o []outcome) []outcome {
			o[0].Arms[0].Kind, o[1].Arms[0].Kind = verdict.Better, verdict.Worse
			return o
		}, "2 of 6 comparisons of a build with itself"},
		"a loss missed":         {func(o []outcome) []outcome { o[2].Arms[1].Kind = verdict.Inconclusive; return o }, "postgresql, quota: found in 4 of 5"},
		"worse, but of latency": {func(o []outcome) []outcome { o[5].Arms[1].Worse = []string{"p99(op)"}; return o }, "mysql, quota: found in 0 of 1"},
		"slow post missed":      {func(o []outcome) []outcome { o[4].Arms[2].Worse = nil; return o }, "postgresql, slow: found in 4 of 5"},
		"found elsewhere": {func(o []outcome) []outcome {
			o[0].Arms[2].Found = append(o[0].Arms[2].Found, "p99(upload)", "p95(upload)")
			return o
		}, "postgresql, slow: 2 of 17 findings are elsewhere"},
		"slower posts, fewer of them": {func(o []outcome) []outcome {
			o[0].Arms[2].Found = append(o[0].Arms[2].Found, "requests served", "CPU of app")
			return o
		}, ""},
		"fewer in the same build": {func(o []outcome) []outcome {
			o[0].Arms[2].Found = append(o[0].Arms[2].Found, "CPU per operation of app", "p99(upload)")
			return o
		}, "postgresql, slow: 2 of 17 findings are elsewhere"},
		"statements of a post are a part of it": {func(o []outcome) []outcome {
			o[0].Arms[2].Found = append(o[0].Arms[2].Found, "mean(store PostStore.Save)", "p99(store TeamStore.Get)")
			return o
		}, ""},
		"statements of uploads are not": {func(o []outcome) []outcome {
			o[0].Arms[2].Found = append(o[0].Arms[2].Found, "mean(store FileInfoStore.Save)", "p99(store FileInfoStore.Save)")
			return o
		}, "postgresql, slow: 2 of 17 findings are elsewhere"},
		"void ones say nothing": {func(o []outcome) []outcome {
			noisy := found("postgresql", 1, verdict.Worse, verdict.Inconclusive, verdict.Inconclusive)
			noisy.Blocks = 5
			return append(o, noisy)
		}, ""},
		"a void one is to be made again": {func(o []outcome) []outcome { o[0].Blocks = 4; return o }, "1 comparisons are still to be made"},
		"those of another plan say nothing": {func(o []outcome) []outcome {
			old := found("postgresql", 1, verdict.Worse, verdict.Inconclusive, verdict.Inconclusive)
			old.Plan = "another"
			return append(o, old)
		}, ""},
		"one of another plan is to be made again": {func(o []outcome) []outcome { o[0].Plan = "another"; return o }, "1 comparisons are still to be made"},
		"one is missing": {func(o []outcome) []outcome { return o[1:] }, "1 comparisons are still to be made"},
	} {
		err := score(test.change(allRight())).verdict()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestUnfinished resumes an interrupted comparison, unless it began under another plan, other rules or
// another build.
func TestUnfinished(t *testing.T) {
	b := bench{program: filepath.Join(t.TempDir(), "plimsoll"), store: t.TempDir()}
	c := planned()[0]
	put := func(file, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put(b.program, "a program")
	build, err := record.DigestFile(b.program)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := json.Marshal(record.Comparison{ID: "c1", Name: "acceptance", Plan: c.plan(), Build: build, Engines: []string{c.Engine}, State: record.Interrupted})
	if err != nil {
		t.Fatal(err)
	}
	put(filepath.Join(b.store, "comparisons", "c1", "comparison.json"), string(cut))
	if id := b.unfinished(c); id != "" {
		t.Errorf("%s is gone on with, and nothing says under which rules it began", id)
	}
	put(b.file(c, "rules"), "others")
	if id := b.unfinished(c); id != "" {
		t.Errorf("%s is gone on with under other rules", id)
	}
	put(b.file(c, "rules"), planDigest())
	if id := b.unfinished(c); id != "c1" {
		t.Errorf("gone on with %q, want c1", id)
	}
	put(filepath.Join(b.store, "comparisons", "c0", "comparison.json"), strings.Replace(string(cut), `"c1"`, `"c0"`, 1))
	if id := b.unfinished(c); id != "c1" {
		t.Errorf("gone on with %q, want c1, which began last", id)
	}
	if id := b.unfinished(planned()[1]); id != "" {
		t.Errorf("%s is of another seed", id)
	}
	put(b.program, "another program")
	if id := b.unfinished(c); id != "" {
		t.Errorf("%s is gone on with by another build", id)
	}
}

// TestKeep writes outcomes and reads them again; the table goes to its place and nowhere else.
func TestKeep(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	readme := filepath.Join(dir, "README.md")
	if err := os.WriteFile(readme, []byte("# Before\n\n"+tableBegins+"old\n"+tableEnds+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := found("postgresql", 1, verdict.Same, verdict.Worse, verdict.Worse)
	if err := keep(dir, store, o, report.Document{}); err != nil {
		t.Fatal(err)
	}
	done, err := load(dir)
	if err != nil || len(done) != 1 || !has(done, o.comparison) || done[0].Arms[2].Found[2] != "p50(delivery)" {
		t.Fatalf("%v, %v", done, err)
	}
	if err := write(dir, score(done)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.HasPrefix(s, "# Before\n\n"+tableBegins+"1 of 6 comparisons") || !strings.HasSuffix(s, tableEnds+"after\n") || strings.Contains(s, "old") {
		t.Errorf("%s", s)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.txt")); len(files) != 0 {
		t.Errorf("end screens beside the outcomes: %v", files)
	}
	if files, _ := filepath.Glob(filepath.Join(store, "*-postgresql-seed1.txt")); len(files) != 1 {
		t.Errorf("end screens: %v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, outcomesFile), []byte("{}\n{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := load(dir); err == nil || !strings.Contains(err.Error(), outcomesFile+":2") {
		t.Errorf("a broken line: %v", err)
	}
}
