package plan_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// Beside a reference no variable is filled in, and the program would get it as it is written.
func TestReferenceBesideVariable(t *testing.T) {
	const text = "name: x\ntarget: {driver: process, command: [srv], env: {%s}}\nworkload: {behavior: poster}\nbounded: {users: 1}\n"
	for env, bad := range map[string]bool{
		`A: "${DSN}"`:              false,
		`A: "x${ENV:TAG}y"`:        false,
		`A: "${DSN}&t=${ENV:TAG}"`: true,
		`A: "${ENV:H}:$PORT"`:      true,
	} {
		_, err := plan.Parse(fmt.Appendf(nil, text, env))
		if got := err != nil && strings.Contains(err.Error(), "beside a reference"); got != bad {
			t.Errorf("%s: %v", env, err)
		}
	}
}

const envText = "name: x\ntarget: {driver: process, command: [srv], env: %s}\ndatabase: {engine: [postgresql, mysql]}\nworkload: {behavior: poster}\nbounded: {users: 1}\n"

// A server with its own names for database drivers gets the name of the engine that it runs on.
func TestEnvByEngine(t *testing.T) {
	p, err := plan.Parse(
		fmt.Appendf(
			nil,
			envText,
			`{all: {A: "1", N: x}, postgresql: {N: postgres}, mysql: {N: mysql, M: "2"}}`,
		),
	)
	failure.None(t, err)
	for engine, want := range map[string]map[string]string{
		plan.PostgreSQL: {"A": "1", "N": "postgres"},
		plan.MySQL:      {"A": "1", "N": "mysql", "M": "2"},
		"":              {"A": "1", "N": "x"},
	} {
		if got := p.Target.Env.For(engine); !maps.Equal(got, want) {
			t.Errorf("variables on %q: %v, want %v", engine, got, want)
		}
	}
	plan.ReadAgain(t, p)
	over := p.Target.With(plan.Arm{Env: plan.Env{"": {"N": "all"}, plan.MySQL: {"A": "m"}}}).Env
	if got := over.For(plan.PostgreSQL)["N"] + over.For(plan.MySQL)["N"] + over.For(plan.MySQL)["A"] + over.For(plan.PostgreSQL)["A"]; got != "allallm1" {
		t.Errorf("an arm is laid over as %v", over)
	}
}

// The flat form is written flat, so the digests of plans without engines stay.
func TestFlatEnv(t *testing.T) {
	p, err := plan.Parse(fmt.Appendf(nil, envText, `{all: "1", mysql: "2"}`))
	failure.None(t, err)
	if got := p.Target.Env.For(plan.MySQL); got["all"] != "1" || got["mysql"] != "2" {
		t.Errorf("variables that are named as engines: %v", got)
	}
	if !strings.Contains(p.String(), "  env:\n    all: \"1\"\n    mysql: \"2\"\n") {
		t.Errorf("printed as\n%s", p)
	}
}
