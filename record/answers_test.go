package record

import (
	"strings"
	"testing"
)

// An exhausted budget voids a run and names placement.memory; answers beyond their own limits are
// amber, by kind; nothing else is a finding.
func TestAnswersBeyondALimitAreFindings(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   Answers
		want []string // gate, level and a part of the text
	}{
		{"nothing", Answers{Budget: 1 << 20, Held: 1 << 20}, nil},
		{"no room", Answers{
			Budget: 256 << 20,
			NoRoom: 3,
		}, []string{"budget red 3 answers or messages", "256MB", "placement.memory"}},
		{"limits", Answers{
			Bodies:    2,
			Messages:  1,
			Fragments: 4,
			Controls:  5,
			Headers:   6,
			Elements:  7,
		},
			[]string{"limits amber the target sent 25 answers", "response bodies 2", "response headers 6", "elements 7", "WebSocket messages 1", "fragments 4", "control frames 5"}},
		{"both", Answers{NoRoom: 1, Bodies: 1}, []string{"budget red", "limits amber"}},
	} {
		var lines []string
		for _, f := range tt.in.Findings() {
			lines = append(lines, f.Gate+" "+f.Level+" "+f.Text)
		}
		got := strings.Join(lines, "\n")
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", tt.name, got, want)
			}
		}
		if tt.want == nil && got != "" {
			t.Errorf("%s: got %q, want no finding", tt.name, got)
		}
	}
	if GateCause(BudgetGate) != ByEither {
		t.Error("an exhausted budget has no cause")
	}
}
