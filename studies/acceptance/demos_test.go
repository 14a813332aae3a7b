package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/studies/study"
)

// screenOf is what a demo prints, shortened.
const screenOf = `Performance Comparison base vs new · complete, 4 of 6 blocks judged
WORSE         PostgreSQL: new is worse than base
report: DIR/report.html
wall time 4m43s
verdict: postgresql=worse mysql=worse
%s
`

func TestDemoOutcome(t *testing.T) {
	for last, want := range map[string]string{
		"demo: found: the planted slowdown cpu:25%: PostgreSQL worse":                    demoFound,
		"demo: not found on every database: the planted slowdown cpu:25%: MariaDB worse": demoMissed,
		"demo: same on every database, and no slowdown planted: PostgreSQL same":         demoSame,
		"demo: no difference found, and none planted: PostgreSQL inconclusive":           demoOpen,
		"demo: false alarm: a difference found, and none planted: PostgreSQL better":     demoAlarm,
		"demo: no verdict on every database, and nothing planted: nothing was judged":    demoWithout,
		"plimsoll: the comparison was interrupted":                                       demoBroken,
		"demo: set-up and build took 9 s":                                                demoBroken,
	} {
		var d demo
		d.read(fmt.Sprintf(screenOf, last))
		if d.outcome() != want || d.Whole != 4 || d.Planned != 6 || d.Wall != "4m43s" || d.Verdict != "postgresql=worse mysql=worse" || d.Last != last {
			t.Errorf("%s: %s, %+v", last, d.outcome(), d)
		}
	}
	var d demo
	if d.read(""); d.outcome() != demoBroken || d.Last == "" {
		t.Errorf("without output: %+v", d)
	}
}

// TestDemos makes two demos by a script in place of the real one, of which the second fails, and keeps both.
func TestDemos(t *testing.T) {
	dir := t.TempDir()
	readme := filepath.Join(dir, page)
	script := filepath.Join(dir, "demo.sh")
	put := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(readme, "before\n"+study.Part(demosPart, "old")+"\nafter\n")
	put(script, "#!/bin/sh\n[ \"$1 $2\" = '-seed 1' ] || { echo 'demo: not found on every database: seed'; exit 1; }\n"+
		"echo 'Performance Comparison base vs new · complete, 6 of 6 blocks judged'\necho \"demo: found: the planted slowdown $FAULT\"\n")
	if err := demos(t.Context(), []string{"-results", dir, "-script", script, "-n", "2", "-fault", "cpu:5%", "-note", "a test"}); err != nil {
		t.Fatal(err)
	}
	done, err := loadDemos(dir)
	if err != nil || len(done) != 2 {
		t.Fatalf("%v, %v", done, err)
	}
	if d := done[0]; d.outcome() != demoFound || d.Last != "demo: found: the planted slowdown cpu:5%" || d.Status != 0 || d.Whole != 6 || d.Host != study.Quiet || d.Note != "a test" || time.Since(d.At) > time.Hour {
		t.Errorf("%+v", d)
	}
	if d := done[1]; d.outcome() != demoMissed || d.Status != 1 || d.Seed != 2 {
		t.Errorf("%+v", d)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.HasPrefix(s, "before\n"+study.Part(demosPart, demoTables(done))) || !strings.HasSuffix(s, "-->\nafter\n") ||
		!strings.Contains(s, "\n| quiet | `cpu:5%` | 2 | 1 | 1 | 0 | 0 | 0 | 0 | 0 |") || !strings.Contains(s, "| quiet: a test | `cpu:5%` | 1 |") {
		t.Errorf("%s", s)
	}
	if n := nextSeed(done, study.Neighbor, "cpu:5%"); n != 1 {
		t.Errorf("the first seed beside a neighbor is %d", n)
	}
}

// TestDemosPage compares the tables of the results with the demos beside them.
func TestDemosPage(t *testing.T) {
	const dir = "../results/acceptance"
	done, err := loadDemos(dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, page))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), study.Part(demosPart, demoTables(done))) {
		t.Errorf("the tables are not those of %s; bin/acceptance demos -table writes them", demosFile)
	}
}
