package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"plimsoll/internal/failure"
	"plimsoll/plan"
)

func deployed(arms string) string {
	return "name: d\ntarget: {driver: s}\nworkload: {behavior: b}\nbounded: {users: 1}\ncompare: {arms: {" + arms + "}}\n"
}

// TestDeployments checks that a field that one arm sets is set in all, also in the canonical form.
func TestDeployments(t *testing.T) {
	type arms map[string]*plan.Deployment
	for name, c := range map[string]struct {
		arms      string
		want      arms
		networked bool
	}{
		"nothing": {"base: {}, new: {deployment: {}}", arms{"base": nil, "new": nil}, false},
		"a quota": {"base: {}, new: {deployment: {cpus: 90%}}", arms{
			"base": {CPUs: 1, Of: plan.OfTarget}, "new": {CPUs: 0.9, Of: plan.OfTarget}}, false},
		"of the server alone": {"base: {}, new: {deployment: {cpus: 50%, of: app}}", arms{
			"base": {CPUs: 1, Of: plan.OfApp}, "new": {CPUs: 0.5, Of: plan.OfApp}}, false},
		"memory": {"base: {}, new: {deployment: {memory: 512MiB}}", arms{
			"base": {Of: plan.OfTarget}, "new": {Memory: 512 << 20, Of: plan.OfTarget}}, false},
		"networks": {"base: {}, br: {deployment: {network: bridge}}, ho: {deployment: {network: host, cpus: 80%}}", arms{
			"base": {Network: plan.NetworkNone, CPUs: 1, Of: plan.OfTarget},
			"br":   {Network: plan.NetworkBridge, CPUs: 1, Of: plan.OfTarget},
			"ho":   {Network: plan.NetworkHost, CPUs: 0.8, Of: plan.OfTarget}}, true},
	} {
		p := mustParse(t, deployed(c.arms))
		got := arms{}
		for _, a := range p.Compare.Arms {
			got[a.Name] = a.Deployment
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if p.Networked() != c.networked {
			t.Errorf("%s: Networked is %v", name, p.Networked())
		}
		plan.ReadAgain(t, p)
	}
}

// TestStoredEngine: a record of an earlier version names the engine of its containers.
func TestStoredEngine(t *testing.T) {
	src := deployed("base: {}, new: {deployment: {network: bridge, engine: namespaces}}")
	p, err := plan.ParseStored([]byte(src))
	failure.None(t, err)
	if got := p.Compare.Arms[1].Deployment; got == nil || got.Network != plan.NetworkBridge {
		t.Errorf("the deployment is %+v, want the network bridge", got)
	}
}
