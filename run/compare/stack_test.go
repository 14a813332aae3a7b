package compare

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/target"
	"plimsoll/watch/probe"
)

// A comparison goes on with the host and the programs that it began with, or not at all.
func TestSameAsBefore(t *testing.T) {
	here := probe.Host{Kernel: "6.1", CPUs: 2}
	host, err := json.Marshal(here)
	if err != nil {
		t.Fatal(err)
	}
	c := &record.Comparison{
		ID: "c",
		Runs: []record.ComparisonRun{{
			Run: "lost",
			Cut: true,
		}, {Run: "r1", Arm: "base", Engine: "mysql"}},
	}
	load := func(id string) (*record.Run, error) {
		if id != "r1" {
			return nil, errors.New("nobody asks for a run that is not judged")
		}
		return &record.Run{Manifest: record.Manifest{
			ID:   id,
			Host: host,
			Target: json.RawMessage(
				`{"digest":"sha256:first","dataset":"mine sha256:1","database":{"name":"PostgreSQL","version":"15.18"}}`,
			),
		}}, nil
	}
	found := 0
	resumed := func(here probe.Host) (map[string]stack, error) {
		return sameAsBefore(c, load, here, nil, func(string, target.Description) { found++ })
	}
	stacks, err := resumed(here)
	was := stacks["base mysql"]
	if err != nil || found != 1 ||
		was != (stack{"sha256:first", "mine sha256:1", "PostgreSQL 15.18"}) {
		t.Errorf("%v, %v", stacks, err)
	}
	for _, tt := range []struct {
		is   stack
		want string
	}{
		{was, ""},
		{stack{"sha256:second", was.data, was.database}, "another build (digest sha256:second, it was sha256:first)"},
		{stack{was.program, "mine sha256:2", was.database}, "on other data (mine sha256:2, it was mine sha256:1)"},
		{stack{was.program, "", was.database}, "on other data (-, it was mine sha256:1)"},
		{stack{was.program, was.data, "PostgreSQL 15.19"}, "on another database server (PostgreSQL 15.19, it was PostgreSQL 15.18)"},
	} {
		if got := tt.is.differs(was); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.is, got, tt.want)
		}
	}
	if got := was.differs(stack{}); got != "" {
		t.Errorf("from what nobody knows: %q", got)
	}
	here.Kernel = "6.2"
	_, err = resumed(here)
	var usage plan.UsageError
	if !errors.As(err, &usage) ||
		!strings.Contains(err.Error(), "run r1 was made on another host") {
		t.Errorf("another kernel: %v", err)
	}
}
