package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

// elsewhere is a plan of arms at their own addresses: further keys of the target, sections, an arm
// more, and keys of the comparison.
const elsewhere = `name: n
seed: %d
target: {driver: external%s}
workload: {behavior: poster}
bounded: {users: 5}
%scompare: {arms: {base: {version: "1.0", url: "http://blue:8065"}, new: {version: "1.1", url: "http://green:8065"}%s}%s}
`

var external = plan.Known{Drivers: []string{plan.External}}

// Arms at their own addresses are a duet only where the plan asks for it, and only with sources
// that count nothing of the other arms' turns.
func TestDuetElsewhere(t *testing.T) {
	for _, tt := range []struct {
		name, target, sections, arm string
		why                         string // empty: a duet is possible
	}{
		{"two", "", "", "", ""},
		{"installed", `, install: ["./deploy.sh"], reset: ["./reset.sh"]`, "", "", ""},
		{"a path that is ready", ", ready: /ping", "", "", ""},
		{"one of several servers is shared", "", "", `, third: {version: "1.1", url: ["http://red:1", "http://green:8065/"]}`,
			`new and third are both at "http://green:8065"`},
		{"another spelling", "", "", `, third: {version: "1.1", url: "http://Green.:8065"}`,
			`new and third are both at "http://Green.:8065"`},
		{"a port that is the scheme's own", "", "", `, third: {version: "1", url: "http://h/"}, fourth: {version: "2", url: "http://h:80"}`,
			`third and fourth are both at "http://h:80"`},
		{"an arm without an address", `, install: [x], url: "http://h"`, "", `, third: {version: "2"}`,
			"the driver external starts nothing that could be paused"},
		{"a search", "", "unbounded: {max_users: 50}\n", "",
			"a server that is not paused works off its backlog in the turns of the others"},
		{"two databases", ", install: [x]", "database: {engine: [postgresql, mysql]}\n", "", "the 2 databases of an arm share its address"},
		{"one address that is ready", `, ready: "http://h/ping"`, "", "", "the servers of all arms would be asked at the one address target.ready"},
		{"metrics", ", metrics_url: /metrics", "", "", "metrics_url: a page that is read once a second counts"},
		{"an arm's metrics", "", "", `, third: {version: "2", url: "http://red", metrics_url: /m}`, "metrics_url: a page"},
		{"probes", "", "probes: [{kind: prometheus, role: db, url: \"http://h:9100/metrics\"}]\n", "",
			"probes: a probe that reads once a second counts"},
		{"an arm's probes", "", "", `, third: {version: "2", url: "http://red", probes: [{kind: prometheus, role: db, url: "http://h/m"}]}`,
			"probes: a probe"},
		{"processes", "", "placement: {processes: 2}\n", "", "the users are divided among 2 processes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := func(mode string) []byte {
				return fmt.Appendf(nil, elsewhere, 1, tt.target, tt.sections, tt.arm, mode)
			}
			p, err := external.Parse(source(""))
			failure.None(t, err)
			if duet, why := p.Duet(); duet || why == "" ||
				tt.why == "" && !strings.Contains(why, "not paused") {
				t.Errorf("without a mode: duet %v (%s)", duet, why)
			}
			p, err = external.Parse(source(", mode: duet"))
			switch {
			case tt.why == "" && err != nil:
				t.Error(err)
			case tt.why == "":
				if duet, why := p.Duet(); !duet || p.Caution() != "" {
					t.Errorf("duet %v (%s), caution %q", duet, why, p.Caution())
				}
			case err == nil || !strings.Contains(err.Error(), "compare.mode: "+tt.why) || !strings.HasSuffix(err.Error(), ", or write sequence"):
				t.Errorf("got\n%v\nwant\n%s", err, tt.why)
			}
		})
	}
}

