package evidence

import (
	"strings"
	"testing"

	"plimsoll/judge/sizing"
)

// The report of a sizing names the roles that were not watched.
func TestUnwatchedRolesOfASizing(t *testing.T) {
	seen := func(roles ...string) sizing.Step {
		s := sizing.Step{Count: 1, CPU: map[string]float64{}}
		for _, role := range roles {
			s.CPU[role] = 10
		}
		return s
	}
	for _, tt := range []struct {
		steps []sizing.Step
		want  string
	}{
		{[]sizing.Step{seen(), seen()}, "CPU and memory of app and db"},
		{[]sizing.Step{seen("app"), seen("app")}, "CPU and memory of db"},
		{[]sizing.Step{seen(), seen("app", "db")}, ""},
		{[]sizing.Step{{}}, ""},
	} {
		row, ok := unwatched(tt.steps)
		if ok != (tt.want != "") || ok && !strings.HasPrefix(row.Value, tt.want+":") {
			t.Errorf("%v: %q, want %q", tt.steps, row.Value, tt.want)
		}
	}
}
