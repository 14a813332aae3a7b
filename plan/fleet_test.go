package plan_test

import (
	"strings"
	"testing"
	"time"

	"plimsoll/plan"
)

const ofAgents = "name: n\ntarget: {driver: s}\nworkload: {behavior: b}\nbounded: {users: 1}\n"

func TestAgentsElsewhere(t *testing.T) {
	p := mustParse(t, ofAgents+"placement: {agents: 11}\n")
	if p.Placement.Agents.Count != 11 ||
		*p.Fleet != (plan.Fleet{time.Minute, 3 * time.Second, 20 * time.Second, 25 * time.Second, 5 * time.Second}) {
		t.Errorf("%+v, %+v", p.Placement.Agents, p.Fleet)
	}
	plan.ReadAgain(t, p)
	a := mustParse(
		t,
		ofAgents+"placement: {agents: {match: {zone: a}}}\nfleet: {leave: 40s}\n",
	).Placement.Agents
	if a.Count != 0 || !a.Matches(map[string]string{
		"zone": "a",
		"x":    "y",
	}) || a.Matches(map[string]string{"zone": "b"}) || a.Matches(nil) {
		t.Errorf("%+v", a)
	}
	if _, why := mustParse(t, ofAgents+"placement: {agents: 1}\ncompare: {arms: {base: {}, new: {}}}\n").Duet(); !strings.Contains(
		why,
		"the users are on other hosts",
	) {
		t.Errorf("a duet: %s", why)
	}
	if p, err := plan.ParseStored([]byte(ofAgents + "placement: {agents: 11}\nfleet: {relay: 0}\n")); err != nil ||
		strings.Contains(p.String(), "relay") {
		t.Errorf("a stored plan that has a key of before: %v\n%s", err, p)
	}
	if p := mustParse(t, ofAgents); p.Fleet != nil || strings.Contains(p.String(), "fleet") ||
		strings.Contains(p.String(), "equal") {
		t.Errorf("a plan without agents has their times:\n%s", p)
	}
}

// Users are divided equally unless the plan wants it otherwise, and a stored plan of an earlier
// version keeps its digest.
func TestShareOfAgents(t *testing.T) {
	p := mustParse(t, ofAgents+"placement: {agents: 2}\n")
	if p.Placement.Share != plan.ShareEqual || !strings.Contains(p.String(), "\n  share: equal\n") {
		t.Errorf("by default:\n%s", p)
	}
	by := mustParse(t, ofAgents+"placement: {agents: 2, share: rating}\n")
	if by.Placement.Share != plan.ShareRating || by.Digest() == p.Digest() ||
		mustParse(t, by.String()).Digest() != by.Digest() {
		t.Errorf("by rating:\n%s", by)
	}
	text := strings.Replace(p.String(), "  share: equal\n", "", 1)
	old, err := plan.ParseStored([]byte(text))
	if err != nil || old.String() != text {
		t.Errorf("of an earlier version: %v\n%s\nwas\n%s", err, old, text)
	}
}
