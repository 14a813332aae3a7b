package preflight

import (
	"testing"

	"plimsoll/plan"
)

func parsed(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}
