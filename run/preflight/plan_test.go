package preflight

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"plimsoll/plan"
)

// A core is named of which others take 15 % or more, what this process uses left out.
func TestBusyHost(t *testing.T) {
	stat := func(busy0, idle0, busy1, idle1 int) []byte {
		return fmt.Appendf(
			nil,
			"cpu  1 1 1 1 1 1 1 1\ncpu0 %d 0 0 %d 0 0 0 0\ncpu1 %d 0 0 %d 0 0 0 0\n",
			busy0,
			idle0,
			busy1,
			idle1,
		)
	}
	before := stat(1000, 1000, 1000, 1000)
	for name, tt := range map[string]struct {
		after []byte
		own   time.Duration
		want  string
	}{
		"idle":         {stat(1000, 1050, 1007, 1043), 0, ""},
		"one":          {stat(1030, 1020, 1000, 1050), 0, "60 % of core 0"},
		"both":         {stat(1050, 1000, 1010, 1040), 0, "100 % of core 0 and 20 % of core 1"},
		"ourselves":    {stat(1030, 1020, 1000, 1050), 300 * time.Millisecond, ""},
		"no time went": {before, 0, ""},
		"cut off":      {[]byte("cpu0 1"), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := byOthers(before, tt.after, []int{0, 1}, tt.own); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// What a plan writes grows with its runs, their length and its data.
func TestNeedOfDisk(t *testing.T) {
	need := func(tests string, part *OneRun) int64 {
		t.Helper()
		p, err := plan.Parse([]byte(
			"name: n\ntarget: {driver: external, url: http://h}\nworkload: {behavior: b}\n" + tests,
		))
		if err != nil {
			t.Fatal(err)
		}
		f := &Inspection{Plan: p, Part: part}
		f.arms = f.armsOf()
		return f.need()
	}
	const minute = "bounded: {users: 1, ramp: 0s, settle: 0s, measure: 1m}\n"
	one := need(minute, nil)
	if want := int64(runBytes + 60*secondBytes); one != want {
		t.Errorf("a minute: %d bytes, want %d", one, want)
	}
	const arms = minute + "compare: {blocks: 6, arms: {base: {}, new: {}}}\n"
	if got := need(arms, nil); got != 12*one {
		t.Errorf("twelve runs: %d bytes, want %d", got, 12*one)
	}
	if got := need(arms, &OneRun{Arm: "new", Bounded: true}); got != one {
		t.Errorf("one arm of them: %d bytes, want %d", got, one)
	}
	if got := need("sizing: {steps: [1, 2, 3], settle: 0s, hold: 1m}\n", nil); got != 3*(runBytes+120*secondBytes) {
		t.Errorf("three steps: %d bytes", got)
	}
}

// An error that begins with a key of a plan is a problem of that key.
func TestProblemOfAKey(t *testing.T) {
	for text, want := range map[string]string{
		"target.ca: no file":                          "target.ca no file",
		"probes[3].pid: there is none":                "probes[3].pid there is none",
		"compare.arms.new: deployment.network: no":    "compare.arms.new deployment.network: no",
		"open x: no such file":                        "other open x: no such file",
		"workload.params: at most 3: write one":       "workload.params at most 3: write one",
		"the target: it does not answer: nothing new": "other the target: it does not answer: nothing new",
	} {
		key, why := keyOf("other", errors.New(text))
		if got := key + " " + why; got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
