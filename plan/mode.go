package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// How a comparison is carried out; see [Compare].
const (
	// ModeSequence runs the arms of a block one after the other.
	ModeSequence = "sequence"
	// ModeDuet has all arms of a block up at once; load alternates between them in short slices of
	// time, and an arm without its turn is paused.
	ModeDuet = "duet"
)

// The range of a slice of a duet.
const (
	leastSlice = 100 * time.Millisecond
	mostSlice  = 5 * time.Second
)

// mostSeats limits the runs that take turns: with the longest slices each then waits for 35 s
// between two turns.
const mostSeats = 8

// Duet reports whether the comparison of the plan is a duet, and the reason for its mode, a clause
// without a full stop. Whether this host has the memory for it is known to the caller.
func (p *Plan) Duet() (duet bool, why string) {
	if p.Compare == nil {
		return false, "the plan compares nothing"
	}
	why, _ = p.alone()
	if m := p.Compare.Mode; m == ModeDuet && why != "" {
		// of a plan that was changed after it was checked
		return false, "compare.mode is duet, and " + why
	} else if m != "" {
		return m == ModeDuet, "compare.mode is " + m
	}
	switch {
	case p.Target.Driver == External && p.armsElsewhere():
		return false, unpausedWhy + "; compare.mode: duet lets their load alternate all the same"
	case why != "":
		return false, why
	case p.Seats() < 2:
		return false, "there is one run in a block"
	case p.Unbounded != nil:
		return false, "the plan has a search, and " + unmeasured + "; compare.mode: duet lets the arms take turns all the same"
	}
	return true, "all arms are started on this host and can be paused"
}

// unmeasured explains why a search does not make a duet by default.
const unmeasured = "how much the capacities of a duet scatter has not been measured"

// Caution returns the unknowns of the duet that the plan requests, a clause without a full stop;
// empty for any other plan.
func (p *Plan) Caution() string {
	if p.Compare == nil || p.Compare.Mode != ModeDuet || p.Unbounded == nil {
		return ""
	}
	return "compare.mode: the duet has a search, and " + unmeasured + "; mode: sequence, or a duet without unbounded, has been"
}

// unpausedWhy explains why arms elsewhere run as a sequence by default.
const unpausedWhy = "servers elsewhere are not paused: what an arm leaves to be done in the background, it does in the turns of the others, without load"

// Seats returns how many runs a block of the comparison has: every arm on every database.
func (p *Plan) Seats() int {
	n := len(p.Compare.Arms)
	if !p.OwnDatabases() {
		n *= max(1, len(p.Database.Engine))
	}
	return n
}

// alone returns the reason why the arms cannot take turns, and the remedy; empty if they can.
func (p *Plan) alone() (why, remedy string) {
	switch {
	case p.Target.Driver == External && !p.armsElsewhere():
		return "the driver external starts nothing that could be paused",
			"give each arm a url of its own, or have Plimsoll start the server (driver process)"
	case p.Target.Topology.Apart():
		return "a duet of servers that are hosts of their own (target.topology.hosts) has not been measured", "write hosts: shared"
	case p.Networked():
		return "servers in networks of their own (deployment.network) cannot be paused", "remove the networks"
	case p.Placement.Agents != nil:
		return "the users are on other hosts (placement.agents), and those of a duet share one process", "remove placement.agents"
	case p.Placement.Processes > 1:
		return fmt.Sprintf(
			"the users are divided among %d processes (placement.processes), and those of a duet share one",
			p.Placement.Processes,
		), "write 1"
	case p.Target.Driver == External:
		return p.aloneElsewhere()
	case fixed(p.Target.URL.First()):
		return "the servers of all arms would be up at the one address target.url", "write http://127.0.0.1:${PORT} there"
	case slices.ContainsFunc(p.Target.MetricsURL, fixed):
		return "the metrics of all arms would be read at the one address target.metrics_url", "write a path, or ${PORT1} in the address"
	case fixed(p.Target.Ready):
		return "the servers of all arms would be asked at the one address target.ready", "write a path, or ${PORT} in the address"
	case len(p.Probes) > 0:
		return "probes watch systems that are not paused with the arms, and would count the load of all", "remove the probes"
	case len(p.Metrics.Labels) > 0:
		return "metrics watch hosts that are not paused with the arms, and would count the load of all", "remove metrics"
	case p.Seats() > mostSeats:
		return fmt.Sprintf(
				"%d arms and databases are too many to be up at once; at most %d can",
				p.Seats(),
				mostSeats,
			),
			"compare fewer at once"
	}
	return "", ""
}

