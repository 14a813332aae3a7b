package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/stats"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/report"
	"plimsoll/run/record"
	"plimsoll/studies/study"
)

// TestPlans reads the plans of all comparisons: strict keys, a duet, the planted difference, and the digest that no
// round changes.
func TestPlans(t *testing.T) {
	seen := map[string]string{}
	for _, c := range append(planned(study.Quiet), planned(study.Neighbor)...) {
		p, err := plan.Parse([]byte(c.plan()))
		if err != nil {
			t.Fatalf("%v: %v", c, err)
		}
		if duet, why := p.Duet(); !duet {
			t.Errorf("%v: a sequence: %s", c, why)
		}
		engines := []string{"postgresql", "mysql"}
		if c.Kind == kindQuota {
			engines = []string{c.engine()}
		}
		if p.Name != c.name() || p.Seed != c.Seed || !slices.Equal(p.Database.Engine, engines) || p.Compare.Blocks != stats.MinPairs {
			t.Errorf("%v: name %s, seed %d, engines %v, %d blocks", c, p.Name, p.Seed, p.Database.Engine, p.Compare.Blocks)
		}
		fresh, _ := p.Compare.Arm("new")
		if base, ok := p.Compare.Arm(plan.Base); !ok || len(base.Args) > 0 || fresh.Version == "" {
			t.Errorf("%v: arms %+v and %+v", c, base, fresh)
		}
		if limited := fresh.Deployment != nil && fresh.Deployment.CPUs < 1 || len(fresh.Args) > 0; limited == (c.Kind == kindSame) {
			t.Errorf("%v: the new arm is %+v", c, fresh)
		}
		if was, ok := seen[digest(c.Kind)]; ok && was != c.Kind {
			t.Errorf("%s and %s have one digest", was, c.Kind)
		}
		seen[digest(c.Kind)] = c.Kind
	}
}

