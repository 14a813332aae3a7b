package dialect

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"plimsoll/load/workload"
	"plimsoll/plan"
)

// two dialects: of a chat and of a feed.
func two() Set {
	settings := func(known ...string) Settings {
		params := map[string]string{}
		for _, k := range known {
			params[k] = "of a test"
		}
		return Settings{Params: params, Secrets: map[string]string{"token": ""},
			Check: func(values map[string]string) error {
				var errs []error
				for k, v := range values {
					if _, ok := params[k]; !ok {
						errs = append(errs, UnknownSetting(k, params))
					} else if v == "bad" {
						errs = append(errs, &SettingError{k, "is bad"})
					}
				}
				return errors.Join(errs...)
			}}
	}
	graph := func(name, query string, own bool) GraphQuery {
		return GraphQuery{
			Name:    name,
			Sources: []GraphSource{{Query: query}},
			Needs:   query,
			Own:     own,
		}
	}
	some := func() workload.Behavior { return nil }
	return Set{
		{Name: "chat", Title: "the chat", Behaviors: Registry{"talker": some, "lurker": some},
			Drivers:  []ServerDriver{{Name: "refchat", Metrics: "/metrics"}, {Name: "refnull"}},
			Settings: settings("team"),
			Graphs: []GraphQuery{graph("rps", "chat_requests", false),
				graph("devices", "chat_devices", false)},
			Rules: func(_ *plan.Plan, scraped bool) []string {
				if scraped {
					return []string{"promql: chat_errors < 1"}
				}
				return nil
			}},
		{Name: "feed", Title: "the feed", Behaviors: Registry{"reader": some},
			Drivers:  []ServerDriver{{Name: "feed", NeedsDatabase: true}},
			Settings: settings("preset"),
			Graphs: []GraphQuery{graph("rps", "feed_requests", false),
				graph("stories", "feed_stories", true)}},
		{Name: "script", Title: "any server", Any: true, Behaviors: Registry{"script": some}},
	}
}

// TestGraphsOfTwoDialects holds that a graph that two dialects have is one with the sources of
// both, that only the reports on a dialect's own drivers have its own graphs, and that the
// dialects' values stay as they are.
func TestGraphsOfTwoDialects(t *testing.T) {
	s := two()
	for driver, want := range map[string]string{
		"external": "rps:chat_requests or feed_requests devices:chat_devices",
		"refchat":  "rps:chat_requests or feed_requests devices:chat_devices",
		"feed":     "rps:chat_requests or feed_requests devices:chat_devices stories:feed_stories",
	} {
		for range 2 {
			var got []string
			for _, g := range s.Graphs(driver) {
				var queries []string
				for _, x := range g.Sources {
					queries = append(queries, x.Query)
				}
				if text := strings.Join(queries, " or "); text != g.Needs {
					t.Errorf("%s of %s: asks %q, needs %q", g.Name, driver, text, g.Needs)
				}
				got = append(got, g.Name+":"+g.Needs)
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%s: %s, want %s", driver, text, want)
			}
		}
	}
}

func TestOfBehaviorsAndDrivers(t *testing.T) {
	s := two()
	for _, tt := range []struct {
		behaviors []string
		want      string
		err       error
	}{
		{[]string{"talker", "lurker"}, "chat", nil},
		{[]string{"reader"}, "feed", nil},
		{[]string{"talker", "reader"}, "", ErrMixed},
		{[]string{"script"}, "script", nil},
		{[]string{"script", "talker"}, "chat", nil},
		{[]string{"reader", "script"}, "feed", nil},
		{[]string{"talker", "script", "reader"}, "", ErrMixed},
	} {
		d, err := s.Of(tt.behaviors)
		if !errors.Is(err, tt.err) || (d != nil) != (err == nil) || d != nil && d.Name != tt.want {
			t.Errorf("%v: %v, %v; want %s, %v", tt.behaviors, d, err, tt.want, tt.err)
		}
	}
	if d, err := s.Of([]string{"talker", "nobody"}); d != nil || err == nil ||
		errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("of an unknown behavior: %v, %v", d, err)
	}
	if got := s.Drivers(); !slices.Equal(got, []string{"refchat", "refnull", "feed"}) {
		t.Errorf("drivers %q", got)
	}
	if s.OfDriver("external") != nil || s.OfDriver("refnull").Name != "chat" {
		t.Error("a driver has the wrong dialect")
	}
	if d, ok := s.Driver("feed"); !ok || !d.NeedsDatabase {
		t.Errorf("the driver feed is %+v, %v", d, ok)
	}
}

