package report

import (
	"encoding/json"
	"testing"

	"plimsoll/record"
)

func TestCompanionsAreNamedByRole(t *testing.T) {
	b := builder{Document: new(Document)}
	r := RunData{
		Manifest: record.Manifest{
			Target: json.RawMessage(
				`{"companions":{"wide":{"name":"built-in","version":"v1","settings":{"sync":"10s","x":""}},"cache":{"name":"Redis","version":"7.0.15"}}}`,
			),
		},
	}
	b.in.Runs = []RunData{r}
	if got, want := b.companionsText(), "cache: Redis 7.0.15; wide: built-in v1 (sync=10s)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := b.replicasText("", ""); got != "" {
		t.Errorf("replicas %q of a target without any", got)
	}
	// The proxy and the replicas of the run on each database have separate rows.
	b.in.Runs[0].Manifest.Target = json.RawMessage(
		`{"companions":{"proxy":{"name":"nginx","version":"1.22.1"},"replica-0":{"name":"PostgreSQL","version":"15.6"},"replica-1":{"name":"PostgreSQL","version":"15.6"}}}`,
	)
	other := RunData{Cell: record.ComparisonRun{Engine: "mysql"}}
	other.Manifest.Target = json.RawMessage(
		`{"companions":{"replica-0":{"name":"MariaDB","version":"10.11.6"}}}`,
	)
	b.in.Runs = append(b.in.Runs, other)
	if got := b.companionsText(); got != "" {
		t.Errorf("other stores %q", got)
	}
	for engine, want := range map[string]string{
		"":      " with 2 replicas (PostgreSQL 15.6)",
		"mysql": " with 1 replica (MariaDB 10.11.6)",
	} {
		if got := b.replicasText(engine, ""); got != want {
			t.Errorf("replicas %q, want %q", got, want)
		}
	}
	b.in.Runs[0].Manifest.Target = json.RawMessage(`{"driver":"x"}`)
	if got := b.companionsText(); got != "" {
		t.Errorf("got %q of a target without any", got)
	}
}
