package sandbox

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"plimsoll/plan"
	"plimsoll/target/container"
	"plimsoll/target/lab/netns"
)

// Unhostable returns an error with its remedy if this program cannot make the hosts of the plan's
// topology on this host; nil for a plan without. As root it tries the limits of links.
func Unhostable(ctx context.Context, p *plan.Plan) error {
	t := p.Target.Topology
	if !t.Apart() {
		return nil
	}
	if err := netns.Possible(); err != nil {
		return fmt.Errorf("target.topology.hosts: %w, or write hosts: %s", err, plan.HostsShared)
	}
	links := linksOf(t, hostNames(p.Target, strings.Join(p.Engines(), " ")))
	if err := netns.Linkable(ctx, slices.Collect(maps.Values(links))...); err != nil {
		return fmt.Errorf("target.topology.links: %w", err)
	}
	return nil
}

// Housable returns an error with its remedy if this program, on this host, cannot set the plan's
// target up with the networks, containers or limits that it requires. housed are the drivers whose
// stores this program starts too.
func Housable(ctx context.Context, p *plan.Plan, housed []string) error {
	if err := Unhostable(ctx, p); err != nil {
		return err
	}
	limited := p.Compare != nil && p.Compare.Limited()
	if (limited || p.Networked()) && os.Geteuid() != 0 {
		return plan.Usagef("compare.arms: deployments need control groups and network " +
			"namespaces, and these root; run plimsoll as root, or remove deployment")
	}
	if !p.Networked() {
		return nil
	}
	if err := Networkable(p, housed); err != nil {
		return err
	}
	contained := func(a plan.Arm) bool { return a.Deployment.Contained() }
	if p.Compare != nil && slices.ContainsFunc(p.Compare.Arms, contained) {
		if _, err := container.FindPodman(ctx); err != nil {
			return plan.Usagef("compare.arms: deployment.network: %w", err)
		}
	}
	return nil
}

// Networkable returns a [plan.UsageError] for settings that a plan with networks cannot have.
// housed are the drivers whose stores this program starts too.
func Networkable(p *plan.Plan, housed []string) error {
	if p.Target.Topology.Apart() {
		return reachable(p, "target.topology.hosts: netns", ", or write hosts: shared")
	}
	switch {
	case !slices.Contains(housed, p.Target.Driver):
		return plan.Usagef("compare.arms: deployment.network needs a server whose stores are "+
			"started too, so one of the drivers %s; %s takes cpus and memory",
			strings.Join(housed, ", "), p.Target.Driver)
	case len(p.Target.URL) > 0:
		return plan.Usagef("target.url: with deployment.network the address is made, too; " +
			"remove it")
	}
	return reachable(p, "deployment.network", "")
}

// reachable refuses probes and metrics of other hosts, which a run in a separate network cannot
// reach. key is the setting that requires the network, and or a second remedy. Arms then have no
// probes: only arms of the driver external have them.
func reachable(p *plan.Plan, key, or string) error {
	why := "with " + key + " the run is in a network of its own, which reaches no other host; " +
		"remove it" + or
	if i := slices.IndexFunc(p.Probes, plan.Probe.Elsewhere); i >= 0 {
		return plan.Usagef("probes[%d]: %s", i, why)
	}
	if len(p.Metrics.Labels) > 0 {
		return plan.Usagef("metrics: %s", why)
	}
	return nil
}