// TestOfPlanOfAScript: what knows the server is the dialect of the users beside, or of the driver.
func TestOfPlanOfAScript(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ behavior, with, driver, want string }{
		{"script", "", "external", "script"},
		{"script", "", "feed", "feed"},
		{"script", "talker", "external", "chat"},
		{"talker", "script", "external", "chat"},
	} {
		p := &plan.Plan{Target: plan.Target{Driver: tt.driver},
			Workload: plan.Workload{Behavior: tt.behavior, With: map[string]float64{tt.with: 0.5}}}
		if tt.with == "" {
			p.Workload.With = nil
		}
		if d := two().OfPlan(p); d == nil || d.Name != tt.want {
			t.Errorf("%s with %s on %s: %+v", tt.behavior, tt.with, tt.driver, d)
		}
	}
}

// TestRefusalsOfAPlan holds that each error of a plan that only the dialects know has its place and
// the remedy.
func TestRefusalsOfAPlan(t *testing.T) {
	for _, tt := range []struct {
		name, behavior, with, driver, engine string
		params                               map[string]string
		path, text                           string
	}{
		{name: "good", behavior: "talker", with: "lurker", driver: "refchat",
			params: map[string]string{"team": "x", "token": "${ENV:T}"}},
		{name: "unknown behavior", behavior: "nobody", driver: "refchat",
			params: map[string]string{"nothing": "x"}},
		{
			name:     "two kinds",
			behavior: "talker",
			with:     "reader",
			driver:   "external",
			path:     "workload.with",
			text:     "do not go together: reader, talker; want those of one",
		},
		{name: "unknown setting", behavior: "talker", driver: "external",
			params: map[string]string{"preset": "x"}, path: "workload.params.preset",
			text: "is unknown; there are team"},
		{name: "unknown secret", behavior: "talker", driver: "external",
			params: map[string]string{"tokn": "${ENV:T}"}, path: "workload.params.tokn",
			text: "as a reference to a secret; there are token"},
		{name: "another driver", behavior: "reader", driver: "refnull", path: "workload.behavior",
			text: "than the driver refnull; want one of lurker, talker"},
		{name: "no database", behavior: "reader", driver: "feed", path: "database.engine",
			text: "the feed needs a database"},
		{name: "a database", behavior: "reader", driver: "feed", engine: "mysql"},
		{name: "a script", behavior: "script", driver: "refchat",
			params: map[string]string{"ROOM": "x", "API_KEY": "${ENV:K}", "team": "x"}},
		{name: "a script beside", behavior: "talker", with: "script", driver: "refchat",
			params: map[string]string{"ROOM": "x", "token": "${ENV:T}"}},
		{name: "a script with a bad setting", behavior: "talker", with: "script", driver: "external",
			params: map[string]string{"team": "bad"}, path: "workload.params.team", text: "bad"},
		{name: "a script on a server without its database", behavior: "script", driver: "feed",
			path: "database.engine", text: "the feed needs a database"},
		{name: "a script beside another kind", behavior: "talker", with: "script", driver: "feed",
			engine: "mysql", path: "workload.behavior", text: "than the driver feed"},
	} {
		p := &plan.Plan{Target: plan.Target{Driver: tt.driver},
			Workload: plan.Workload{Behavior: tt.behavior, Params: tt.params}}
		if tt.with != "" {
			p.Workload.With = map[string]float64{tt.with: 0.5}
		}
		if tt.engine != "" {
			p.Database.Engine = []string{tt.engine}
		}
		got := two().CheckPlan(p)
		if tt.path == "" {
			if len(got) > 0 {
				t.Errorf("%s: %v", tt.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Path != tt.path || !strings.Contains(got[0].Text, tt.text) {
			t.Errorf("%s: %v, want %s %s", tt.name, got, tt.path, tt.text)
		}
	}
}

// TestRulesOfASearch holds that a dialect is asked for rules of the server's metrics only where
// these are read.
func TestRulesOfASearch(t *testing.T) {
	for driver, want := range map[string]bool{
		"refchat":  true,
		"refnull":  false,
		"external": false,
	} {
		p := &plan.Plan{
			Target:    plan.Target{Driver: driver},
			Workload:  plan.Workload{Behavior: "talker"},
			Unbounded: &plan.Unbounded{MaxUsers: 1},
		}
		rules := two().WithDefaultRules(p).Unbounded.SLO
		if got := slices.ContainsFunc(rules, func(r plan.SLO) bool {
			return strings.Contains(r.Source, "chat_errors")
		}); got != want || len(rules) < 5 {
			t.Errorf("%s: %v", driver, rules)
		}
	}
}
