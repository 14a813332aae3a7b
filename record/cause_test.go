package record

import "testing"

// TestCauseOfAVoidRun names the target for findings that it alone can cause when neither the
// generator nor a neighbor was at a limit, and no cause for unknown findings.
func TestCauseOfAVoidRun(t *testing.T) {
	for _, tt := range []struct {
		red, amber []string
		cause      Cause
		disturbed  bool
	}{
		{nil, []string{"others"}, "", false}, // valid
		{[]string{"stationary"}, nil, ByTarget, false},
		{[]string{"users", "wait"}, []string{"core"}, ByTarget, false},
		{[]string{"rate", "lag"}, nil, ByGenerator, false},
		{[]string{"stationary"}, []string{"others"}, ByHost, true}, // the neighbor may have done it
		{[]string{"others", "core", "lag", "search"}, nil, ByHost, true},
		// a neighbor does not excuse lost messages
		{[]string{"others", "audit"}, nil, ByHost, false},
		{[]string{"memory"}, nil, ByTarget, false},
		{[]string{StartGate}, nil, ByTarget, false},
		{[]string{CrashGate}, nil, ByTarget, false},
		// no neighbor ends a server
		{[]string{CrashGate, "others", "lag"}, []string{"steal"}, ByTarget, false},
		{[]string{CrashGate, PanicGate}, nil, ByGenerator, false},
		{[]string{PanicGate, "failed users"}, []string{"others"}, ByGenerator, false},
		{nil, []string{CrashGate}, "", false}, // a log that was not read whole
		{[]string{"complete"}, nil, "", false},
		// nothing that came of it is anybody's
		{[]string{HandGate, CrashGate, "others", PanicGate}, []string{"steal"}, ByHand, false},
	} {
		v := Validity{Valid: true}
		for _, g := range tt.red {
			v.Add(Finding{Gate: g, Level: Red})
		}
		for _, g := range tt.amber {
			v.Add(Finding{Gate: g, Level: Amber})
		}
		if c, d := CauseOf(v), Disturbed(v); c != tt.cause || d != tt.disturbed {
			t.Errorf(
				"red %q, amber %q: %q, disturbed %v; want %q, %v",
				tt.red,
				tt.amber,
				c,
				d,
				tt.cause,
				tt.disturbed,
			)
		}
	}
}

// TestTargetTooWithANeighborThatIsAmber does not clear the target by a neighbor that was only
// noticed.
func TestTargetTooWithANeighborThatIsAmber(t *testing.T) {
	for _, tt := range []struct {
		red, amber []string
		want       bool
	}{
		{[]string{"stationary"}, []string{"others"}, true},
		{[]string{"stationary"}, nil, false}, // clearly the target
		{[]string{"stationary", "others"}, nil, false},
		{[]string{"stationary", "lag"}, []string{"others"}, false},
		{[]string{"others"}, nil, false},
	} {
		v := Validity{Valid: true}
		for _, g := range tt.red {
			v.Add(Finding{Gate: g, Level: Red})
		}
		for _, g := range tt.amber {
			v.Add(Finding{Gate: g, Level: Amber})
		}
		if got := TargetToo(v); got != tt.want {
			t.Errorf("red %q, amber %q: %v", tt.red, tt.amber, got)
		}
	}
}
