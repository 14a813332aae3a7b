package workload

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
)

func TestTallyComparesWithWhatWasAsked(t *testing.T) {
	var tally Tally
	actions := []TallyAction{{
		Name:   "look",
		Weight: 3,
	}, {Name: "post", Weight: 1}, {Name: "boost", Weight: 6, Absent: "needs 10.5"}}
	c := tally.Behavior("person", actions)
	if tally.Behavior("person", actions) != c {
		t.Fatal("one behavior, two counts")
	}
	c.Attempt(0)
	c.Succeed(0)
	before := tally.Snapshot()
	for i := range 4000 {
		k := min(i%4, 1) // 3 of 4 post
		c.Attempt(k)
		c.Succeed(k)
	}
	for range 10 {
		c.Attempt(1)
		c.Skip(1, "nothing to say")
		c.Attempt(1)
		c.Fail(1)
	}
	m := tally.Snapshot().Sub(before).Mixes()[0]
	if m.Attempts != 4020 || m.OK != 4000 || m.Failed != 10 || m.Skipped != 10 {
		t.Fatalf("%+v", m)
	}
	post := m.Actions[1]
	if post.Requested != 0.25 || post.Achieved != 0.75 || post.Skipped["nothing to say"] != 10 ||
		m.Actions[2].Requested != 0 {
		t.Errorf("%+v", m.Actions)
	}
	if math.Abs(m.Distance-0.5) > 1e-9 || !m.Flagged || m.Chance99 > 0.02 {
		t.Errorf(
			"distance %v, chance %v %v, flagged %v",
			m.Distance,
			m.Chance,
			m.Chance99,
			m.Flagged,
		)
	}
	if got := strings.Join(m.Deviations(3), "; "); got != "look 25.0 % instead of 75.0 %; post 75.0 % instead of 25.0 %" {
		t.Errorf("deviations %q", got)
	}
}

func TestTallyDoesNotFlagChanceOrTrifles(t *testing.T) {
	for _, tt := range []struct {
		name     string
		ok, fail [2]int64
		flagged  bool
	}{
		// 10 points off, but chance alone brings more
		{"few successes", [2]int64{4, 6}, [2]int64{}, false},
		{"a trifle", [2]int64{510e3, 490e3}, [2]int64{}, false}, // beyond chance, 1 point
		{"beyond both", [2]int64{530e3, 470e3}, [2]int64{}, true},
		{"nothing worked", [2]int64{}, [2]int64{3, 4}, true},
		{"nothing tried", [2]int64{}, [2]int64{}, false},
	} {
		s := Snapshot{{Behavior: "b", Actions: []ActionCount{
			{
				Name:   "x",
				Weight: 1,
				OK:     tt.ok[0],
				Failed: tt.fail[0],
			}, {Name: "y", Weight: 1, OK: tt.ok[1], Failed: tt.fail[1]},
		}}}
		if m := s.Mixes()[0]; m.Flagged != tt.flagged {
			t.Errorf("%s: %+v", tt.name, m)
		}
	}
}

func TestTallyOfNobody(t *testing.T) {
	var tally *Tally
	c := tally.Behavior("x", []TallyAction{{Name: "a"}})
	c.Attempt(0)
	c.Succeed(0)
	c.Fail(0)
	c.Skip(0, "x")
	if s := tally.Snapshot(); s != nil || s.Sub(nil).Mixes() != nil {
		t.Errorf("%v", s)
	}
}

func TestTallyReasonsAreFew(t *testing.T) {
	var tally Tally
	c := tally.Behavior("x", []TallyAction{{Name: "a", Weight: 1}})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 100 {
				c.Skip(0, fmt.Sprintf("reason %d", i))
			}
		})
	}
	wg.Wait()
	got := tally.Snapshot()[0].Actions[0].Skipped
	sum := int64(0)
	for _, n := range got {
		sum += n
	}
	if len(got) != mostReasons || sum != 400 || got[otherReasons] == 0 {
		t.Errorf("%v", got)
	}
	if n := testing.AllocsPerRun(100, func() {
		c.Attempt(0)
		c.Succeed(0)
		c.Fail(0)
		c.Skip(0, "reason 0")
		c.Skip(0, "new")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
