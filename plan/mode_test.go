package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

const twoArms = `name: n
target: {driver: server%s}
workload: {behavior: poster}
bounded: {users: 5}
%scompare: {arms: {base: {}, new: {%s}}%s}
`

// The keys of a comparison's mode are read, kept and checked.
func TestMode(t *testing.T) {
	k := plan.Known{Drivers: []string{"server"}}
	for _, tt := range []struct {
		keys  string
		mode  string
		slice time.Duration
		duet  bool
		why   string
	}{
		{"", "", 0, true, "all arms are started on this host and can be paused"},
		{", slice: 300ms", "", 300 * time.Millisecond, true, "all arms are started on this host and can be paused"},
		{", mode: sequence", plan.ModeSequence, 0, false, "compare.mode is sequence"},
		{", mode: duet", plan.ModeDuet, 0, true, "compare.mode is duet"},
		{", mode: duet, slice: 0s", plan.ModeDuet, 0, true, "compare.mode is duet"},
		{", mode: duet, slice: 100ms", plan.ModeDuet, 100 * time.Millisecond, true, "compare.mode is duet"},
		{", mode: duet, slice: 5s", plan.ModeDuet, 5 * time.Second, true, "compare.mode is duet"},
		{", mode: sequence, slice: 0s", plan.ModeSequence, 0, false, "compare.mode is sequence"},
	} {
		p, err := k.Parse(fmt.Appendf(nil, twoArms, "", "", "", tt.keys))
		if err != nil {
			t.Errorf("%q: %v", tt.keys, err)
			continue
		}
		duet, why := p.Duet()
		if p.Compare.Mode != tt.mode || p.Compare.Slice != tt.slice || duet != tt.duet ||
			why != tt.why {
			t.Errorf(
				"%q: mode %q, slice %v, duet %v (%s)",
				tt.keys,
				p.Compare.Mode,
				p.Compare.Slice,
				duet,
				why,
			)
		}
		plan.ReadAgain(t, p)
		if text := p.String(); tt.keys == "" &&
			(strings.Contains(text, "mode") || strings.Contains(text, "slice")) {
			t.Errorf("a plan without a mode has one in its canonical form:\n%s", text)
		}
	}
	for keys, want := range map[string]string{
		", mode: trio":                   `compare.mode: "trio" is not a way to compare; want sequence or duet`,
		", mode: duett":                  `compare.mode: "duett" is not a way to compare; did you mean "duet"? want sequence or duet`,
		`, mode: ""`:                     `compare.mode: "" is not a way to compare`,
		", mode: duet, slice: 99ms":      "compare.slice: 99ms is out of range; want 100ms to 5s, or 0s",
		", mode: duet, slice: 6s":        "compare.slice: 6s is out of range",
		", slice: 1m":                    "compare.slice: 1m is out of range",
		", mode: duet, slice: fast":      "compare.slice:",
		", mode: sequence, slice: 200ms": "compare.slice: has no effect in a sequence; remove it, or write mode: duet",
	} {
		if _, err := k.Parse(fmt.Appendf(nil, twoArms, "", "", "", keys)); err == nil ||
			!strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got\n%v\nwant\n%s", keys, err, want)
		}
	}
}

