package main

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/plan"
	"plimsoll/studies/study"
)

// TestPlans reads the plans of both modes: strict keys, and a margin for each endpoint of the
// table.
func TestPlans(t *testing.T) {
	for _, mode := range []string{sequence, duet} {
		p, err := plan.Parse([]byte(planOf(mode, 5)))
		if err != nil {
			t.Fatalf("%s: %v", mode, err)
		}
		if p.Seed != 5 || p.Compare.Blocks != blocks ||
			!slices.Equal(p.Database.Engine, []string{plan.PostgreSQL}) ||
			p.Compare.Mode != mode {
			t.Errorf(
				"%s: seed %d, %d blocks, engines %v, mode %q",
				mode,
				p.Seed,
				p.Compare.Blocks,
				p.Database.Engine,
				p.Compare.Mode,
			)
		}
		for _, e := range endpoints {
			if _, ok := p.Compare.Margin[e]; !ok {
				t.Errorf("%s: no margin of %s", mode, e)
			}
		}
	}
}

// scattered returns a comparison whose pairs scatter by sd around a mean.
func scattered(rng *rand.Rand, mode, host string, pairs int, mean, sd float64) trial {
	t := trial{
		Plan:    planDigest(),
		Mode:    mode,
		Host:    host,
		Blocks:  pairs,
		Seconds: 100,
		Commit:  "abc",
		Engine:  "postgresql",
		Pairs:   map[string][][2]float64{},
	}
	for _, e := range endpoints {
		for range pairs {
			t.Pairs[e] = append(
				t.Pairs[e],
				[2]float64{10, 10 * math.Exp(mean+sd*rng.NormFloat64())},
			)
		}
	}
	return t
}

func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	trials := []trial{
		scattered(rng, sequence, study.Quiet, 400, 0, 0.06),
		scattered(rng, duet, study.Quiet, 400, 0.05, 0.02),
		scattered(rng, sequence, study.Neighbor, 5, 0, 0.06),
		scattered(rng, duet, study.Neighbor, 400, 0, 0.02),
	}
	ratio, lo, hi := factor(
		scatterOf(trials, sequence, study.Quiet, "cost(app)"),
		scatterOf(trials, duet, study.Quiet, "cost(app)"),
	)
	if ratio < 2.7 || ratio > 3.3 || lo > 3 || hi < 3 || hi-lo > 0.8 {
		t.Errorf("factor %.2f [%.2f, %.2f], want 3", ratio, lo, hi)
	}
	text := tableOf(trials)
	for _, want := range []string{"| cost(app) | quiet | 400 | 400 | ", "| p95(post) | neighbor | 5 | 400 | too few pairs |", " | +5.", "A pair took 0 s by sequence and 0 s by duet"} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
	if text := tableOf(nil); !strings.Contains(text, "No pairs") {
		t.Errorf("nothing measured: %s", text)
	}
}

// TestPage holds the table of the results to the pairs beside it.
func TestPage(t *testing.T) {
	const dir = "../results"
	text, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), study.Part(tablePart, tableOf(kept))) {
		t.Errorf("the table of %s is not that of %s: bin/duetstudy -draw", page, pairsFile)
	}
}

// stub is a program that takes the place of plimsoll: it prints a report whose difference names the
// mode of its plan.
const stub = `#!/bin/sh
for plan; do :; done
value=11
grep -q 'mode: duet' "$plan" && value=12
cat <<END
{"comparison":"c-1","state":{"complete":true},"verdicts":[{"engine":"postgresql","verdict":{"results":[
{"endpoint":{"name":"cost(app)"},"pairs":[{"block":1,"base":10,"new":$value},{"block":2,"base":10,"new":$value}]},
{"endpoint":{"name":"errors"},"pairs":[{"block":1,"base":0,"new":0}]}]}}]}
END
exit 4
`

// TestRound carries out a round with programs in the place of plimsoll and of the neighbor.
func TestRound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	readme := write(page, "before\n"+study.Part(tablePart, "old")+"\nafter\n")
	args := []string{
		"-program",
		write("plimsoll", stub),
		"-neighbor",
		write("neighbor", "#!/bin/sh\nexec sleep 60\n"),
		"-dir",
		filepath.Join(dir, "store"),
		"-results",
		dir,
		"-length",
		"1ns",
	}
	if err := run(context.Background(), args); err != nil {
		t.Fatal(err)
	}
	kept, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, k := range kept {
		if len(k.Pairs["cost(app)"]) != 2 || len(k.Pairs) != 1 {
			t.Errorf("%s, %s: pairs %v", k.Mode, k.Host, k.Pairs)
			continue
		}
		got[k.Mode+" "+k.Host] = k.Pairs["cost(app)"][1][1]
	}
	for name, want := range map[string]float64{
		"sequence quiet":    11,
		"sequence neighbor": 11,
		"duet quiet":        12,
		"duet neighbor":     12,
	} {
		if got[name] != want {
			t.Errorf("%s: got %v, want %v", name, got[name], want)
		}
	}
	text, err := os.ReadFile(readme)
	if want := "before\n" + study.Part(tablePart, tableOf(kept)) + "\nafter\n"; err != nil ||
		string(text) != want {
		t.Errorf("the page is %q, %v; want %q", text, err, want)
	}
	if err := run(context.Background(), []string{"-program", write("broken", "#!/bin/sh\nexit 1\n"), "-dir", dir, "-results", dir}); err == nil ||
		!strings.Contains(err.Error(), "no report") {
		t.Errorf("a program without a report: %v", err)
	}
}
