package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/studies/study"
)

// asStudy has this test program be the study, so that it can be killed.
const asStudy = "ATTRIBUTION_ARGUMENTS"

func TestMain(m *testing.M) {
	if text := os.Getenv(asStudy); text != "" {
		if err := run(context.Background(), strings.Split(text, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stub takes the place of plimsoll: while a file "hold" is beside it, it writes its process id into
// "held" and stays. Of the arm v1 it names a function, of v2 nothing.
const stub = `#!/bin/sh
at=$(dirname "$0")
if [ -e "$at/hold" ]; then
	echo $$ >"$at/held.part"; mv "$at/held.part" "$at/held"
	exec sleep 600
fi
cat <<END
{"comparison":"c-1","state":{"complete":true,"blocks_judged":6},
"verdicts":[{"arm":"v1","engine":"postgresql","verdict":{"results":[{"endpoint":{"name":"cost(app)"},"effect":0.05,"lo":0.04,"hi":0.06,
"pairs":[{"block":1,"base":0.8,"new":0.8},{"block":2,"base":1.2,"new":0.8}]}]}}],
"why":[{"arm":"v1","role":"db","withheld":"no"},
{"arm":"v1","role":"app","base":1,"findings":[{"function":{"Name":"f"},"cost":{"value":0.1}}],"tree":{"base":1}},
{"arm":"v2","role":"app","base":1,"findings":[]}],
"statements":[{"arm":"v2","base":1,"findings":[{"text":"SELECT 1"}]}]}
END
`

// put writes an executable file, and returns its path.
func put(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// prepared prepares a study that builds nothing: the arguments of a start, and its directory.
func prepared(t *testing.T) (dir string, args []string) {
	t.Helper()
	dir = t.TempDir()
	state := filepath.Join(dir, "state")
	put(t, filepath.Join(dir, "go"), "#!/bin/sh\nexit 0\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Chdir(root)
	c := calibration{
		Setting:    setting(),
		Operations: 2000,
		CPU:        1,
		Calls:      map[string]float64{},
		Costs:      map[work]float64{},
	}
	for _, v := range variants() {
		c.Calls[v.Function] = 100
		c.Costs[v.Work] = 1e-6
	}
	text, err := json.Marshal(c)
	if err != nil || os.Mkdir(state, 0o755) != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(state, "calibration.json"), string(text))
	return dir, []string{
		"-quiet=1",
		"-variants=2",
		"-results",
		dir,
		"-dir",
		state,
		"-program",
		put(t, filepath.Join(dir, "plimsoll"), stub),
	}
}

// TestResume kills the study in the midst of a comparison, tears the last line of the file, and has
// it go on.
func TestResume(t *testing.T) {
	dir, args := prepared(t)
	if err := run(t.Context(), append(args, "-n=2")); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "hold"), "")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asStudy+"="+strings.Join(args, "\n"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait(t, "the comparison to begin", func() bool {
		_, err := os.Stat(filepath.Join(dir, "held"))
		return err == nil
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	held, err := os.ReadFile(filepath.Join(dir, "held"))
	if err != nil {
		t.Fatal(err)
	}
	wait(t, "the comparison to end with the study", func() bool {
		state, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(held)), "stat"))
		return err != nil || bytes.Contains(state, []byte(") Z"))
	})
	file := filepath.Join(dir, outcomesFile)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"slot":5,"group":"no`); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "hold")); err != nil {
		t.Fatal(err)
	}

	if err := run(t.Context(), append(args, "-slots=6,7")); err != nil {
		t.Fatal(err)
	}
	all, torn, err := study.Lines[outcome](file)
	if err != nil || torn {
		t.Fatal(torn, err)
	}
	var got []string
	for _, o := range all {
		got = append(got, fmt.Sprint(o.Slot, o.Interrupted))
	}
	want := []string{
		"1 false",
		"2 false",
		"3 false",
		"4 false",
		"5 true",
		"6 true",
		"6 false",
		"7 false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("outcomes %q, want %q", got, want)
	}
	if !strings.Contains(all[4].Problem, "torn") {
		t.Errorf("the interruption is %q", all[4].Problem)
	}
	if next := pending(all, nil); next[0] != 5 || next[1] != 8 {
		t.Errorf("slots %v are next", next)
	}
	first, second := all[0], all[1]
	if first.Blocks != 6 || first.Cost.Low != 0.04 || first.App.Findings[0].Function.Name != "f" || first.App.Tree != nil ||
		first.Queries != nil || second.App == nil || len(second.App.Findings) != 0 ||
		second.Queries.Findings[0].Text != "SELECT 1" {
		t.Errorf("%+v, %+v", first, second)
	}
	// 100 calls of so many microseconds in 2,000 operations, which cost a millisecond each.
	if want := float64(first.Repeats) * 1e-6 * 100 / 2000 / 0.001; first.Planted != want {
		t.Errorf("planted %v of the base, want %v", first.Planted, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, pageFile)); err != nil ||
		string(text) != page(all) {
		t.Errorf("the page is not that of the outcomes: %v", err)
	}
}

// A comparison that fails is an outcome of each of its variants, and one that the study cannot
// begin is none.
func TestFailures(t *testing.T) {
	dir, args := prepared(t)
	broken := put(t, filepath.Join(dir, "broken"), "#!/bin/sh\necho the reason >&2; exit 1\n")
	if err := run(t.Context(), append(slices.Clone(args), "-program", broken)); err != nil {
		t.Fatal(err)
	}
	all, _, err := study.Lines[outcome](filepath.Join(dir, outcomesFile))
	if err != nil || len(all) != 2 || all[0].score() != without || all[1].score() != without ||
		!strings.HasSuffix(all[1].Problem, "status 1 and no report: the reason") {
		t.Errorf("%+v, %v", all, err)
	}
	put(t, filepath.Join(dir, "go"), "#!/bin/sh\necho syntax error; exit 1\n")
	for want, more := range map[string][]string{
		"make attribution builds it": {"-program", filepath.Join(dir, "absent")},
		"syntax error":               {},
		"numbers above 0":            {"-n", "0"},
		"comma-separated numbers":    {"-slots", "x"},
	} {
		if err := run(t.Context(), append(slices.Clone(args), more...)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if again, _, err := study.Lines[outcome](filepath.Join(dir, outcomesFile)); err != nil ||
		len(again) != 2 {
		t.Errorf("%d outcomes, %v", len(again), err)
	}
}

// The page of the results is that of the outcomes beside it.
func TestResults(t *testing.T) {
	const dir = "../results"
	all, torn, err := study.Lines[outcome](filepath.Join(dir, outcomesFile))
	if err != nil || torn {
		t.Fatal(torn, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, pageFile)); err != nil ||
		string(got) != page(all) {
		t.Errorf(
			"%s is not that of %s (%v): make attribution ATTRIBUTIONFLAGS=-draw",
			pageFile,
			outcomesFile,
			err,
		)
	}
}

func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); {
		if time.Since(began) > time.Minute {
			t.Fatalf("waited a minute for %s", what)
		}
		if err := study.Pause(t.Context(), 20*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
}
