package evidence

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"plimsoll/judge/comparison"
	"plimsoll/plan"
	"plimsoll/record"
)

// storedEndpoints are the figures of a stored run that are judged: the primary endpoints of a plan.
func storedEndpoints() []plan.Endpoint {
	var out []plan.Endpoint
	for _, name := range []string{"capacity", "p95(post)", "p99(op)", "p95(delivery)", "errors", "cost(app)", "cost(db)"} {
		if e, err := plan.ParseEndpoint(name); err == nil {
			out = append(out, e)
		}
	}
	return out
}

// Figures returns the numbers of the run that a verdict can rest on, in the form of another tool's.
func (r *Run) Figures(ctx context.Context) (record.Imported, error) {
	m := r.Manifest
	g := record.Imported{Source: "run " + m.ID, Tool: "plimsoll", Database: m.Engine,
		Lacks: map[string]string{}}
	if p, err := r.Plan(); err == nil {
		g.ErrorMargin = 100 * p.ErrorMargin().Value
	}
	var tests []string
	if ph, ok := m.Phase("measure"); ok {
		tests = append(tests,
			fmt.Sprintf("bounded, %d users for %v", ph.Users, (ph.To-ph.From).Round(time.Second)))
	}
	if _, ok := m.Phase("search"); ok {
		tests = append(tests, "unbounded")
	}
	g.Test = strings.Join(tests, " and ") + r.asked()
	endpoints := storedEndpoints()
	n, err := comparison.NumbersOf(r.Run, endpoints, r.catalog.Costs(ctx))
	if err != nil {
		return g, err
	}
	for _, e := range endpoints {
		v := n.Values[e.Name]
		if math.IsNaN(v) {
			switch {
			case e.Name == "capacity" && n.Unstable:
				g.Unstable = n.Why[e.Name]
			case e.Name != "capacity" || m.Capacity != nil: // a bounded test has no capacity
				g.Lacks[e.Name] = n.Why[e.Name]
			}
			continue
		}
		f := record.Figure{Name: e.Name, Value: v, Unit: e.Unit,
			AtLeast: e.Name == "capacity" && n.Censored}
		if e.Name == "errors" {
			f.Ops = n.Ops
		}
		g.Figures = append(g.Figures, f)
	}
	if (g.Unstable != "" || g.Lacks["capacity"] != "") && len(g.Figures) == 0 {
		return g, nil // its search is counted
	}
	return g, g.Check()
}

// loadOf is the load of a plan without addresses and places, which differ between servers, and
// without accounts.
func loadOf(p *plan.Plan) plan.Workload {
	w := p.Workload
	w.Params = nil
	w.UsersFile = ""
	w.UsersDigest = ""
	w.Script = ""
	return w
}

// asked identifies the task of a run's plan: the rules that decide a search, and a short digest of
// the users' settings and of the content of their file of accounts. Runs with different ones are
// not comparable. It is empty for a plan that this version cannot read.
func (r *Run) asked() string {
	p, err := r.Plan()
	if err != nil {
		return ""
	}
	w := loadOf(p)
	if r.Manifest.Accounts != nil {
		w.UsersFile = r.Manifest.Accounts.Digest
	}
	what, err := json.Marshal(w)
	if err != nil {
		return ""
	}
	sum, rules := sha256.Sum256(what), ""
	if _, ok := r.Manifest.Phase("search"); ok && p.Unbounded != nil {
		for _, rule := range p.Unbounded.SLO {
			rules += rule.Source + "; "
		}
	}
	return fmt.Sprintf(", %sworkload %x", rules, sum[:4])
}
