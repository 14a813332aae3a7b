package newsfeed

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/dialect"
	"plimsoll/load/measure"
	"plimsoll/plan"
)

// judged is a run of 30 s in which a story takes d and the service half of it. Its calls to the
// database are a quarter of its time.
func judged(block int, d time.Duration, deployed dialect.Deployed) dialect.JudgedRun {
	each := func(d time.Duration) func(func(int, []*measure.Window) bool) error {
		return func(fn func(int, []*measure.Window) bool) error {
			for second := range 30 {
				w := measure.NewWindow("story")
				w.Classes[measure.OK] = 100
				w.Response.RecordN(d, 100)
				if !fn(second, []*measure.Window{w}) {
					break
				}
			}
			return nil
		}
	}
	return dialect.JudgedRun{
		ID:               fmt.Sprint("r", block),
		Block:            block,
		Users:            3,
		To:               30 * time.Second,
		EachSecond:       each(d),
		EachServerSecond: each(d / 2),
		Deployed:         &deployed,
		Query: func(_ context.Context, queries ...string) ([][]dialect.QueryValue, error) {
			if len(queries) != 2 || !strings.Contains(queries[0], "[30s]") ||
				!strings.Contains(queries[1], "[30s]") {
				return nil, fmt.Errorf("asked %q", queries)
			}
			return [][]dialect.QueryValue{{{Value: 8}}, {{
				Labels: map[string]string{"store": "database"},
				Value:  2,
			}}}, nil
		},
	}
}

// TestPagesSetAComparisonBesideTheStudy checks that the chapter has each arm with the deployment of
// its runs, and that only bounded tests of the behavior in a closed loop get one.
func TestPagesSetAComparisonBesideTheStudy(t *testing.T) {
	stores := map[string]string{"wide": "built-in, in the place of Cassandra", "cache": "Redis 7"}
	compared := func() dialect.Compared {
		c := dialect.Compared{
			Plan: &plan.Plan{Workload: plan.Workload{Behavior: Name}, Bounded: &plan.Bounded{}},
			Arms: []dialect.ComparedArm{{
				Name:  "base",
				Label: "ours on MySQL",
			}, {Name: "pg", Label: "ours on PostgreSQL"}, {Name: "host", Label: "in a container"}},
		}
		for block := range 3 {
			for i, d := range []dialect.Deployed{{
				Engine:     plan.MySQL,
				Server:     "MariaDB 10.11",
				Companions: stores,
			}, {Engine: plan.PostgreSQL, Server: "PostgreSQL 15", Companions: stores},
				{
					Engine:     plan.PostgreSQL,
					Server:     "PostgreSQL 15",
					Network:    "host",
					Companions: stores,
				}} {
				c.Arms[i].Runs = append(
					c.Arms[i].Runs,
					judged(block, time.Duration(i+1)*time.Millisecond, d),
				)
			}
		}
		return c
	}
	got, err := pages(t.Context(), compared())
	if err != nil || len(got) != 1 || len(got[0].Charts) != 3*4+2 {
		t.Fatalf("%d chapters, %v", len(got), err)
	}
	text := fmt.Sprint(got[0].Notes, got[0].Tables)
	for _, want := range []string{"ours on MySQL", "MariaDB 10.11 none 3", "PostgreSQL 15 none 3", "PostgreSQL 15 host 3", "cache: Redis 7; wide: built-in", "the stores took database 25 %"} {
		if !strings.Contains(text, want) {
			t.Errorf("the chapter lacks %q:\n%s", want, text)
		}
	}
	for name, change := range map[string]func(c *dialect.Compared){
		"another behavior": func(c *dialect.Compared) { c.Plan.Workload.Behavior = "other" },
		"a search":         func(c *dialect.Compared) { c.Plan.Bounded = nil },
		"arrivals":         func(c *dialect.Compared) { c.Plan.Workload.Arrival = &plan.Arrival{} },
		"no runs":          func(c *dialect.Compared) { c.Arms = c.Arms[:0] },
	} {
		c := compared()
		change(&c)
		if got, err := pages(t.Context(), c); err != nil || len(got) != 0 {
			t.Errorf("%s: %d chapters, %v, want none", name, len(got), err)
		}
	}
}
