package main

import (
	"bytes"
	"context"
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

// asCurve has this test program be the study, so that it can be killed.
const asCurve = "CURVE_ARGUMENTS"

func TestMain(m *testing.M) {
	if text := os.Getenv(asCurve); text != "" {
		if err := run(context.Background(), strings.Split(text, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// stub takes the place of plimsoll: while a file "hold" is beside it, it writes its process id into
// "held" and stays.
const stub = `#!/bin/sh
at=$(dirname "$0")
if [ -e "$at/hold" ]; then
	echo $$ >"$at/held.part"; mv "$at/held.part" "$at/held"
	exec sleep 600
fi
cat <<END
{"comparison":"c-1","state":{"complete":true,"blocks_judged":6},"verdicts":[{"engine":"postgresql","verdict":{"kind":"same","lead":"It is the same.",
"results":[{"endpoint":{"name":"cost(app)"},"kind":"same","effect":0.01,"lo":-0.01,"hi":0.02,"pairs":[{"block":1,"base":0.8,"new":0.8},{"block":2,"base":1.2,"new":0.8}]}]}}],
"operations":[{"engine":"postgresql","rows":[{"name":"post","arms":[{"count":110,"failed":10,"p95_ms":6},{"count":100,"p95_ms":6}]},
{"name":"delivery","arms":[{"count":1000},{"count":1000}]},{"name":"getPosts","arms":[{"count":900},{"count":900}]}]}]}
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

// TestResume kills the study in the midst of an outcome, tears the last line of the file, and has
// it go on.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go"), "#!/bin/sh\nexit 0\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	args := []string{"-quiet=1", "-results", dir, "-dir", filepath.Join(dir, "state"),
		"-program", put(t, filepath.Join(dir, "plimsoll"), stub), "-neighbor", put(t, filepath.Join(dir, "neighbor"), "#!/bin/sh\nexec sleep 600\n")}
	if err := run(t.Context(), append(args, "-n=2")); err != nil {
		t.Fatal(err)
	}

	put(t, filepath.Join(dir, "hold"), "")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asCurve+"="+strings.Join(args, "\n"))
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
	if _, err := f.WriteString(`{"slot":3,"kind":"no`); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "hold")); err != nil {
		t.Fatal(err)
	}

	if err := run(t.Context(), args); err != nil {
		t.Fatal(err)
	}
	all, torn, err := study.Lines[outcome](file)
	if err != nil || torn {
		t.Fatal(torn, err)
	}
	var got []string
	for _, o := range all {
		got = append(got, fmt.Sprintf("%d %s", o.Slot, o.score()))
	}
	third := map[bool]string{true: same, false: missed}[kindOf(order(3)[2].Kind).nothing()]
	if want := []string{"1 same", got[1], "3 interrupted", "3 " + third}; !slices.Equal(got, want) {
		t.Errorf("outcomes %q, want %q", got, want)
	}
	if !strings.Contains(all[2].Problem, "torn") {
		t.Errorf("the interruption is %q", all[2].Problem)
	}
	if o := all[3]; o.Base != (reading{0.001, 0.1, 0.006}) || o.Endpoints[0].Effect != 0.01 ||
		o.Blocks != 6 ||
		o.cell != order(3)[2] {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(filepath.Join(dir, "state", "under-way.json")); err == nil {
		t.Error("an outcome that has ended is still under way")
	}
	page, err := os.ReadFile(filepath.Join(dir, pageFile))
	if err != nil || string(page) != curveOf(all).page() {
		t.Errorf("the page is not that of the outcomes: %v", err)
	}
}

// A comparison that fails is an outcome, and one that the study cannot begin is none.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go"), "#!/bin/sh\nexit 0\n")
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	none := put(t, filepath.Join(dir, "neighbor"), "#!/bin/sh\nexec sleep 600\n")
	results := filepath.Join(dir, "not", "there", "yet")
	args := []string{
		"-quiet=1",
		"-results",
		results,
		"-dir",
		filepath.Join(dir, "state"),
		"-neighbor",
		none,
	}
	if err := run(t.Context(), append(args, "-program", put(t, filepath.Join(dir, "broken"), "#!/bin/sh\necho the reason >&2; exit 1\n"))); err != nil {
		t.Fatal(err)
	}
	all, _, err := study.Lines[outcome](filepath.Join(results, outcomesFile))
	if err != nil || len(all) != 1 || all[0].score() != without || all[0].Status != 1 ||
		!strings.HasSuffix(all[0].Problem, "status 1 and no report: the reason") {
		t.Errorf("%+v, %v", all, err)
	}
	put(t, filepath.Join(dir, "go"), "#!/bin/sh\necho syntax error; exit 1\n")
	for want, more := range map[string][]string{
		"make curve builds it": {"-program", filepath.Join(dir, "absent")},
		"syntax error":         {"-program", none},
		"numbers above 0":      {"-n", "0"},
	} {
		if err := run(t.Context(), append(slices.Clone(args), more...)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if again, _, err := study.Lines[outcome](filepath.Join(results, outcomesFile)); err != nil || len(again) != 1 {
		t.Errorf("%d outcomes, %v", len(again), err)
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