// TestSwapRefused: addresses are exchanged only where versions can follow, and each arm is equally
// often at each.
func TestSwapRefused(t *testing.T) {
	const install = ", install: [./deploy.sh]"
	for _, tt := range []struct{ name, target, arm, keys, want string }{
		{"swapped", install, "", ", swap: true", ""},
		{"in turns", install, "", ", swap: true, mode: duet", ""},
		{"three arms", install, `, third: {version: "2", url: "http://red"}`, ", swap: true, blocks: 9", ""},
		{"not swapped", "", "", ", swap: false", ""},
		{"nothing is installed", "", "", ", swap: true", "compare.swap: needs target.install"},
		{"an arm without an address", install + `, url: "http://h"`, `, third: {version: "2"}`, ", swap: true", "compare.swap: exchanges the addresses"},
		{"an arm without a version", install + ", verify: {version: none}", `, third: {url: "http://red"}`, ", swap: true", "compare.swap: needs a version in every arm"},
		{"an odd block", install, "", ", swap: true, blocks: 7", "compare.swap: needs a number of blocks that the 2 arms divide"},
		{"as many as needed", install, "", ", swap: true, blocks: auto", "compare.swap: needs a declared number of blocks"},
		{"looks", install, "", ", swap: true, looks: [6, 9, 12]", "compare.swap: needs a declared number of blocks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := external.Parse(fmt.Appendf(nil, elsewhere, 1, tt.target, "", tt.arm, tt.keys))
			if tt.want != "" {
				failure.Says(t, err, tt.want)
				failure.Hides(t, err, "\n")
				return
			}
			failure.None(t, err)
			plan.ReadAgain(t, p)
		})
	}
	started := strings.Replace(
		fmt.Sprintf(twoArms, "", "", "", ", swap: true"),
		"driver: server",
		"driver: process, command: [x]",
		1,
	)
	failure.Says(t, failure.Of((plan.Known{Drivers: []string{plan.Process}}).Parse([]byte(started))),
		"compare.swap: exchanges")
}

// A throughput cannot be judged where the turns of others take time that costs no user any.
func TestThroughputElsewhere(t *testing.T) {
	_, err := external.Parse(
		fmt.Appendf(nil, elsewhere, 1, "", "", "", ", mode: duet, margin: {throughput(post): 5%}"),
	)
	failure.Says(t, err, "remove throughput(post) from compare.margin")
	if _, err := external.Parse(fmt.Appendf(nil, elsewhere, 1, "", "", "", ", mode: sequence, margin: {throughput(post): 5%}")); err != nil {
		t.Errorf("in a sequence: %v", err)
	}
}

// TestPlaces: every arm is at every address equally often, no address has two arms, and the order
// follows the seed.
func TestPlaces(t *testing.T) {
	parse := func(seed int, arm, keys string) *plan.Plan {
		p, err := external.Parse(
			fmt.Appendf(nil, elsewhere, seed, ", install: [./deploy.sh]", "", arm, keys),
		)
		failure.None(t, err)
		return p
	}
	third := `, third: {version: "2", url: "http://red", metrics_url: /m}`
	orders := map[string]bool{}
	for seed := range 20 {
		for _, p := range []*plan.Plan{parse(seed, "", ", swap: true, blocks: 6"), parse(seed, third, ", swap: true, blocks: 9")} {
			arms := p.Compare.Arms
			at, order := map[string]int{}, ""
			for block := 1; block <= p.Compare.Blocks; block++ {
				taken := map[string]bool{}
				for _, a := range arms {
					place := p.Place(a.Name, block)
					at[a.Name+" at "+place.Name]++
					taken[place.Name] = true
					order += place.Name + " "
				}
				if len(taken) != len(arms) {
					t.Fatalf("seed %d, block %d: only %v have an arm", seed, block, taken)
				}
				if block%len(arms) == 0 { // balanced after every stretch, not only at the end
					for pair, n := range at {
						if n != block/len(arms) {
							t.Fatalf("seed %d: after %d blocks %s %d times", seed, block, pair, n)
						}
					}
				}
			}
			orders[order] = true
			if got := p.Place("new", 0).Name; got != "new" {
				t.Errorf("outside of blocks new is at %s", got)
			}
		}
	}
	if len(orders) < 10 {
		t.Errorf("%d orders of 20 seeds and 2 plans: they do not follow the seed", len(orders))
	}
	p := parse(1, third, ", blocks: 6")
	for block := range 7 {
		if got := p.Place("new", block).Name; got != "new" {
			t.Errorf("not swapped, new is at %s in block %d", got, block)
		}
	}
	p = parse(1, third, ", swap: true")
	for block := range 7 {
		for _, arm := range p.Compare.Arms {
			place := p.Place(arm.Name, block)
			if got := p.TargetOf(arm, block); got.Version != arm.Version ||
				!slices.Equal(got.URL, place.URL) ||
				!slices.Equal(got.MetricsURL, place.MetricsURL) {
				t.Errorf(
					"block %d: %s at the addresses of %s: %+v",
					block,
					arm.Name,
					place.Name,
					got,
				)
			}
		}
	}
}
