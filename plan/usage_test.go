package plan_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"plimsoll/plan"
)

// A usage error is found through other errors, and hides none inside.
func TestUsageError(t *testing.T) {
	err := fmt.Errorf("a.yaml: %w", plan.Usagef("-x %d: %w", 7, io.EOF))
	var usage plan.UsageError
	if !errors.As(err, &usage) || !errors.Is(err, io.EOF) || usage.Error() != "-x 7: EOF" {
		t.Errorf("got %q", err)
	}
}
