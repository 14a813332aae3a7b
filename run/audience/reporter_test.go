package audience

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"plimsoll/internal/plain"
	"plimsoll/run/trial"
)

// Each progress line fits a terminal of 80 columns, with the longest names and numbers, and has its
// phase and the time that is left; no secret is in it.
func TestProgressFitsTheTerminal(t *testing.T) {
	secrets := new(plain.Secrets)
	secrets.Add("hunter2hunter2")
	huge := trial.Progress{
		Phase:        "measure",
		Active:       100_000,
		OpsPerSecond: 1_234_567,
		P95:          83 * time.Minute,
		Errors:       1 << 40,
		Left:         99*time.Hour + 59*time.Minute,
	}
	for name, prefix := range map[string]string{
		"a block":     "block 120/120 again",
		"a sequence":  "block 120/120 again  run 480 of it  an-arm-whose-name-is-as-long-as-the-plan-allows postgresql",
		"a plan":      "/home/ünïcødé/" + strings.Repeat("a-long-directory/", 8) + "plan.yaml",
		"a secret":    "hunter2hunter2",
		"no step yet": "",
	} {
		var out bytes.Buffer
		p := NewReporter(&out, secrets, true)
		p.What(prefix, 0)
		p.Doing("waiting for a quiet host, whose name is "+strings.Repeat("long ", 20), huge.Left)
		p.Trial(trial.Progress{Phase: "ramp", Left: time.Second})
		p.Trial(huge)
		for _, run := range []string{"base postgresql", "an-arm-whose-name-is-as-long-as-the-plan-allows mysql"} {
			part := p.Part(run)
			part.Doing("resetting", huge.Left)
			part.Trial(huge)
		}
		lines := strings.Split(out.String(), rewind)[1:]
		if len(lines) != 7 {
			t.Fatalf("%s: %d lines", name, len(lines))
		}
		for i, line := range lines {
			want := []string{"waiting", "ramp", "measure", "resetting", "measure", "resetting", "measure"}[i]
			if n := utf8.RuneCountInString(line); n > 80 || !strings.Contains(line, want) ||
				!strings.HasSuffix(line, " left") ||
				strings.Contains(line, "\n") {
				t.Errorf("%s: %d columns, want %s and the time left in 80: %s", name, n, want, line)
			}
			if strings.Contains(line, "hunter") {
				t.Errorf("a secret: %s", line)
			}
		}
	}
	var out bytes.Buffer
	p := NewReporter(&out, secrets, true)
	p.What("block 1/6", 0)
	p.Part("base").Trial(trial.Progress{
		Phase:        "measure",
		Active:       90,
		OpsPerSecond: 100,
		P95:          12345 * time.Microsecond,
		Errors:       2,
		Left:         20 * time.Second,
	})
	p.Part("new").Trial(trial.Progress{
		Phase:        "measure",
		Active:       90,
		OpsPerSecond: 140,
		P95:          9 * time.Millisecond,
		Errors:       1,
		Left:         40 * time.Second,
	})
	if want := "block 1/6  measure 90 users  120 ops/s each  p95 12.3ms  errors 3  1m0s left"; !strings.HasSuffix(
		out.String(),
		rewind+want,
	) {
		t.Errorf("%q, want %q at its end", out.String(), want)
	}
	p.Part("third") // which needs as long as the others on average
	p.Part("new").Trial(trial.Progress{Phase: "settle", Left: 40 * time.Second})
	if want := "  1m30s left"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("%q, want %q at its end", out.String(), want)
	}
}

// A comparison of the demo's shape, six blocks of four runs, makes at most 40 plain lines, one for
// each phase of each block among them; a phase that lasts has one in five minutes.
func TestPlainLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := NewReporter(&out, new(plain.Secrets), false)
		for line := range 7 {
			p.Say("line %d before the first block", line)
		}
		runs := []string{"base mysql", "base postgresql", "new mysql", "new postgresql"}
		for block := range 6 {
			p.What(fmt.Sprintf("block %d/6", block+1), time.Minute)
			p.Doing("canary", time.Second)
			for range runs {
				if block == 0 {
					p.Doing("deploying", 0)
					p.Step("provisioning", fmt.Sprintf("creating %d users", 90), 0)
					p.Step("provisioning", "logging users in", 0)
				}
			}
			var parts []*Reporter
			for _, run := range runs {
				parts = append(parts, p.Part(run))
				parts[len(parts)-1].Doing("resetting", 0)
			}
			for second := range 28 {
				for i, part := range parts {
					// some are ahead
					phase := []string{"ramp", "settle", "measure", "audit"}[min((second+i)/4, 3)]
					part.Trial(trial.Progress{Phase: phase, Active: 90})
				}
				time.Sleep(time.Second)
			}
			p.Joined()
		}
		p.Say("rendering the report")
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) > 40 {
			t.Errorf("%d lines:\n%s", len(lines), out.String())
		}
		for block := range 6 {
			for _, phase := range []string{"ramp", "settle", "measure", "audit"} {
				if n := strings.Count(out.String(), fmt.Sprintf("] block %d/6  %-7s ", block+1, phase)); n != 1 {
					t.Errorf("block %d has %d lines of %s", block+1, n, phase)
				}
			}
		}

		out.Reset()
		p.What("a long run", 0)
		for range 90 * 60 {
			p.Trial(trial.Progress{Phase: "measure"})
			time.Sleep(time.Second)
		}
		if n := strings.Count(out.String(), "\n"); n != 18 {
			t.Errorf("a phase of 90 minutes has %d lines, want 18", n)
		}
	})
}
