package plan

import (
	"reflect"
	"time"
)

// Agents are the hosts that have the users, instead of this one.
type Agents struct {
	// Count is the number of hosts, 1 to 1000. 0 means all that have joined and match.
	Count int               `yaml:"count"`
	Match map[string]string `yaml:"match"`
}

// labels is the type of the labels of agents.
var labels = mapping("a mapping such as {NAME: value}", raw.checked(func(s string) error {
	if nameRE.MatchString(s) {
		return nil
	}
	return refuse(s, "is no label; want "+nameSyntax)
}), "The value of the label.").called("a label")

var agentKeys = section{
	{"count", integer.hidingZero().from(1, MostAgents),
		`How many of those that match; default all that are known.`},
	{"match", labels,
		`Labels that they must have, as plimsoll agent -label gives them.`},
}

// Matches reports whether an agent with these labels may be one of them.
func (a Agents) Matches(labels map[string]string) bool {
	for k, v := range a.Match {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// How users are divided among other hosts, by [Placement.Share].
const (
	// ShareEqual gives each host as many.
	ShareEqual = "equal"
	// ShareRating gives each host its part by the rating that plimsoll calibrate has found.
	ShareRating = "rating"
)

// A Fleet holds the settings of agents on other hosts: times, of which none is touched by pace.
type Fleet struct {
	Join   time.Duration `yaml:"join"`
	Hold   time.Duration `yaml:"hold"`
	Resend time.Duration `yaml:"resend"`
	Leave  time.Duration `yaml:"leave"`
	Over   time.Duration `yaml:"over"`
}

var fleetKeys = section{
	{"join", duration.or("1m").from("1s", "1h"), `How long a run waits for its agents.`},
	{"hold", duration.or("3s").from("1s", "1m"),
		`How long an agent may be silent until a search holds its level.`},
	{"resend", duration.or("20s").from("5s", "20s"),
		`How long an agent may be silent until it is lost and the run is not valid; until then its
		reports are sent again.`},
	{"leave", duration.or("25s").from("1s", "10m"),
		`How long the coordinator may be silent until the users of an agent leave; more than resend.`},
	{"over", duration.or("5s").from("1s", "1m"), `The time in which they leave.`},
	{
		"relay",
		gone("messages are accounted for in one way, however many agents there are; remove it"),
		"",
	},
}

// fillFleet sets the times of a plan whose users are on other hosts, and removes how they are
// divided from any other plan.
func (d *decoder) fillFleet(p *Plan) {
	agents := p.Placement.Agents != nil
	if p.Fleet == nil && (agents || p.WatchedByAgents()) {
		p.Fleet = new(Fleet)
		fleetKeys.fill(reflect.ValueOf(p.Fleet).Elem())
	}
	if !agents || d.stored { // a record of an earlier version keeps its digest
		fill(d, "placement.share", &p.Placement.Share, "")
	}
}

// checkFleet notes impossible settings of agents on other hosts.
func (d *decoder) checkFleet(p *Plan) {
	const agents = "placement.agents"
	a := p.Placement.Agents
	if a != nil && len(a.Match) == 0 && a.Count == 0 {
		d.at(agents, "0 is out of range; want 1 to %d", MostAgents)
	}
	if a != nil && len(p.Placement.Source) > 0 {
		d.at("placement.source",
			"is about this host, and the users are on others (placement.agents); remove it")
	}
	if a == nil && d.given("placement.share") && d.good(agents) {
		d.at("placement.share",
			"is about other hosts, and placement.agents names none; add it, or remove this")
	}
	f := p.Fleet
	if f == nil {
		return
	}
	if a == nil && !p.WatchedByAgents() {
		d.at("fleet", "has the settings of agents on other hosts, "+
			"and neither placement.agents nor a probe of kind agent names one; add it, or remove this")
	}
	if f.Leave <= f.Resend && d.good("fleet.resend") {
		d.at(
			"fleet.leave",
			"%s is not more than fleet.resend, %s: users would leave a run that is still valid; want more",
			FormatDuration(f.Leave),
			FormatDuration(f.Resend),
		)
	}
}
