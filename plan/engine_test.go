package plan_test

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

const ownText = `name: n
target: {driver: s}
database: {engine: postgresql}
workload: {behavior: b}
bounded: {users: {postgresql: 3, mysql: 4}}
compare: {arms: {base: {database: mysql}, new: {}}}
`

// TestArmsWithDatabases: an arm's own engine takes the place of the plan's, and then there is no
// matrix.
func TestArmsWithDatabases(t *testing.T) {
	p, err := plan.Parse([]byte(ownText))
	failure.None(t, err)
	if !p.OwnDatabases() || p.EngineOf("base", "") != plan.MySQL ||
		p.EngineOf("new", "") != plan.PostgreSQL {
		t.Errorf("base runs on %q, new on %q", p.EngineOf("base", ""), p.EngineOf("new", ""))
	}
	if got := p.Engines(); !slices.Equal(got, []string{plan.PostgreSQL, plan.MySQL}) {
		t.Errorf("engines %v", got)
	}
	plan.ReadAgain(t, p)
	matrix, err := plan.Parse([]byte(strings.Replace(
		strings.Replace(ownText, "{database: mysql}", "{}", 1),
		"engine: postgresql",
		"engine: [postgresql, mysql]",
		1,
	)))
	failure.None(t, err)
	if matrix.OwnDatabases() || matrix.EngineOf("base", plan.MySQL) != plan.MySQL ||
		matrix.EngineOf("", "") != plan.PostgreSQL {
		t.Error("a matrix is taken for arms with databases")
	}
	if _, err := plan.Parse([]byte(strings.Replace(ownText, "new: {}}", "new: {}}, margin: {throughput(story): 5%}", 1))); err != nil {
		t.Errorf("a margin of a throughput: %v", err)
	}
}
