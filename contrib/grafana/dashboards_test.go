package grafana

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// dashboard is the part of Grafana's schema that ours use.
type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Time          struct{ From, To string }
	Templating    struct {
		List []struct {
			Name, Type string
			Query      json.RawMessage
			Definition string
		}
	}
	Annotations struct{ List []struct{ Expr string } }
	Panels      []struct {
		ID          int
		Type, Title string
		Repeat      string
		GridPos     struct{ H, W, X, Y int }
		Datasource  struct{ Type, UID string }
		FieldConfig struct {
			Defaults struct{ Unit string }
		}
		Targets []struct {
			RefID, Expr string
			Datasource  struct{ Type, UID string }
		}
	}
}

// TestDashboards holds each dashboard to Grafana's form, and parses every query. Whether a run has
// their metrics is tested with runs, in cmd/verbs.
func TestDashboards(t *testing.T) {
	prom := parser.NewParser(parser.Options{})
	variables := strings.NewReplacer("$__rate_interval", "5s", "$run", ".*", "$rule", ".*")
	labelValues := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for f, b := range map[string][]byte{"system-metrics": System, "coordinator": Coordinator} {
		var d dashboard
		if err := json.Unmarshal(b, &d); err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 || d.Time.From == "" ||
			len(d.Panels) < 15 {
			t.Errorf("%s: uid %q, title %q, schema %d, time %v, %d panels",
				f, d.UID, d.Title, d.SchemaVersion, d.Time, len(d.Panels))
		}
		queries := map[string]string{}
		known := map[string]bool{"__rate_interval": true}
		for _, v := range d.Templating.List {
			known[v.Name] = true
			if v.Type != "query" {
				continue
			}
			m := labelValues.FindStringSubmatch(v.Definition)
			if m == nil {
				t.Errorf("%s: variable %s: %q", f, v.Name, v.Definition)
				continue
			}
			queries["variable "+v.Name] = m[1]
		}
		for i, a := range d.Annotations.List {
			queries[fmt.Sprint("annotation ", i)] = a.Expr
		}
		ids := map[int]bool{}
		taken := map[[2]int]string{}
		for _, p := range d.Panels {
			g := p.GridPos
			if ids[p.ID] || p.ID <= 0 || p.Title == "" || g.W <= 0 || g.H <= 0 || g.X < 0 ||
				g.X+g.W > 24 {
				t.Errorf("%s: panel %d %q: id or place %+v", f, p.ID, p.Title, g)
			}
			ids[p.ID] = true
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" {
						t.Fatalf("%s: panels %q and %q lie on one another", f, other, p.Title)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type == "row" {
				continue
			}
			if p.Type != "timeseries" && p.Type != "state-timeline" ||
				p.FieldConfig.Defaults.Unit == "" ||
				len(p.Targets) == 0 ||
				p.Datasource.UID != "${datasource}" ||
				p.Repeat != "" && !known[p.Repeat] {
				t.Errorf("%s: panel %q is incomplete: %+v", f, p.Title, p)
			}
			refs := map[string]bool{}
			for _, q := range p.Targets {
				if refs[q.RefID] || q.RefID == "" || q.Datasource.Type != "prometheus" {
					t.Errorf("%s: panel %q: query %+v", f, p.Title, q)
				}
				refs[q.RefID] = true
				queries[p.Title+" "+q.RefID] = q.Expr
			}
		}
		for _, name := range slices.Sorted(maps.Keys(queries)) {
			for _, v := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(queries[name], -1) {
				if !known[v[1]] {
					t.Errorf("%s: %s: no variable %s", f, name, v[1])
				}
			}
			if _, err := prom.ParseExpr(variables.Replace(queries[name])); err != nil {
				t.Errorf("%s: %s: %v", f, name, err)
			}
		}
	}
}
