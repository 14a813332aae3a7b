package agents_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const chartDir = "helm/plimsoll"

// kubernetes is the version whose schemas the manifests are validated with; kubernetes-validate has
// the same number.
const kubernetes = "1.37.0"

// values sets what the chart requires. A test changes them by the path of a value.
func values(t *testing.T, changes map[string]any) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.Unmarshal([]byte(`
image: {repository: images.example/plimsoll, tag: v1}
plan: |
  name: chart
  target: {driver: external}
targets: [{cidr: 10.1.2.0/24, ports: [443]}, {cidr: "2001:db8::/64", ports: [443, 9443]}]
coordinator: {tokenSecret: fleet, envSecret: secrets, storeClaim: store}
agents: {count: 3, tokenSecret: tokens}
trustConfigMap: trust
`), &v); err != nil {
		t.Fatal(err)
	}
	for path, to := range changes {
		keys := strings.Split(path, ".")
		at := v
		for _, k := range keys[:len(keys)-1] {
			at = at[k].(map[string]any)
		}
		at[keys[len(keys)-1]] = to
	}
	return v
}

// render is helm template: it returns the text of each file of the chart in dir.
func render(t *testing.T, dir string, with map[string]any) (map[string]string, error) {
	t.Helper()
	chart, err := loader.LoadDir(dir)
	if err != nil {
		return nil, err
	}
	version, err := common.ParseKubeVersion(kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	can := common.DefaultCapabilities.Copy()
	can.KubeVersion = *version
	all, err := util.ToRenderValues(chart, with, common.ReleaseOptions{
		Name:      "night",
		Namespace: "load",
		Revision:  2,
		IsUpgrade: true,
	}, can)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// warnings is helm lint: everything that it has to say, beyond the advice to add an icon.
func warnings(t *testing.T, dir string, with map[string]any) []string {
	t.Helper()
	version, err := common.ParseKubeVersion(kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range lint.RunAll(dir, with, "load", lint.WithKubeVersion(version)).Messages {
		if m.Severity > support.InfoSev {
			all = append(all, m.Error())
		}
	}
	return all
}

// written puts the manifests of a rendered chart into a file each, and returns their paths.
func written(t *testing.T, texts map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if filepath.Ext(name) != ".yaml" || strings.TrimSpace(texts[name]) == "" {
			continue
		}
		path := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(path, []byte(texts[name]), 0o644); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// validate returns the complaint of kubernetes-validate about manifests. An object of a version
// that it does not know is a warning to it, with status 0; here it is a complaint.
func validate(t *testing.T, paths ...string) string {
	t.Helper()
	_, out, err := run(
		t,
		tool(t, "kubernetes-validate/bin/kubernetes-validate"),
		append([]string{"--strict", "-k", kubernetes}, paths...)...)
	if err != nil {
		return out + err.Error()
	}
	var bad []string
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "INFO ") || !strings.Contains(line, " passed for resource ") {
			bad = append(bad, line)
		}
	}
	if passed := strings.Count(out, " passed for resource "); passed < len(paths) {
		bad = append(bad, fmt.Sprintf("%d objects of %d files were validated", passed, len(paths)))
	}
	return strings.Join(bad, "")
}

func TestChart(t *testing.T) {
	if bad := warnings(t, chartDir, values(t, nil)); len(bad) > 0 {
		t.Errorf("helm lint:\n%s", strings.Join(bad, "\n"))
	}
	full, err := render(t, chartDir, values(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	least, err := render(t, chartDir, values(t, map[string]any{
		"coordinator.envSecret":  "",
		"coordinator.storeClaim": "",
		"trustConfigMap":         "",
		"agents.count":           1,
		"agents.sysctls":         nil,
		"image.tag":              "sha256:" + strings.Repeat("0a", 32),
	}))
	if err != nil {
		t.Fatal(err)
	}
	a, b := written(t, full), written(t, least)
	if len(a) != 4 || len(b) != 4 {
		t.Fatalf("%d and %d files of manifests, want 4: %q, %q", len(a), len(b), a, b)
	}
	if bad := validate(t, append(a, b...)...); bad != "" {
		t.Errorf("kubernetes-validate: %s", bad)
	}
	for _, want := range []string{"job/night-plimsoll-run-2", "3 agents"} {
		if !strings.Contains(full["plimsoll/templates/NOTES.txt"], want) {
			t.Errorf("the notes lack %q: %s", want, full["plimsoll/templates/NOTES.txt"])
		}
	}
}

// Values that are missing or wrong are errors that name them.
func TestChartValues(t *testing.T) {
	for name, tt := range map[string]struct {
		path string
		to   any
		want string
	}{
		"no repository":       {"image.repository", "", "image.repository: set"},
		"no tag":              {"image.tag", "", "image.tag: set"},
		"no plan":             {"plan", "", "plan: set"},
		"no targets":          {"targets", []any{}, "targets: set"},
		"no key of the fleet": {"coordinator.tokenSecret", "", "coordinator.tokenSecret: set"},
		"no tokens":           {"agents.tokenSecret", "", "agents.tokenSecret: set"},
		"a verb of no run":    {"coordinator.verb", "demo", "/coordinator/verb"},
		"half a core":         {"agents.cores", 0.5, "/agents/cores"},
		"memory without unit": {"agents.memory", "4", "/agents/memory"},
		"no agents":           {"agents.count", 0, "/agents/count"},
		"a key that is wrong": {"agents.replicas", 2, "replicas"},
		"a target with a name": {"targets", []any{map[string]any{
			"cidr":  "chat.example",
			"ports": []any{443},
		}}, "/targets/0/cidr"},
		"a target without port": {"targets", []any{map[string]any{
			"cidr":  "10.0.0.0/8",
			"ports": []any{},
		}},
			"/targets/0/ports"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := render(t, chartDir, values(t, map[string]any{tt.path: tt.to})); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want an error with %q", err, tt.want)
			}
		})
	}
	if _, err := render(t, chartDir, nil); err == nil {
		t.Error("the chart renders without any value set")
	}
}

// A chart with a fault is refused by at least one of the checks, as named.
func TestChartFaults(t *testing.T) {
	for name, tt := range map[string]struct{ file, old, new, by string }{
		"a field that does not exist": {"coordinator.yaml", "backoffLimit: 0", "backoffLimits: 0", "validate"},
		"a type that is wrong":        {"coordinator.yaml", "parallelism: 1", "parallelism: one", "validate"},
		"an old API":                  {"network.yaml", "networking.k8s.io/v1", "networking.k8s.io/v1beta9", "validate"},
		"a selector left out":         {"agents.yaml", "  replicas: 1", "  replica: 1", "validate"},
		"a template that is not":      {"agents.yaml", "{{- end }}", "", "render"},
		"a value that does not exist": {"coordinator.yaml", ".Values.coordinator.verb", ".Values.leader.verb", "render"},
		"a name that is none":         {"plan.yaml", `{{ include "plimsoll.name" . }}-plan`, "Plan_1", "lint"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "plimsoll")
			if err := os.CopyFS(dir, os.DirFS(chartDir)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "templates", tt.file)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			broken := strings.Replace(string(b), tt.old, tt.new, 1)
			if broken == string(b) {
				t.Fatalf("%s has no %q", tt.file, tt.old)
			}
			if err := os.WriteFile(path, []byte(broken), 0o644); err != nil {
				t.Fatal(err)
			}
			switch tt.by {
			case "lint":
				if bad := warnings(t, dir, values(t, nil)); len(bad) == 0 {
					t.Error("helm lint accepts it")
				}
			case "render":
				if _, err := render(t, dir, values(t, nil)); err == nil {
					t.Error("helm template accepts it")
				}
				if bad := warnings(t, dir, values(t, nil)); len(bad) == 0 {
					t.Error("helm lint accepts it")
				}
			case "validate":
				texts, err := render(t, dir, values(t, nil))
				if err != nil {
					t.Fatal(err)
				}
				if validate(t, written(t, texts)...) == "" {
					t.Error("kubernetes-validate accepts it")
				}
			}
		})
	}
}
