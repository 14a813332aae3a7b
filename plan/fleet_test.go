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
	if p.Placement.Agents.Count != 11 || *p.Fleet != (plan.Fleet{time.Minute, 3 * time.Second, 20 * time.Second, 25 * time.Second, 5 * time.Second}) {
		t.Errorf("%+v, %+v", p.Placement.Agents, p.Fleet)
	}
	again := mustParse(t, p.String())
	if again.Digest() != p.Digest() {
		t.Errorf("read again:\n%s\nwas\n%s", again, p)
	}
	a := mustParse(t, ofAgents+"placement: {agents: {match: {zone: a}}}\nfleet: {leave: 40s}\n").Placement.Agents
	if a.Count != 0 || !a.Matches(map[string]string{"zone": "a", "x": "y"}) || a.Matches(map[string]string{"zone": "b"}) || a.Matches(nil) {
		t.Errorf("%+v", a)
	}
	if _, why := mustParse(t, ofAgents+"placement: {agents: 1}\ncompare: {arms: {base: {}, new: {}}}\n").Duet(); !strings.Contains(why, "the users are on other hosts") {
		t.Errorf("a duet: %s", why)
	}
	if p, err := plan.ParseStored([]byte(ofAgents + "placement: {agents: 11}\nfleet: {relay: 0}\n")); err != nil || strings.Contains(p.String(), "relay") {
		t.Errorf("a stored plan that has a key of before: %v\n%s", err, p)
	}
	if p := mustParse(t, ofAgents); p.Fleet != nil || strings.Contains(p.String(), "fleet") || strings.Contains(p.String(), "equal") {
		t.Errorf("a plan without agents has their times:\n%s", p)
	}
}

// Users are divided equally unless the plan wants it otherwise, and a stored plan of an earlier version keeps its digest.
func TestShareOfAgents(t *testing.T) {
	p := mustParse(t, ofAgents+"placement: {agents: 2}\n")
	if p.Placement.Share != plan.ShareEqual || !strings.Contains(p.String(), "\n  share: equal\n") {
		t.Errorf("by default:\n%s", p)
	}
	by := mustParse(t, ofAgents+"placement: {agents: 2, share: rating}\n")
	if by.Placement.Share != plan.ShareRating || by.Digest() == p.Digest() || mustParse(t, by.String()).Digest() != by.Digest() {
		t.Errorf("by rating:\n%s", by)
	}
	text := strings.Replace(p.String(), "  share: equal\n", "", 1)
	old, err := plan.ParseStored([]byte(text))
	if err != nil || old.String() != text {
		t.Errorf("of an earlier version: %v\n%s\nwas\n%s", err, old, text)
	}
}

func TestImpossibleAgents(t *testing.T) {
	for text, want := range map[string]string{
		"placement: {agents: 0}":                        "0 is out of range; want 1 to 1000",
		"placement: {agents: 1001}":                     "1001 is out of range",
		"placement: {agents: {}}":                       "0 is out of range",
		"placement: {agents: {match: {zone: \"a b\"}}}": "is no label",
		"placement: {agents: some}":                     "is not a whole number",
		"placement: {agents: 2, source: [10.0.0.1]}":    "the users are on others",
		"placement: {agents: 2, share: 3}":              "placement.share: \"3\" is not a way to divide users; want equal or rating",
		"placement: {agents: 2, share: by rating}":      "is not a way to divide users",
		"placement: {share: rating}":                    "placement.share: is about other hosts, and placement.agents names none",
		"fleet: {join: 5s}":                             "neither placement.agents nor a probe of kind agent names one",
		"placement: {agents: 1}\nfleet: {resend: 30s}":  "30s is out of range; want 5s to 20s",
		"placement: {agents: 1}\nfleet: {leave: 20s}":   "is not more than fleet.resend",
		"placement: {agents: 1}\nfleet: {hold: 0}":      "0s is out of range",
		"placement: {agents: 1}\nfleet: {relay: 100}":   "fleet.relay: is gone: messages are accounted for in one way",
	} {
		if _, err := plan.Parse([]byte(ofAgents + text + "\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}
