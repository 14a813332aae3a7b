package report

import (
	"strings"
	"testing"
	"time"

	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// planned is a comparison with looks that was cut twice and ended at its first look, in a known
// environment.
func planned() Input {
	s := full()
	s.seconds, s.graphs = 12, nil
	s.engines = []string{"postgresql"}
	s.capacity = map[string]float64{"postgresql/base": 1320, "postgresql/new": 1150}
	in := s.input()
	c := in.Comparison
	at := c.Started
	c.Blocks = 12
	c.Looks = []record.Look{{
		Blocks:   6,
		Alpha:    0.0221,
		At:       at.Add(13 * time.Minute),
		Decided:  true,
		Verdicts: []record.LookVerdict{{Engine: "postgresql", Arm: "new", Kind: "worse"}},
	},
		{Blocks: 9, Alpha: 0.0221}, {Blocks: 12, Alpha: 0.0221}}
	c.Before = &record.Before{
		At:    at,
		Runs:  24,
		Least: 12 * time.Minute,
		Most:  24 * time.Minute,
		Retry: 8 * time.Minute,
		Noise: []record.Noise{{
			Engine:      "postgresql",
			Test:        "unbounded",
			Metric:      "capacity",
			Unit:        "users",
			Comparisons: 2,
			Pairs:       12,
			SD:          0.0255,
			Lines:       2,
		},
			{
				Engine:      "postgresql",
				Test:        "bounded",
				Metric:      "errors",
				Unit:        "%",
				Absolute:    true,
				Comparisons: 2,
				Pairs:       12,
				SD:          0.028,
				Lines:       2,
				False:       1,
			}},
		Expected: []record.Expected{{
			Engine: "postgresql",
			Metric: "capacity",
			Unit:   "users",
			RunSD:  0.018,
			Margin: 0.05,
			Blocks: 12,
			Alpha:  0.0221,
			MDE:    0.026,
			Needed: 6,
		},
			{
				Engine:  "postgresql",
				Metric:  "p95(post)",
				Unit:    "ms",
				RunSD:   0.04,
				Assumed: true,
				Margin:  0.05,
				Blocks:  12,
				Alpha:   0.0221,
				MDE:     0.059,
				Needed:  16,
			}},
	}
	c.Resumed = []record.Resumption{{
		Cut:   at.Add(3 * time.Minute),
		At:    at.Add(3*time.Hour + 5*time.Minute),
		Block: 2,
		Runs:  []string{"r-0003"},
		Lost:  []string{"r-x"},
	},
		{
			Cut: at.Add(4 * time.Hour),
			At:  at.Add(4*time.Hour + 30*time.Second),
			Why: "interrupted by interrupt",
		}}
	c.UserLevels = []record.UserLevel{{
		Engine:      "postgresql",
		Users:       85,
		Role:        "target",
		Utilization: 0.31,
		Why:         "at 160 users p99(op) < 2s breaks",
		Run:         "p1",
	}}
	in.Arms[0].Verdict.Results[0].Levels = &verdict.Levels{
		Blocks:  6,
		Measure: 12,
		Within:  0.009,
		Between: 0.014,
		MDE:     0.0262,
		Longer:  0.0241,
		More:    0.0153,
	}
	cut := c.Runs[2]
	cut.Run = "r-0003-cut"
	cut.Cut = true
	cut.Dropped = true
	cut.Why = "the comparison was cut in this block, which was run again whole"
	c.Runs = append(c.Runs[:2:2], append([]record.ComparisonRun{cut}, c.Runs[2:]...)...)
	return in
}

func TestProtocol(t *testing.T) {
	d := From(planned())
	golden(t, "protocol.md", written(t, FullMarkdown, d))
	golden(t, "protocol.txt", screenText(t, d, 100))
	if len(d.Voided) != 0 {
		t.Errorf("a cut block is not a voided one: %+v", d.Voided)
	}
}

// Blocks after the last look that was taken are in the report, and not judged.
func TestRunsThatWaitForALook(t *testing.T) {
	in := planned()
	c := in.Comparison
	c.State, c.Why = record.Interrupted, "interrupt"
	c.Looks[0].Decided = false
	for i := range in.Runs {
		if in.Runs[i].Cell.Block == 6 {
			in.Runs[i].Cell.Block = 7
		}
	}
	for i := range c.Runs {
		if c.Runs[i].Block == 6 {
			c.Runs[i].Block = 7
		}
	}
	d := From(in)
	if last := d.Runs[len(d.Runs)-1]; last.Part != "not judged" ||
		!strings.Contains(last.Why, "next planned look") {
		t.Errorf("%+v", last)
	}
	if d.State.Judged != 5 || len(d.Blocks) != 5 {
		t.Errorf("%d blocks judged, %d shown; want 5", d.State.Judged, len(d.Blocks))
	}
	if text := d.Protocol.lookText(); !strings.HasPrefix(text, "not decided at look 1 of 3") ||
		!strings.HasSuffix(text, "the next is after 9 blocks") {
		t.Errorf("got %q", text)
	}
	c.Looks[0] = record.Look{Blocks: 6, Alpha: 0.0221}
	if text := From(in).Protocol.lookText(); text != "none of the planned looks after 6, 9 and 12 blocks was taken" {
		t.Errorf("got %q", text)
	}
}

func TestForesight(t *testing.T) {
	b := record.Before{
		Runs:     8,
		Least:    70 * time.Second,
		Most:     70 * time.Second,
		Expected: []record.Expected{{Metric: "capacity", Blocks: 4}},
	}
	got := strings.Join(Foresight(b, nil, func(string) string { return "" }), "\n")
	has(
		t,
		got,
		"8 runs, about 1m10s after deployment",
		"the noise of this environment is not known: plimsoll compare -aa PLAN",
		"4 blocks carry no verdict",
	)
}