// found is an outcome of two databases, quota's of one.
func found(c comparison, kind verdict.Kind, worse ...string) outcome {
	s := said{Engine: "postgresql", Kind: kind, Tested: 40}
	for _, name := range []string{"capacity", "cost(app)", "p95(post)", "errors"} {
		e := endpoint{Name: name, Kind: verdict.Same, Pairs: 6, Margin: 0.05, Effect: 0.001, Lo: -0.01, Hi: 0.012}
		if slices.Contains(worse, name) {
			e = endpoint{Name: name, Kind: verdict.Worse, Pairs: 6, Margin: 0.05, Effect: 0.1, Lo: 0.08, Hi: 0.12}
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	if c.Kind == kindSlow {
		s.Found = []string{"p50(post)", "mean(post)", "p50(delivery)"}
	}
	o := outcome{comparison: c, At: time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC), Commit: "abc1234", Mode: plan.ModeDuet, Plan: digest(c.Kind), Blocks: 6, Seconds: 485, Databases: []said{s}}
	if c.Kind != kindQuota {
		s.Engine = "mysql"
		o.Databases = append(o.Databases, s)
	}
	return o
}

// allRight are the outcomes of a tool without a fault.
func allRight() (out []outcome) {
	for _, c := range planned(study.Quiet) {
		kind := verdict.Worse
		if c.Kind == kindSame {
			kind = verdict.Same
		}
		out = append(out, found(c, kind, key[c.Kind]))
	}
	return out
}

// of changes the outcomes of a kind, those of the first n rounds.
func of(kind string, n int, change func(*outcome)) func([]outcome) []outcome {
	return func(all []outcome) []outcome {
		for i := range all {
			if all[i].Kind == kind && all[i].Seed <= uint64(n) {
				change(&all[i])
			}
		}
		return all
	}
}

func TestJudge(t *testing.T) {
	open := func(o *outcome) { o.Databases[len(o.Databases)-1].Kind = verdict.Inconclusive }
	strays := func(o *outcome) {
		o.Databases[0].Found = append(o.Databases[0].Found, "p99(upload)", "CPU per operation of app")
	}
	for name, test := range map[string]struct {
		change func([]outcome) []outcome
		want   string
	}{
		"all right":                  {func(o []outcome) []outcome { return o }, ""},
		"one same open":              {of(kindSame, 1, open), ""},
		"two same open":              {of(kindSame, 2, open), "same: 2 of 6 comparisons were not the same on every database, at most 1 may be"},
		"false alarms":               {of(kindSame, 2, func(o *outcome) { o.Databases[0].Kind = verdict.Better }), "same: 2 of 6"},
		"a cost missed on one":       {of(kindCost, 1, open), "cost: found on every database in 5 of 6"},
		"a quota missed":             {of(kindQuota, 1, open), "quota: found on every database in 5 of 6"},
		"worse, but of another":      {of(kindSlow, 1, func(o *outcome) { *o = found(o.comparison, verdict.Worse, "cost(app)") }), "slow: found on every database in 5 of 6"},
		"found elsewhere":            {of(kindSlow, 3, strays), "slow: 6 of 42 findings are elsewhere"},
		"found elsewhere by cost":    {of(kindCost, 3, strays), ""},
		"what follows from the pace": {of(kindSlow, 6, func(o *outcome) { o.Databases[0].Found = append(o.Databases[0].Found, "requests served", "CPU of app") }), ""},
		"statements of a post":       {of(kindSlow, 6, func(o *outcome) { o.Databases[0].Found = append(o.Databases[0].Found, "mean(store PostStore.Save)") }), ""},
		"an arm that failed in the missing blocks": {of(kindCost, 1, func(o *outcome) {
			o.Blocks, o.Databases[0].Kind = 4, verdict.Inconclusive
			o.Databases[0].Endpoints = append(o.Databases[0].Endpoints, endpoint{Name: verdict.FailedRuns, Kind: verdict.Inconclusive})
		}), "cost: found on every database in 5 of 6"},
		"statements of uploads": {of(kindSlow, 6, func(o *outcome) {
			o.Databases[0].Found = append(o.Databases[0].Found, "mean(store FileInfoStore.Save)")
		}), "slow: 6 of 42"},
		"too long":        {of(kindCost, 1, func(o *outcome) { o.Seconds = 601 }), "cost: a comparison took 10 min 01 s, more than 10m0s"},
		"void":            {of(kindCost, 1, func(o *outcome) { o.Blocks = 5; open(o) }), "1 comparisons are still to be made"},
		"of another plan": {of(kindCost, 1, func(o *outcome) { o.Plan = "another"; open(o) }), "1 comparisons are still to be made"},
		"with a neighbor": {func(o []outcome) []outcome {
			return append(o, found(comparison{kindCost, 1, study.Neighbor}, verdict.Inconclusive))
		}, ""},
		"one is missing": {func(o []outcome) []outcome { return o[1:] }, "1 comparisons are still to be made"},
	} {
		err := judge(test.change(allRight()))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// TestMissing makes the rounds in order, of one kind where one is asked for, and a void comparison again.
func TestMissing(t *testing.T) {
	if got := missing(allRight(), study.Quiet, "", rounds); len(got) != 0 {
		t.Errorf("all are made, and missing are %v", got)
	}
	if got := missing(allRight(), study.Neighbor, "", rounds); len(got) != rounds*len(kinds) {
		t.Errorf("beside a neighbor %d are missing", len(got))
	}
	void := of(kindCost, 1, func(o *outcome) { o.Blocks = 5 })(allRight())
	if got := missing(void, study.Quiet, "", rounds); !slices.Equal(got, []comparison{{kindCost, 1, study.Quiet}}) {
		t.Errorf("missing %v", got)
	}
	some := []outcome{found(comparison{kindCost, 1, study.Quiet}, verdict.Inconclusive)}
	if got := missing(some, study.Quiet, kindCost, 1); !slices.Equal(got, []comparison{{kindCost, 2, study.Quiet}}) {
		t.Errorf("the next of cost is %v", got)
	}
	if got := missing(some, study.Quiet, "", 1); !slices.Equal(got, []comparison{{kindSame, 1, study.Quiet}, {kindQuota, 1, study.Quiet}, {kindSlow, 1, study.Quiet}, {kindCost, 2, study.Quiet}}) {
		t.Errorf("the next round is %v", got)
	}
}

// TestUnfinished resumes an interrupted comparison, unless it began under another plan, other rules or
// another build.
func TestUnfinished(t *testing.T) {
	b := bench{program: filepath.Join(t.TempDir(), "plimsoll"), store: t.TempDir()}
	c := planned(study.Quiet)[0]
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
	cut, err := json.Marshal(record.Comparison{ID: "c1", Name: c.name(), Plan: c.plan(), Build: build, State: record.Interrupted})
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
	put(b.file(c, "rules"), digest(c.Kind))
	if id := b.unfinished(c); id != "c1" {
		t.Errorf("gone on with %q, want c1", id)
	}
	put(filepath.Join(b.store, "comparisons", "c0", "comparison.json"), strings.Replace(string(cut), `"c1"`, `"c0"`, 1))
	if id := b.unfinished(c); id != "c1" {
		t.Errorf("gone on with %q, want c1, which began last", id)
	}
	if id := b.unfinished(planned(study.Quiet)[len(kinds)]); id != "" {
		t.Errorf("%s is of another seed", id)
	}
	other := planned(study.Neighbor)[0]
	put(b.file(other, "rules"), digest(c.Kind))
	if id := b.unfinished(other); id != "" {
		t.Errorf("%s is of a quiet host", id)
	}
	put(b.program, "another program")
	if id := b.unfinished(c); id != "" {
		t.Errorf("%s is gone on with by another build", id)
	}
}

// TestKeep writes outcomes and reads them again; the tables go to their place and nowhere else.
func TestKeep(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	readme := filepath.Join(dir, page)
	if err := os.WriteFile(readme, []byte("# Before\n\n"+study.Part(comparisons, "old")+"\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := found(comparison{kindCost, 1, study.Quiet}, verdict.Worse, "cost(app)")
	o.Databases[1].Endpoints[0].Effect, o.Databases[1].Endpoints[0].Kind = report.Number(math.NaN()), verdict.Invalid
	if err := keep(dir, store, o, report.Document{}); err != nil {
		t.Fatal(err)
	}
	done, err := load(dir)
	if err != nil || len(done) != 1 || !has(done, o.comparison) || done[0].Databases[1].Endpoints[0].Effect.Known() {
		t.Fatalf("%v, %v", done, err)
	}
	if err := study.Insert(readme, comparisons, tables(done)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for _, want := range []string{
		"\n| cost | quiet | 1 of 6 | **1** | 0 | 2 | 0 | 0 | 0 | 8 min 05 s | 0 | 0 |\n",
		"\n| 2026-11-23 20:00 | abc1234 | cost | 1 | quiet | 8 min 05 s | mysql | worse | capacity invalid; cost(app) +10.0 % [+8.0, +12.0], worse; " +
			"p95(post) +0.1 % [-1.0, +1.2], same; errors +0.00 points, same | 0 of 40 |\n",
	} {
		if !strings.Contains(s, want) {
			t.Errorf("want %q in\n%s", want, s)
		}
	}
	if !strings.HasPrefix(s, "# Before\n\n"+study.Part(comparisons, tables(done))) || !strings.HasSuffix(s, "-->\nafter\n") {
		t.Errorf("%s", s)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.txt")); len(files) != 0 {
		t.Errorf("end screens beside the outcomes: %v", files)
	}
	if files, _ := filepath.Glob(filepath.Join(store, "*-cost-quiet-seed1.txt")); len(files) != 1 {
		t.Errorf("end screens: %v", files)
	}
	if err := os.WriteFile(filepath.Join(dir, outcomesFile), []byte("{}\n{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := load(dir); err == nil || !strings.Contains(err.Error(), outcomesFile+":2") {
		t.Errorf("a broken line: %v", err)
	}
}

// TestPage compares the tables of the results with the outcomes beside them.
func TestPage(t *testing.T) {
	const dir = "../results/acceptance"
	done, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), study.Part(comparisons, tables(done))) {
		t.Errorf("the tables are not those of %s; bin/acceptance -table writes them", outcomesFile)
	}
}
