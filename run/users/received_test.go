package users

import (
	"strings"
	"testing"

	"plimsoll/load/wire"
	"plimsoll/record"
)

func TestClockInTheManifest(t *testing.T) {
	for _, tt := range []struct {
		n          wire.Clocks
		want, none string
	}{
		{wire.Clocks{}, "where it gives them", "of 0"},
		{wire.Clocks{Kernel: 3, Process: 1}, "3 of 4 responses and messages", "was set"},
		{wire.Clocks{
			Process: 2,
			Steps:   1,
		}, "0 of 2 responses and messages; the wall clock was set 1 " +
			"times", "3 of"},
	} {
		if got := (Received{Stamps: tt.n}).ClockText(); !strings.Contains(got, tt.want) ||
			strings.Contains(got, tt.none) {
			t.Errorf("%+v: %s", tt.n, got)
		}
	}
}

// Every text on counts of all arms of a block says so.
func TestCountsOfAllArms(t *testing.T) {
	const all = "of all arms of the block"
	r := Received{
		Stamps:  wire.Clocks{Kernel: 90, Process: 10, Requests: 100, Repeats: 20},
		Refused: wire.Refusals{Budget: 1, Bodies: 1},
		Budget:  8 << 20, OfAll: true,
	}
	var m record.Manifest
	r.Describe(&m)
	texts := []string{m.Clock, m.Connections.String()}
	for _, f := range r.Findings() {
		texts = append(texts, f.Text)
	}
	if len(texts) != 5 {
		t.Errorf("%d texts: %q", len(texts), texts)
	}
	for _, text := range texts {
		if strings.Count(text, all) != 1 {
			t.Errorf("%q does not say that it is %s", text, all)
		}
	}
	r.OfAll = false
	if r.Describe(&m); strings.Contains(m.Clock+m.Connections.String(), all) || m.Answers == nil {
		t.Errorf("of one arm: %+v", m)
	}
	r.Budget = 0
	if r.Describe(&m); m.Answers != nil {
		t.Errorf("without load: %+v", m.Answers)
	}
}
