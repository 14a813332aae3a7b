package execute

import (
	"os"
	"testing"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/failure"
	"plimsoll/record"
)

// A search that contradicts itself is not a success, and no fault of the run.
func TestAnUnstableSearchIsInconclusive(t *testing.T) {
	of := func(kind string) *record.Capacity { return &record.Capacity{Kind: kind} }
	for _, tt := range []struct {
		valid bool
		c     *record.Capacity
		want  int
	}{
		{true, nil, exit.OK}, {false, nil, exit.Invalid}, {true, of(record.Estimate), exit.OK}, {true, of(record.AtLeast), exit.OK},
		{true, of(record.Unstable), exit.Inconclusive}, {false, of(record.Unstable), exit.Invalid}, {true, of(record.Invalid), exit.Invalid},
	} {
		if got := foundStatus(tt.valid, tt.c); got != tt.want {
			t.Errorf("valid %v, %+v: got %d, want %d", tt.valid, tt.c, got, tt.want)
		}
	}
	if got := record.CapacityText(record.Unstable, 0); got != "unstable" {
		t.Errorf("ls prints %q, want unstable", got)
	}
}

func TestQuickstartIsTheExample(t *testing.T) {
	example, err := os.ReadFile("../../../examples/quickstart.yaml")
	failure.None(t, err)
	if string(example) != string(quickstart) {
		t.Error(
			"cmd/internal/execute/quickstart.yaml and examples/quickstart.yaml differ; copy the one that is right",
		)
	}
	p, err := new(app.App).Known().Parse(quickstart)
	failure.None(t, err)
	if len(new(app.App).Dialects().WithDefaultRules(p).BoundedRules()) == 0 {
		t.Error("no rules")
	}
	duet, why := p.Duet()
	if load := time.Duration(p.Compare.Blocks*p.Seats()) * p.RunLength(true, true); !duet ||
		load > 200*time.Second {
		t.Errorf(
			"the demo is a duet: %v (%s), with %v of load; want at most 3m20s, as the rest of five minutes goes into deployments and resets",
			duet,
			why,
			load,
		)
	}
}
