package names

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// named returns functions with these names.
func named(all ...string) []Observed {
	functions := make([]Observed, len(all))
	for i, name := range all {
		unknown := Edge{Function: -1, Weight: 100}
		functions[i] = Observed{Name: name, Binary: "server", Callers: []Edge{unknown}}
	}
	return functions
}

// found is a pair by its names; renamed ones have a mark.
func found(base, fresh []Observed) map[string]string {
	pairs := map[string]string{}
	for _, p := range Match(base, fresh) {
		mark := ""
		if p.Renamed {
			mark = "~"
		}
		pairs[base[p.Base].Name] = mark + fresh[p.Fresh].Name
	}
	return pairs
}

func TestMatchByName(t *testing.T) {
	const old = "github.com/mattermost/mattermost-server/v6/"
	const fresh = "github.com/mattermost/mattermost/server/v8/"
	for _, tt := range []struct {
		name        string
		base, fresh []string
		want        map[string]string
	}{
		{
			"the same", []string{"a.F", "a.G"}, []string{"a.G", "a.F", "a.H"},
			map[string]string{"a.F": "a.F", "a.G": "a.G"},
		},
		{
			"an instance",
			[]string{"a.F[go.shape.int]"},
			[]string{"a.F[...]"},
			map[string]string{"a.F[go.shape.int]": "a.F[...]"},
		},
		{
			"a part of a C function", []string{"f.constprop.0"}, []string{"f.isra.0"},
			map[string]string{"f.constprop.0": "f.isra.0"},
		},
		{
			"a version", []string{old + "app.F", "gopkg.in/yaml%2ev2.F"},
			[]string{
				"github.com/mattermost/mattermost-server/v7/app.F",
				"gopkg.in/yaml%2ev3.F",
			},
			map[string]string{
				old + "app.F":          "~github.com/mattermost/mattermost-server/v7/app.F",
				"gopkg.in/yaml%2ev2.F": "~gopkg.in/yaml%2ev3.F",
			},
		},
		{
			"two versions in one build", []string{"x/zap/v11.F", "x/zap/v12.F"},
			[]string{"x/zap/v13.F", "x/zap/v14.F"}, map[string]string{},
		},
		{
			"the module path",
			[]string{
				old + "app.(*App).CreatePost", old + "app.(*App).GetPost", old + "app.New",
				old + "store/sqlstore.New", old + "model.New", old + "model.NewId",
			},
			[]string{
				fresh + "channels/app.(*App).CreatePost", fresh + "channels/app.(*App).GetPost",
				fresh + "channels/app.New", fresh + "boards/app.New",
				fresh + "channels/store/sqlstore.New",
				"github.com/mattermost/mattermost/server/public/model.New",
				"github.com/mattermost/mattermost/server/public/model.NewId",
			},
			map[string]string{
				old + "app.(*App).CreatePost": "~" + fresh + "channels/app.(*App).CreatePost",
				old + "app.(*App).GetPost":    "~" + fresh + "channels/app.(*App).GetPost",
				old + "app.New":               "~" + fresh + "channels/app.New",
				old + "store/sqlstore.New":    "~" + fresh + "channels/store/sqlstore.New",
				old + "model.New":             "~github.com/mattermost/mattermost/server/public/model.New",
				old + "model.NewId":           "~github.com/mattermost/mattermost/server/public/model.NewId",
			},
		},
		{
			"two packages that it could be", []string{"a/x/app.New"},
			[]string{"b/y/app.New", "b/z/app.New"}, map[string]string{},
		},
		{
			"a pointer", []string{"a.T.M"}, []string{"a.(*T).M"},
			map[string]string{"a.T.M": "~a.(*T).M"},
		},
		{
			"a name that only sounds alike", []string{"a.New"}, []string{"b.New"},
			map[string]string{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := found(named(tt.base...), named(tt.fresh...))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMatchTellsBinariesApart(t *testing.T) {
	base := []Observed{{Name: "memcpy", Binary: "libc.so.6"}, {Name: "memcpy", Binary: "server"}}
	fresh := []Observed{{Name: "memcpy", Binary: "server"}, {Name: "memcpy", Binary: "libc.so.6"}}
	want := []Pair{{Base: 0, Fresh: 1}, {Base: 1, Fresh: 0}}
	if diff := cmp.Diff(want, Match(base, fresh)); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}