// aloneElsewhere is [Plan.alone] for arms that are up elsewhere, each at its own addresses.
func (p *Plan) aloneElsewhere() (why, remedy string) {
	const counted = " counts what a server does in the turns of the other arms, as if it were of its own"
	at := map[string]string{}
	for _, a := range p.Compare.Arms {
		for _, spelled := range a.URL {
			same := sameAddress(spelled)
			if other, taken := at[same]; taken && other != a.Name {
				return fmt.Sprintf(
					"%s and %s are both at %s",
					other,
					a.Name,
					address(strings.TrimRight(spelled, "/")),
				), "give each arm servers of its own"
			}
			at[same] = a.Name
		}
	}
	for name := range p.Compare.Margin {
		if e, err := ParseEndpoint(name); err == nil && e.Stat == "throughput" {
			return "what an operation takes in the turns of the others costs its user no time, so that a throughput would hide a slow arm",
				"remove " + name + " from compare.margin"
		}
	}
	switch {
	case p.Unbounded != nil:
		return "a server that is not paused works off its backlog in the turns of the others, and the capacity that a search found would be too high",
			"remove unbounded"
	case len(p.Database.Engine) > 1:
		return fmt.Sprintf(
				"the %d databases of an arm share its address, and one of them is there at a time",
				len(p.Database.Engine),
			),
			"name one in database.engine"
	case fixed(p.Target.Ready):
		return "the servers of all arms would be asked at the one address target.ready", "write a path"
	case len(p.Target.MetricsURL) > 0 || p.anyArm(func(a Arm) bool {
		return len(a.MetricsURL) > 0
	}):
		return "metrics_url: a page that is read once a second" + counted, "remove metrics_url"
	case len(p.Probes) > 0 || p.anyArm(func(a Arm) bool { return len(a.Probes) > 0 }):
		return "probes: a probe that reads once a second" + counted, "remove probes"
	case len(p.Metrics.Labels) > 0 || p.anyArm(func(a Arm) bool {
		return len(a.Metrics.Labels) > 0
	}):
		return "metrics: a monitor" + counted, "remove metrics"
	case p.Seats() > mostSeats:
		return fmt.Sprintf(
			"%d arms are too many to take turns; at most %d can",
			p.Seats(),
			mostSeats,
		), "compare fewer at once"
	}
	return "", ""
}

// sameAddress returns an address in the one form that all its spellings have: the scheme and the
// host in lower case, no port that is the scheme's own, no slash or point at the end. A reference
// to a secret stays as it is.
func sameAddress(address string) string {
	address = strings.TrimRight(address, "/")
	scheme, rest, found := strings.Cut(address, "://")
	if !found || strings.Contains(address, "${") {
		return address
	}
	host, path := rest, ""
	if at := strings.IndexByte(rest, '/'); at >= 0 {
		host, path = rest[:at], rest[at:]
	}
	scheme, host = strings.ToLower(scheme), strings.ToLower(host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[scheme])
	name, port := host, ""
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		name, port = host[:at], host[at:]
	}
	return scheme + "://" + strings.TrimSuffix(name, ".") + port + path
}

// fixed reports whether an address is the same for every server: it is not a path, and has no
// variable of a server. Secrets are the same for all.
func fixed(address string) bool {
	return address != "" && !strings.HasPrefix(address, "/") &&
		!strings.Contains(referenceRE.ReplaceAllString(address, ""), "${")
}

// checkMode checks how the comparison is carried out. Stored plans stay readable.
func (d *decoder) checkMode(p *Plan, k Known) {
	const path, slice = "compare.mode", "compare.slice"
	c := p.Compare
	if c.Mode == ModeDuet && k.Drivers != nil &&
		d.good("target", "placement", "probes", "metrics", "compare.arms", "database") {
		if why, remedy := p.alone(); why != "" {
			d.at(path, "%s; %s, or write sequence", why, remedy)
		}
	}
	if c.Slice > 0 && c.Mode == ModeSequence && d.good(path) {
		d.at(slice, "has no effect in a sequence; remove it, or write mode: duet")
	}
}

// turn is the type of the length of a slice. The lower limit keeps the cost of pausing a small part
// of it; the upper limit keeps users, servers and networks from giving up.
var turn = duration.hidingZero().accepting(func(_ string, v reflect.Value) string {
	d := time.Duration(v.Int())
	if d == 0 || d >= leastSlice && d <= mostSlice {
		return ""
	}
	return fmt.Sprintf(
		"%s is out of range; want %s to %s, or 0s for one that follows the latencies",
		FormatDuration(d),
		FormatDuration(leastSlice),
		FormatDuration(mostSlice),
	)
})
