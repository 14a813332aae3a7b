package console

import (
	"strings"
	"testing"

	"plimsoll/record"
)

func TestBelieved(t *testing.T) {
	red := record.Finding{Gate: "lag", Level: record.Red, Text: "too late"}
	amber := record.Finding{Gate: "steal", Level: record.Amber, Text: "a busy host"}
	value := 1.0
	for _, tt := range []struct {
		name, color, text string
		m                 record.Manifest
		v                 record.Validity
	}{
		{"steered", "red", "exploratory: users were set", record.Manifest{Exploratory: "users were set to 8 by hand"}, record.Validity{Findings: []record.Finding{red}}},
		{"a red finding", "red", "not valid: too late", record.Manifest{}, record.Validity{Findings: []record.Finding{amber, red}}},
		{"interrupted", "red", "not valid: the tool failed", record.Manifest{Why: "the tool failed"}, record.Validity{}},
		{"under way or killed", "red", "not valid.", record.Manifest{}, record.Validity{}},
		{"an amber finding", "amber", "a busy host", record.Manifest{}, record.Validity{
			Valid:    true,
			Findings: []record.Finding{amber},
		}},
		{"nothing found", "green", "1 gates were read", record.Manifest{}, record.Validity{
			Valid: true,
			Gates: []record.GateOutcome{{Value: &value}, {}},
		}},
	} {
		if b := believed(tt.m, tt.v); b["color"] != tt.color ||
			!strings.Contains(b["text"].(string), tt.text) {
			t.Errorf("%s: %v, want %s, %s", tt.name, b, tt.color, tt.text)
		}
	}
}
