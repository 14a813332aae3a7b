package report

import (
	"encoding/json"
	"testing"

	"plimsoll/run/record"
)

func TestCompanionsAreNamedByRole(t *testing.T) {
	b := builder{d: new(Document)}
	r := RunData{Manifest: record.Manifest{Target: json.RawMessage(`{"companions":{"wide":{"name":"built-in","version":"v1","settings":{"sync":"10s","x":""}},"cache":{"name":"Redis","version":"7.0.15"}}}`)}}
	b.in.Runs = []RunData{r}
	if got, want := b.companionsText(), "cache: Redis 7.0.15; wide: built-in v1 (sync=10s)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.in.Runs[0].Manifest.Target = json.RawMessage(`{"driver":"x"}`)
	if got := b.companionsText(); got != "" {
		t.Errorf("got %q of a target without any", got)
	}
}
