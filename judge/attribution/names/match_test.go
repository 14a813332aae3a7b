package names

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// named returns functions with these names.
func named(all ...string) []Routine {
	functions := make([]Routine, len(all))
	for i, name := range all {
		unknown := Edge{Function: -1, Weight: 100}
		functions[i] = Routine{Name: name, Binary: "server", Callers: []Edge{unknown}}
	}
	return functions
}

// found is a pair by its names; renamed ones have a mark.
func found(base, fresh []Routine) map[string]string {
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
	const old = "example.com/chat/chat-server/v6/"
	const fresh = "example.com/chat/chat/server/v8/"
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
				"example.com/chat/chat-server/v7/app.F",
				"gopkg.in/yaml%2ev3.F",
			},
			map[string]string{
				old + "app.F":          "~example.com/chat/chat-server/v7/app.F",
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
				"example.com/chat/chat/server/public/model.New",
				"example.com/chat/chat/server/public/model.NewId",
			},
			map[string]string{
				old + "app.(*App).CreatePost": "~" + fresh + "channels/app.(*App).CreatePost",
				old + "app.(*App).GetPost":    "~" + fresh + "channels/app.(*App).GetPost",
				old + "app.New":               "~" + fresh + "channels/app.New",
				old + "store/sqlstore.New":    "~" + fresh + "channels/store/sqlstore.New",
				old + "model.New":             "~example.com/chat/chat/server/public/model.New",
				old + "model.NewId":           "~example.com/chat/chat/server/public/model.NewId",
			},
		},
		{
			"two packages that it could be", []string{"a/x/app.New"},
			[]string{"b/y/app.New", "b/z/app.New"}, map[string]string{},
		},
		{
			"packages of which too few functions are the same",
			[]string{"a/x/app.A", "a/x/app.B", "a/x/app.C"},
			[]string{"b/y/app.A", "b/y/app.D", "b/y/app.E"}, map[string]string{},
		},
		{
			"a package that follows the others of its module",
			[]string{
				"x/old/app.A", "x/old/app.B", "x/old/store.C", "x/old/store.D",
				"x/old/util.New",
			},
			[]string{
				"y/new/app.A", "y/new/app.B", "y/new/store.C", "y/new/store.D",
				"y/new/util.New", "z/util.New",
			},
			map[string]string{
				"x/old/app.A": "~y/new/app.A", "x/old/app.B": "~y/new/app.B",
				"x/old/store.C": "~y/new/store.C", "x/old/store.D": "~y/new/store.D",
				"x/old/util.New": "~y/new/util.New",
			},
		},
		{
			"a receiver", []string{"a.(*T).A", "a.(*T).B", "a.(*T).C"},
			[]string{"a.(*U).A", "a.(*U).B", "a.(*U).C"},
			map[string]string{
				"a.(*T).A": "~a.(*U).A", "a.(*T).B": "~a.(*U).B", "a.(*T).C": "~a.(*U).C",
			},
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
	base := []Routine{{Name: "memcpy", Binary: "libc.so.6"}, {Name: "memcpy", Binary: "server"}}
	fresh := []Routine{{Name: "memcpy", Binary: "server"}, {Name: "memcpy", Binary: "libc.so.6"}}
	want := []Counterpart{{Base: 0, Fresh: 1}, {Base: 1, Fresh: 0}}
	if diff := cmp.Diff(want, Match(base, fresh)); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
}

func TestPackagesOfFewSamplesDoNotMove(t *testing.T) {
	base := []Routine{{Name: "a/x/app.New", Own: leastSamples - 1}}
	fresh := []Routine{{Name: "b/y/app.New", Own: leastSamples - 1}}
	if got := Match(base, fresh); len(got) > 0 {
		t.Errorf("pairs %v, want none", got)
	}
	base[0].Own, fresh[0].Own = leastSamples, leastSamples
	if got := Match(base, fresh); len(got) != 1 {
		t.Errorf("pairs %v, want one", got)
	}
}

// TestMatchOtherBinary pairs functions of programs with other base names by their names, or by name
// and file where a name is there twice.
func TestMatchOtherBinary(t *testing.T) {
	const library = "encoding/json.Marshal"
	build := func(binary string, files ...string) []Routine {
		all := []Routine{{Name: library, File: "encoding/json/encode.go", Binary: binary}}
		for _, file := range files {
			all = append(all, Routine{Name: "runtime.sysmon", File: file, Binary: binary, Fixed: true})
		}
		return all
	}
	const one, two = "runtime/lockrank_off.go", "runtime/proc.go"
	for _, tt := range []struct {
		base, fresh []Routine
		want        []Counterpart
	}{
		{build("server", one), build("server-b", two), []Counterpart{{Base: 0, Fresh: 0}, {Base: 1, Fresh: 1}}},
		{build("server", one, two), build("server-b", two, one), []Counterpart{
			{Base: 0, Fresh: 0}, {Base: 1, Fresh: 2}, {Base: 2, Fresh: 1}}},
		{build("server", one, two), build("server-b", two), []Counterpart{{Base: 0, Fresh: 0}, {Base: 2, Fresh: 1}}},
	} {
		if d := cmp.Diff(tt.want, Match(tt.base, tt.fresh)); d != "" {
			t.Errorf("%v and %v (-want +got):\n%s", tt.base, tt.fresh, d)
		}
	}
}

// TestClosureWhoseWorkBecameAFunction pairs a closure with itself where what it called is called by
// a new function now, and not where the new function calls something else.
func TestClosureWhoseWorkBecameAFunction(t *testing.T) {
	const closure, helper, encode, other = "app.(*Task).run.func1", "imaging.(*Encoder).Encode",
		"image/jpeg.Encode", "image/png.Encode"
	calls := func(names ...string) []Routine {
		all := []Routine{{Name: encode, Own: 20}, {Name: other, Own: 20}}
		for i, name := range names {
			to := len(all) + 1
			if i == len(names)-1 {
				to = 0
			}
			all = append(all, Routine{Name: name, Callees: []Edge{{Function: to, Weight: 20}}})
		}
		return all
	}
	base, fresh := calls(closure), calls(closure, helper)
	want := []Counterpart{{Base: 0, Fresh: 0}, {Base: 1, Fresh: 1}, {Base: 2, Fresh: 2}}
	if d := cmp.Diff(want, Match(base, fresh)); d != "" {
		t.Errorf("pairs (-want +got):\n%s", d)
	}
	fresh[3].Callees[0].Function = 1
	if d := cmp.Diff(want[:2], Match(base, fresh)); d != "" {
		t.Errorf("pairs of a closure that does something else (-want +got):\n%s", d)
	}
}
