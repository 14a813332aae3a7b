package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Agents are the hosts that have the users, instead of this one.
type Agents struct {
	// Count is how many, 1 to 1000. 0 means all that have joined and match.
	Count int `yaml:"count" kind:"optional"`
	// Match holds labels that they must have, as plimsoll agent -label gives them.
	Match map[string]string `yaml:"match"`
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
	// Join is how long a run waits for its agents. Default 1m.
	Join time.Duration `yaml:"join"`
	// Hold is how long an agent may be silent until a search holds its level. Default 3s.
	Hold time.Duration `yaml:"hold"`
	// Resend is how long an agent may be silent until it is lost and the run is not valid; its reports are sent again
	// until then. Default 20s.
	Resend time.Duration `yaml:"resend"`
	// Leave is how long the coordinator may be silent until the users of an agent leave. Default 25s.
	Leave time.Duration `yaml:"leave"`
	// Over is the time in which they leave. Default 5s.
	Over time.Duration `yaml:"over"`
}

// fillFleet sets the times of a plan whose users are on other hosts.
func (d *decoder) fillFleet(p *Plan) {
	if p.Fleet == nil && (p.Placement.Agents != nil || p.WatchedByAgents()) {
		p.Fleet = new(Fleet)
	}
	if p.Placement.Agents != nil && !d.stored { // one of an earlier version keeps its digest
		fill(d, "placement.share", &p.Placement.Share, ShareEqual)
	}
	if f := p.Fleet; f != nil {
		fill(d, "fleet.join", &f.Join, time.Minute)
		fill(d, "fleet.hold", &f.Hold, 3*time.Second)
		fill(d, "fleet.resend", &f.Resend, 20*time.Second)
		fill(d, "fleet.leave", &f.Leave, 25*time.Second)
		fill(d, "fleet.over", &f.Over, 5*time.Second)
	}
}

// checkFleet notes what is impossible about agents on other hosts.
func (d *decoder) checkFleet(p *Plan) {
	const agents = "placement.agents"
	if a := p.Placement.Agents; a != nil && d.good(agents) {
		if d.given(agents+".count") || len(a.Match) == 0 {
			ranged(d, agents, a.Count)
		}
		for k, v := range a.Match {
			if !nameRE.MatchString(k) || !nameRE.MatchString(v) {
				d.at(agents+".match", "%s is no label; want a name and a value of letters, digits, '.', '_' and '-'", clip(fmt.Sprintf("%s: %s", k, v)))
			}
		}
		if len(p.Placement.Source) > 0 {
			d.at("placement.source", "is about this host, and the users are on others (placement.agents); remove it")
		}
	}
	const share = "placement.share"
	switch {
	case !d.given(share) || !d.good(share):
	case !slices.Contains(divisions, p.Placement.Share):
		d.at(share, "%s is no way to divide users; want %s", clip(p.Placement.Share), strings.Join(divisions, " or "))
	case p.Placement.Agents == nil:
		d.at(share, "is about other hosts, and placement.agents names none; add it, or remove this")
	}
	f := p.Fleet
	if f == nil {
		return
	}
	if p.Placement.Agents == nil && !p.WatchedByAgents() {
		d.at("fleet", "has the settings of agents on other hosts, and neither placement.agents nor a probe of kind agent names one; add it, or remove this")
	}
	between(d, "fleet.join", f.Join, time.Second, time.Hour, formatDuration)
	between(d, "fleet.hold", f.Hold, time.Second, time.Minute, formatDuration)
	between(d, "fleet.resend", f.Resend, 5*time.Second, 20*time.Second, formatDuration)
	between(d, "fleet.over", f.Over, time.Second, time.Minute, formatDuration)
	between(d, "fleet.leave", f.Leave, time.Second, 10*time.Minute, formatDuration)
	if d.good("fleet.leave", "fleet.resend") && f.Leave <= f.Resend {
		d.at("fleet.leave", "%s is not more than fleet.resend, %s: users would leave a run that is still valid", formatDuration(f.Leave), formatDuration(f.Resend))
	}
}
