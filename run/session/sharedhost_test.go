package session

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/run/deploy"
	"plimsoll/run/health"
	"plimsoll/run/sharedhost"
	"plimsoll/target"
	"plimsoll/target/lab"
)

func noSample(string) (v float64, at time.Time, ok bool) { return v, at, false }

// The gates report the same cores as the manifest: those of a target of others count where it is
// off the generator's. It is probed, but for a duet, where nothing of it is paused.
func TestCoresOfATargetOfOthersOnThisHost(t *testing.T) {
	cpus, err := lab.AllowedCPUs(0)
	if err != nil || len(cpus) < 2 {
		t.Skipf("this host has the CPUs %v, want two: %v", cpus, err)
	}
	at := answering(t)
	app, err := lab.Start(t.Context(), lab.Spec{Path: "/bin/sleep", Args: []string{"1000"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Kill() }()
	for _, tt := range []struct {
		keys           string
		confined       bool
		steal, foreign string
	}{
		{"", true, "no sample of plimsoll_cpu_steal_ratio", "not all processes"},
		{", placement: {generator: [1]}", false, "share their cores", "no cores of its own"},
	} {
		p := parsed(t, fmt.Sprintf(
			"{name: n, target: {driver: external, url: %q}, workload: {behavior: poster}, bounded: {users: 5}, "+
				"probes: [{kind: pid, role: app, pid: %d}]%s}",
			at,
			app.PID(),
			tt.keys,
		))
		cores := sharedhost.CoresOf(p, true)
		c := deploy.HostCores{
			Generator: cores.Generator, Target: cores.Target, Fixed: len(p.Placement.Generator) > 0,
		}
		sys := &deploy.System{Deployment: deployed(t, target.Spec{URL: at}), Probes: p.Probes}
		if c.Shared(sys) {
			t.Errorf("%s: it is here before it was looked for", tt.keys)
		}
		if err := c.Locate(t.Context(), sys, false, silent()); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range sys.Roles() {
			names = append(names, r.Name)
		}
		if !slices.Equal(names, []string{"app"}) || !c.Shared(sys) ||
			(len(c.Of(sys)) > 0) != tt.confined {
			t.Errorf(
				"%s: roles %v, shared %v, the target's own cores %v",
				tt.keys,
				names,
				c.Shared(sys),
				c.Of(sys),
			)
		}
		conf := hostHealth(c, sys)
		conf.Last, conf.Clock = noSample, clock.New(time.Now())
		gates := health.New(conf).Health(1, 1)
		if why := gates["target_steal"].Why; !strings.Contains(why, tt.steal) {
			t.Errorf("%s: target_steal: %q, want %q", tt.keys, why, tt.steal)
		}
		if why := gates["others"].Why; !strings.Contains(why, tt.foreign) {
			t.Errorf("%s: others: %q, want %q", tt.keys, why, tt.foreign)
		}
		if err := c.Locate(t.Context(), sys, true, silent()); err != nil || len(sys.Roles()) > 0 {
			t.Errorf(
				"%s: in a duet nothing is paused, and yet it is probed: %v, %v",
				tt.keys,
				sys.Roles(),
				err,
			)
		}
		if err := sys.Local.End(); err != nil {
			t.Error(err)
		}
	}
}
