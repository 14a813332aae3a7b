package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"plimsoll/plan"
)

// Beside a reference no variable is filled in, and the program would get it as it is written.
func TestReferenceBesideVariable(t *testing.T) {
	const text = "name: x\ntarget: {driver: process, command: [srv], env: {%s}}\nworkload: {behavior: poster}\nbounded: {users: 1}\n"
	for env, bad := range map[string]bool{`A: "${DSN}"`: false, `A: "x${ENV:TAG}y"`: false, `A: "${DSN}&t=${ENV:TAG}"`: true, `A: "${ENV:H}:$PORT"`: true} {
		_, err := plan.Parse(fmt.Appendf(nil, text, env))
		if got := err != nil && strings.Contains(err.Error(), "beside a reference"); got != bad {
			t.Errorf("%s: %v", env, err)
		}
	}
}