// A plan whose arms cannot take turns is a sequence, and an error if it asks for a duet. A stored
// one stays readable.
func TestArmsThatCannotTakeTurns(t *testing.T) {
	k := plan.Known{Drivers: []string{"server", plan.Process, plan.External}}
	many := ""
	for i := range 3 {
		many += fmt.Sprintf("}, arm%d: {", i)
	}
	for _, tt := range []struct {
		name, target, sections, arm string
		why                         string // empty: they can
	}{
		{"ours", "", "", "", ""},
		{"external", "", "", "", "the driver external starts nothing that could be paused"},
		{"networks", "", "", "deployment: {network: bridge}",
			"servers in networks of their own (deployment.network) cannot be paused"},
		{"limits alone", "", "", "deployment: {memory: 512MB}", ""},
		{"processes", "", "placement: {processes: 2}\n", "",
			"the users are divided among 2 processes (placement.processes), and those of a duet share one"},
		{"one address", `, url: "http://127.0.0.1:8065"`, "", "",
			"the servers of all arms would be up at the one address target.url"},
		{"an address of a secret", `, url: "http://127.0.0.1:${ENV:PORT}"`, "", "",
			"the servers of all arms would be up at the one address target.url"},
		{"addresses of their own", `, url: "http://127.0.0.1:${PORT}"`, "", "", ""},
		{"an address that is a secret", `, url: "${ENV:URL}"`, "", "",
			"the servers of all arms would be up at the one address target.url"},
		{"one page of metrics", `, metrics_url: "http://127.0.0.1:8067/metrics"`, "", "",
			"the metrics of all arms would be read at the one address target.metrics_url"},
		{"a page of metrics that is a secret", `, metrics_url: "${ENV:M}"`, "", "",
			"the metrics of all arms would be read at the one address target.metrics_url"},
		{"pages of their own", `, metrics_url: "http://127.0.0.1:${PORT1}/metrics"`, "", "", ""},
		{"a path to the metrics", `, metrics_url: /metrics, ready: /ping`, "", "", ""},
		{"one address that is ready", `, ready: "http://127.0.0.1:8065/ping"`, "", "",
			"the servers of all arms would be asked at the one address target.ready"},
		{"probes", "", "probes: [{kind: prometheus, role: db, url: \"http://h:9100/metrics\"}]\n", "",
			"probes watch systems that are not paused with the arms, and would count the load of all"},
		{"two arms on two databases", "", "database: {engine: [postgresql, mysql]}\n", "", ""},
		{"five arms on two databases", "", "database: {engine: [postgresql, mysql]}\n", many,
			"10 arms and databases are too many to be up at once; at most 8 can"},
		{"five arms on one database", "", "database: {engine: [postgresql]}\n", many, ""},
		{"databases of their own", "", "database: {engine: [postgresql]}\n", "database: mysql", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			source := func(mode string) []byte {
				text := fmt.Sprintf(twoArms, tt.target, tt.sections, tt.arm, mode)
				if tt.name == "external" {
					text = strings.Replace(
						text,
						"driver: server",
						`driver: external, url: "http://h"`,
						1,
					)
				}
				return []byte(text)
			}
			p, err := k.Parse(source(""))
			failure.None(t, err)
			if duet, why := p.Duet(); tt.why != "" && (duet || why != tt.why) ||
				tt.why == "" && !duet {
				t.Errorf("duet %v: %s", duet, why)
			}
			_, err = k.Parse(source(", mode: duet"))
			if tt.why == "" && err != nil {
				t.Error(err)
			}
			if want := ": compare.mode: " + tt.why + "; "; tt.why != "" &&
				(err == nil || !strings.Contains(err.Error(), want) ||
					!strings.HasSuffix(err.Error(), ", or write sequence") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("got\n%v\nwant\n%s", err, want)
			}
			if _, err := plan.Parse(source(", mode: duet")); err != nil {
				t.Errorf("a stored plan cannot be read: %v", err)
			}
			if _, err := k.Parse(source(", mode: sequence")); err != nil {
				t.Error(err)
			}
		})
	}
}

// A search is carried out in turns only by a plan that asks for it, with a word of caution.
func TestASearchIsASequenceByDefault(t *testing.T) {
	for _, tt := range []struct {
		mode          string
		search        bool
		duet, caution bool
	}{
		{"", true, false, false}, {", mode: duet", true, true, true}, {", mode: sequence", true, false, false},
		{"", false, true, false}, {", mode: duet", false, true, false},
	} {
		search := ""
		if tt.search {
			search = "unbounded: {max_users: 50}\n"
		}
		p, err := plan.Known{
			Drivers: []string{"server"},
		}.Parse(fmt.Appendf(nil, twoArms, "", search, "", tt.mode))
		failure.None(t, err)
		duet, why := p.Duet()
		if duet != tt.duet || (p.Caution() != "") != tt.caution ||
			!duet && tt.mode == "" && !strings.Contains(why, "compare.mode: duet") {
			t.Errorf(
				"%q with a search %t: duet %t (%s), caution %q",
				tt.mode,
				tt.search,
				duet,
				why,
				p.Caution(),
			)
		}
	}
}
