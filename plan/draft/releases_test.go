package draft

import (
	"strings"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

func TestVersus(t *testing.T) {
	long := strings.Repeat("a", 60)
	for _, tt := range []struct {
		name string
		v    Versus
		want string
	}{
		{"releases", Versus{
			Driver:    "chat",
			Databases: []string{plan.PostgreSQL},
			Behavior:  "reader",
			With:      "writer",
			Old:       Contender{Given: "releases/1.0", Binary: "releases/1.0"},
			New:       Contender{Given: "../1 1", Binary: "../1 1", Version: "1.1"},
		},
			`# plimsoll compare releases/1.0 ../1 1
name: 1.0-vs-1.1
target: {driver: chat}   # env: {NAME: value} is for settings of your own, here or in an arm
database: {engine: [postgresql]}   # each server has one of its own
workload: {behavior: reader, share: 90%, with: {writer: 10%}}
bounded: {users: auto, measure: auto}   # a pilot finds the users that keep the target 40 to 50 % busy
compare:
  arms:
    base: {binary: releases/1.0}
    new: {binary: "../1 1", version: "1.1"}
`},
		{"builds", Versus{
			Driver:    "chat",
			Args:      []string{"-cheap", "-n=1"},
			Databases: []string{plan.PostgreSQL},
			Behavior:  "reader",
			With:      "writer",
			Old:       Contender{Given: "old", Binary: "old"},
			New:       Contender{Given: "new\n\"x\"", Binary: "new\n\"x\""},
		},
			`# plimsoll compare old new "x"
name: old-vs-new-x
target: {driver: chat, args: ["-cheap", "-n=1"]}
database: {engine: [postgresql]}   # each server has one of its own
workload: {behavior: reader, share: 90%, with: {writer: 10%}}
bounded: {users: auto, measure: auto}   # a pilot finds the users that keep the target 40 to 50 % busy
compare:
  arms:
    base: {binary: old}
    new: {binary: "new\n\"x\""}
`},
		{"addresses", Versus{
			Behavior: "reader",
			With:     "writer",
			Old:      Contender{Given: "https://blue.example", URL: "https://blue.example"},
			New: Contender{
				Given: "https://green.example/" + long,
				URL:   "https://green.example/" + long,
			},
		},
			`# plimsoll compare https://blue.example https://green.example/` + long + `
name: blue.example-vs-` + long[:30] + `
target: {driver: external}   # servers that are up already; nobody pauses them
workload: {behavior: reader, share: 90%, with: {writer: 10%}, pace: 0.1}
bounded: {users: 30, ramp: 5s, settle: 10s, measure: auto}   # a number that both carry
compare:
  mode: duet
  arms:
    base: {url: https://blue.example}
    new: {url: https://green.example/` + long + `}
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.v.YAML()
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			p, err := plan.Parse([]byte(got))
			failure.None(t, err)
			for i, c := range []Contender{tt.v.Old, tt.v.New} {
				if a := p.Compare.Arms[i]; a.Binary != c.Binary || a.URL.First() != c.URL ||
					a.Version != c.Version {
					t.Errorf("arm %+v of %+v", a, c)
				}
			}
		})
	}
}
