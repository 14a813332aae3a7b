package agents_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A manifest is one object of the rendered chart.
type manifest map[string]any

// at follows a path of keys and numbers, and returns nil where there is nothing.
func (m manifest) at(path ...any) any {
	var v any = map[string]any(m)
	for _, p := range path {
		switch p := p.(type) {
		case string:
			table, _ := v.(map[string]any)
			v = table[p]
		case int:
			list, _ := v.([]any)
			if p >= len(list) {
				return nil
			}
			v = list[p]
		}
		if v == nil {
			return nil
		}
	}
	return v
}

// manifests renders the chart and returns its objects by kind and name.
func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	texts, err := render(t, chartDir, values(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]manifest{}
	for name, text := range texts {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for part := range strings.SplitSeq(text, "\n---") {
			var m manifest
			if err := yaml.Unmarshal([]byte(part), &m); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if m != nil {
				all[fmt.Sprint(m.at("kind"), "/", m.at("metadata", "name"))] = m
			}
		}
	}
	return all
}

// The chart keeps its promises: one run that is never repeated, agents without privileges that
// nobody can reach, whole cores, one token for each.
func TestChartPromises(t *testing.T) {
	all := manifests(t)
	names := []string{
		"ConfigMap/night-plimsoll-plan",
		"Deployment/night-plimsoll-agent-0",
		"Deployment/night-plimsoll-agent-1",
		"Deployment/night-plimsoll-agent-2",
		"Job/night-plimsoll-run-2",
		"NetworkPolicy/night-plimsoll-agents",
		"NetworkPolicy/night-plimsoll-coordinator",
		"Service/night-plimsoll",
	}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, names) {
		t.Fatalf("objects %q, want %q", got, names)
	}
	check := func(object string, want any, path ...any) {
		t.Helper()
		if got := all[object].at(path...); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v is %v, want %v", object, path, got, want)
		}
	}
	job := names[4]
	check(job, 0, "spec", "backoffLimit")
	check(job, "Never", "spec", "template", "spec", "restartPolicy")
	check(
		job,
		"[run -fleet-keys /etc/plimsoll/fleet/fleet.json -fleet-listen 0.0.0.0:4222 -store /store /etc/plimsoll/plan/plan.yaml]",
		"spec",
		"template",
		"spec",
		"containers",
		0,
		"args",
	)
	for i, agent := range names[1:4] {
		check(agent, 1, "spec", "replicas")
		check(agent, "Recreate", "spec", "strategy", "type")
		check(
			agent,
			"[agent -join nats://night-plimsoll:4222 -token-file /etc/plimsoll/agent/agent.nk]",
			"spec",
			"template",
			"spec",
			"containers",
			0,
			"args",
		)
		check(
			agent,
			fmt.Sprintf("[map[key:agent-%d.nk path:agent.nk]]", i),
			"spec",
			"template",
			"spec",
			"volumes",
			0,
			"secret",
			"items",
		)
		check(agent, "<nil>", "spec", "template", "spec", "containers", 0, "ports")
		spread := []any{"spec", "template", "spec", "topologySpreadConstraints", 0}
		check(agent, "kubernetes.io/hostname", append(spread, "topologyKey")...)
		check(agent, 1, append(spread, "maxSkew")...)
		check(
			agent,
			"agent",
			append(spread, "labelSelector", "matchLabels", "app.kubernetes.io/component")...)
		check(agent, "<nil>", append(spread, "labelSelector", "matchLabels", "plimsoll/agent")...)
	}
	for _, pod := range names[1:5] {
		spec := []any{"spec", "template", "spec"}
		in := func(want any, path ...any) {
			t.Helper()
			check(pod, want, append(slices.Clone(spec), path...)...)
		}
		in(false, "automountServiceAccountToken")
		in(true, "securityContext", "runAsNonRoot")
		in(65534, "securityContext", "runAsUser")
		in("RuntimeDefault", "securityContext", "seccompProfile", "type")
		in(
			"map[allowPrivilegeEscalation:false capabilities:map[drop:[ALL]] privileged:false readOnlyRootFilesystem:true]",
			"containers",
			0,
			"securityContext",
		)
		in("images.example/plimsoll:v1", "containers", 0, "image")
		resources := all[pod].at(append(slices.Clone(spec), "containers", 0, "resources")...)
		limits := manifest(resources.(map[string]any)).at("limits")
		requests := manifest(resources.(map[string]any)).at("requests")
		if limits == nil || fmt.Sprint(limits) != fmt.Sprint(requests) ||
			manifest(limits.(map[string]any)).at("cpu") != "2" {
			t.Errorf(
				"%s: limits %v, requests %v: the class is not Guaranteed with whole cores",
				pod,
				limits,
				requests,
			)
		}
		in("<nil>", "containers", 1)
		in("<nil>", "initContainers")
	}
	policy := "NetworkPolicy/night-plimsoll-agents"
	check(policy, "[Ingress Egress]", "spec", "policyTypes")
	check(policy, "[]", "spec", "ingress")
	check(
		policy,
		"coordinator",
		"spec",
		"egress",
		0,
		"to",
		0,
		"podSelector",
		"matchLabels",
		"app.kubernetes.io/component",
	)
	check(policy, "10.1.2.0/24", "spec", "egress", 2, "to", 0, "ipBlock", "cidr")
	check(policy, "2001:db8::/64", "spec", "egress", 3, "to", 0, "ipBlock", "cidr")
	check(policy, "<nil>", "spec", "egress", 4)
	check(
		"NetworkPolicy/night-plimsoll-coordinator",
		"agent",
		"spec",
		"ingress",
		0,
		"from",
		0,
		"podSelector",
		"matchLabels",
		"app.kubernetes.io/component",
	)
	check("NetworkPolicy/night-plimsoll-coordinator", "<nil>", "spec", "ingress", 1)
	check("Service/night-plimsoll", 4222, "spec", "ports", 0, "port")
	check(
		"Service/night-plimsoll",
		"coordinator",
		"spec",
		"selector",
		"app.kubernetes.io/component",
	)
	// What the service selects has its labels.
	for key, want := range all["Service/night-plimsoll"].at("spec", "selector").(map[string]any) {
		check(job, want, "spec", "template", "metadata", "labels", key)
	}
}

// TestChartSysctls: the settings of a pod's network equal the settings of a host, as far as the
// kubelet lets a pod set them.
func TestChartSysctls(t *testing.T) {
	b, err := os.ReadFile("systemd/90-plimsoll-agent.conf")
	if err != nil {
		t.Fatal(err)
	}
	host := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			host[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	list, _ := manifests(t)["Deployment/night-plimsoll-agent-0"].at("spec", "template", "spec", "securityContext", "sysctls").([]any)
	if len(list) != 4 {
		t.Errorf("%d settings, want 4: %v", len(list), list)
	}
	for _, s := range list {
		s := s.(map[string]any)
		if want := host[s["name"].(string)]; want == "" || want != s["value"] {
			t.Errorf("%v: the host's is %q", s, want)
		}
	}
}
