package names

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

var nan, inf = math.NaN(), math.Inf(1)

// call adds n samples of one function calling another.
func call(functions []Routine, from, to int, n float64) {
	functions[from].Callees = append(functions[from].Callees, Edge{to, n})
	functions[to].Callers = append(functions[to].Callers, Edge{from, n})
}

// tree returns functions that a root calls, each of which calls the leaves that it is given.
func tree(leaves int, calls map[string][]int, order ...string) []Routine {
	functions := named("main.main")
	for i := range leaves {
		functions = append(functions, named(fmt.Sprintf("lib.Leaf%d", i))...)
	}
	for _, name := range order {
		functions = append(functions, named(name)...)
		call(functions, 0, len(functions)-1, 100)
		for _, leaf := range calls[name] {
			call(functions, len(functions)-1, 1+leaf, 100/float64(len(calls[name])))
		}
	}
	return functions
}

// others leaves the root and the leaves out.
func others(pairs map[string]string) map[string]string {
	for name := range pairs {
		if strings.HasPrefix(name, "lib.") || name == "main.main" {
			delete(pairs, name)
		}
	}
	return pairs
}

func TestMatchByPlace(t *testing.T) {
	for _, tt := range []struct {
		name       string
		base       []string
		baseCalls  map[string][]int
		fresh      []string
		freshCalls map[string][]int
		want       string
	}{
		{
			"a method renamed",
			[]string{"main.(*T).Get", "main.(*T).Put"},
			map[string][]int{"main.(*T).Get": {0, 1, 2}, "main.(*T).Put": {3}},
			[]string{"main.(*T).Fetch", "main.(*T).Put"},
			map[string][]int{"main.(*T).Fetch": {0, 1, 2}, "main.(*T).Put": {3}},
			"map[main.(*T).Get:~main.(*T).Fetch main.(*T).Put:main.(*T).Put]",
		},
		{
			"two clones renamed", []string{"main.(*T).A", "main.(*T).B"},
			map[string][]int{"main.(*T).A": {0, 1, 2}, "main.(*T).B": {0, 1, 2}},
			[]string{"main.(*T).C", "main.(*T).D"},
			map[string][]int{"main.(*T).C": {0, 1, 2}, "main.(*T).D": {0, 1, 2}},
			"map[]",
		},
		{
			"two clones with swapped names", []string{"main.A", "main.B"},
			map[string][]int{"main.A": {0, 1}, "main.B": {0, 1}},
			[]string{"main.B", "main.A"},
			map[string][]int{"main.A": {0, 1}, "main.B": {0, 1}},
			"map[main.A:main.A main.B:main.B]",
		},
		{
			"one removed and another added", []string{"main.Old"},
			map[string][]int{"main.Old": {0, 1, 2}},
			[]string{"main.New"}, map[string][]int{"main.New": {3, 4, 5}},
			"map[]",
		},
		{
			"closures shifted by a new one",
			[]string{"main.F", "main.F.func1", "main.F.func2", "main.F.func3"},
			map[string][]int{"main.F.func1": {0}, "main.F.func2": {1}, "main.F.func3": {2}},
			[]string{"main.F", "main.F.func1", "main.F.func2", "main.F.func3", "main.F.func4"},
			map[string][]int{
				"main.F.func1": {0}, "main.F.func2": {3}, "main.F.func3": {1},
				"main.F.func4": {2},
			},
			"map[main.F:main.F main.F.func1:main.F.func1 main.F.func2:~main.F.func3 " +
				"main.F.func3:~main.F.func4]",
		},
		{
			"a silent closure between two that shifted",
			[]string{"main.F", "main.F.func1", "main.F.func2", "main.F.func3"},
			map[string][]int{"main.F.func1": {0}, "main.F.func3": {2}},
			[]string{"main.F", "main.F.func2", "main.F.func3", "main.F.func4"},
			map[string][]int{"main.F.func2": {0}, "main.F.func4": {2}},
			"map[main.F:main.F main.F.func1:~main.F.func2 main.F.func2:~main.F.func3 " +
				"main.F.func3:~main.F.func4]",
		},
		{
			"silent closures after one more",
			[]string{"main.F", "main.F.func1", "main.F.func2"}, nil,
			[]string{"main.F", "main.F.func1", "main.F.func2", "main.F.func3"}, nil,
			"map[main.F:main.F]",
		},
		{
			"silent closures keep their numbers",
			[]string{"main.F.func1", "main.F.func2", "main.F.gowrap1", "main.F-range1"}, nil,
			[]string{"main.F.func1", "main.F.func2", "main.F.gowrap1", "main.F-range1"}, nil,
			"map[main.F-range1:main.F-range1 main.F.func1:main.F.func1 " +
				"main.F.func2:main.F.func2 main.F.gowrap1:main.F.gowrap1]",
		},
		{
			"a wrapper that older compilers numbered with closures",
			[]string{"main.F.func1", "main.F.func2"},
			map[string][]int{"main.F.func1": {0}, "main.F.func2": {1}},
			[]string{"main.F.deferwrap1", "main.F.func1"},
			map[string][]int{"main.F.deferwrap1": {0}, "main.F.func1": {1}},
			"map[main.F.func1:~main.F.deferwrap1 main.F.func2:~main.F.func1]",
		},
		{
			"closures of a method that was renamed",
			[]string{"main.(*T).Get", "main.(*T).Get.func1", "main.(*T).Get.func1.1"},
			map[string][]int{"main.(*T).Get": {0, 1, 2}},
			[]string{"main.(*T).Fetch", "main.(*T).Fetch.func1", "main.(*T).Fetch.func1.1"},
			map[string][]int{"main.(*T).Fetch": {0, 1, 2}},
			"map[main.(*T).Get:~main.(*T).Fetch main.(*T).Get.func1:~main.(*T).Fetch.func1 " +
				"main.(*T).Get.func1.1:~main.(*T).Fetch.func1.1]",
		},
		{
			"the copy of a closure in another function",
			[]string{"main.(*T).Run.logged.func3"}, nil,
			[]string{"main.(*T).Run.logged.func5"}, nil,
			"map[main.(*T).Run.logged.func3:~main.(*T).Run.logged.func5]",
		},
		{
			"two methods with other names that differ in how often they call",
			[]string{"main.(*T).Get", "main.(*T).Put"},
			map[string][]int{
				"main.(*T).Get": append(slices.Repeat([]int{0}, 60), 1),
				"main.(*T).Put": append(slices.Repeat([]int{1}, 60), 0),
			},
			[]string{"main.(*T).Store", "main.(*T).Fetch"},
			map[string][]int{
				"main.(*T).Fetch": append(slices.Repeat([]int{0}, 50), 1),
				"main.(*T).Store": append(slices.Repeat([]int{1}, 70), 0),
			},
			"map[main.(*T).Get:~main.(*T).Fetch main.(*T).Put:~main.(*T).Store]",
		},
		{
			"a silent closure behind one that shifted",
			[]string{"main.F.func1", "main.F.func2", "main.F.func3"},
			map[string][]int{"main.F.func1": {0}},
			[]string{"main.F.func2", "main.F.func3"}, map[string][]int{"main.F.func2": {0}},
			"map[main.F.func1:~main.F.func2]",
		},
		{
			"two closures that changed places",
			[]string{"main.F.func1", "main.F.func2"},
			map[string][]int{"main.F.func1": {0}, "main.F.func2": {1}},
			[]string{"main.F.func1", "main.F.func2"},
			map[string][]int{"main.F.func1": {1}, "main.F.func2": {0}},
			"map[main.F.func1:~main.F.func2 main.F.func2:~main.F.func1]",
		},
		{
			"a closure alone with another number and the same caller",
			[]string{"main.(*T).Run.func3"}, nil, []string{"main.(*T).Run.func4"}, nil,
			"map[main.(*T).Run.func3:~main.(*T).Run.func4]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			base := tree(6, tt.baseCalls, tt.base...)
			fresh := tree(6, tt.freshCalls, tt.fresh...)
			if got := fmt.Sprint(others(found(base, fresh))); got != tt.want {
				t.Errorf("pairs:\n%s, want\n%s", got, tt.want)
			}
		})
	}
}

// TestPairsHelpToPairTheirNeighbors has a renamed method that only a renamed one calls.
func TestPairsHelpToPairTheirNeighbors(t *testing.T) {
	program := func(outer, inner string) []Routine {
		functions := tree(4, map[string][]int{outer: {0, 1, 2}}, outer)
		functions = append(functions, Routine{Name: inner, Binary: "server"})
		call(functions, 5, 6, 100)
		call(functions, 6, 4, 100)
		return functions
	}
	base := program("main.(*T).Get", "main.(*T).get")
	fresh := program("main.(*T).Fetch", "main.(*T).fetch")
	want := "map[main.(*T).Get:~main.(*T).Fetch main.(*T).get:~main.(*T).fetch]"
	if got := fmt.Sprint(others(found(base, fresh))); got != want {
		t.Errorf("pairs %s, want %s", got, want)
	}
}

// TestNumberedClosuresHelpToPairWhatTheyCall has a renamed method that only a closure calls, one of
// a table of handlers: they are told apart by nothing but their numbers.
func TestNumberedClosuresHelpToPairWhatTheyCall(t *testing.T) {
	program := func(renamed string) []Routine {
		decode := map[string][]int{"main.init.with[...].func1": {0}, "main.init.with[...].func2": {0}}
		functions := tree(6, decode, "main.init.with[...].func1", "main.init.with[...].func2")
		functions = append(functions, named("main.(*T).createUser")...)
		functions = append(functions, Routine{Name: renamed, Binary: "server"})
		call(functions, 7, 9, 100)
		call(functions, 8, 10, 100)
		for leaf := 2; leaf <= 4; leaf++ {
			call(functions, 10, leaf, 30)
		}
		return functions
	}
	got := found(program("main.(*T).createPost"), program("main.(*T).makePost"))
	if got["main.(*T).createPost"] != "~main.(*T).makePost" {
		t.Errorf("pairs %v", others(got))
	}
}

// TestFewSamplesProveNothing matches two functions that only one profile each has, by chance.
func TestFewSamplesProveNothing(t *testing.T) {
	with := func(name string, samples float64) []Routine {
		functions := append(named("main.main", "lib.A", "lib.B", "lib.C"), Routine{Name: name})
		call(functions, 0, 4, samples)
		for leaf := range 3 {
			call(functions, 4, 1+leaf, samples/3)
		}
		return functions
	}
	for samples, want := range map[float64]int{leastSamples - 1: 0, leastSamples + 1: 1} {
		base, fresh := with("main.(*T).Get", samples), with("main.(*T).Put", samples)
		if got := others(found(base, fresh)); len(got) != want {
			t.Errorf("%v samples: pairs %v, want %d", samples, got, want)
		}
	}
}

// TestMatchIsBounded has inputs for which a comparison of each with each would not end.
func TestMatchIsBounded(t *testing.T) {
	many := func(n int, name func(i int) string) []Routine {
		functions := named("main.F", "lib.Leaf")
		for i := range n {
			functions = append(functions, named(name(i))...)
			call(functions, 0, i+2, 100)
			call(functions, i+2, 1, 100)
		}
		return functions
	}
	for _, tt := range []struct {
		name        string
		base, fresh []Routine
		want        int
	}{
		{
			"5,000 closures of one parent",
			many(5000, func(i int) string { return fmt.Sprintf("main.F.func%d", i+1) }),
			many(5000, func(i int) string { return fmt.Sprintf("main.F.func%d", i+1) }), 5002,
		},
		{
			"5,000 closures after one more",
			many(5000, func(i int) string { return fmt.Sprintf("main.F.func%d", i+1) }),
			many(5000, func(i int) string { return fmt.Sprintf("main.F.func%d", i+2) }), 2,
		},
		{
			"20,000 functions renamed",
			many(20_000, func(i int) string { return fmt.Sprintf("main.Old%d", i) }),
			many(20_000, func(i int) string { return fmt.Sprintf("main.New%d", i) }), 2,
		},
		{
			"10,000 packages with the same function",
			many(10_000, func(i int) string { return fmt.Sprintf("old/p%d.New", i) }),
			many(10_000, func(i int) string { return fmt.Sprintf("new/q%d.New", i) }), 2,
		},
		{
			"400 closures in each other",
			many(400, func(i int) string { return "main.F.func1" + strings.Repeat(".1", i) }),
			many(400, func(i int) string { return "main.F.func1" + strings.Repeat(".1", i) }), 402,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := len(Match(tt.base, tt.fresh)); got != tt.want {
				t.Errorf("%d pairs, want %d", got, tt.want)
			}
		})
	}
}

func TestMatchOfHostileInput(t *testing.T) {
	names := []string{
		strings.Repeat("a", 1<<20), strings.Repeat("a[", 1<<19), strings.Repeat("(*", 1<<19),
		strings.Repeat("/", 1<<20), "a.F" + strings.Repeat(".func1", 1<<17),
		strings.Repeat("x/", 8<<10) + "p.F", "a.(*T", "a.F[", "a.F]", ".", "..", "type:.", "-range1",
		".func1", "a.func99999999999999999999", "a.F.func99999999999999999999", "[", "]", "(", ")",
		"", "\x00", "a.\xff", "a..func1", "a.[x].F", "a.()", "a.(*).M", "a.F[[[]]]]",
		strings.Repeat("x.cold", 2000),
	}
	functions := named(names...)
	functions[0].Callers = []Edge{{-1, 1}, {1 << 40, 1}, {0, 1}, {1, -1}, {2, 0}}
	functions[1].Callees = []Edge{{0, nan}, {0, inf}, {0, 1e308}, {0, 1e308}}
	pairs := Match(functions, functions)
	if got := len(pairs); got < len(names)-2 {
		t.Errorf("%d pairs of a build with itself, want %d", got, len(names))
	}
	for _, p := range pairs {
		if p.Base != p.Fresh || p.Renamed {
			t.Errorf("%.40q became %.40q", names[p.Base], names[p.Fresh])
		}
	}
	for i := range functions {
		functions[i].Name = "x" + functions[i].Name
	}
	Match(named(names...), functions)
	Match(nil, functions)
	Match(functions, nil)
}

func FuzzForm(f *testing.F) {
	for _, name := range []string{
		"a/v2/b.(*T[go.shape.int]).M.func1.2-range3", "x.isra.0.cold", "type:.eq.a.T",
		"gopkg.in/yaml%2ev2.F.gowrap1", "a.F[", "[kernel] write",
	} {
		f.Add(name, "")
		f.Add(name, "x.go")
	}
	f.Fuzz(func(t *testing.T, name, file string) {
		whole := Whole(name, file)
		if again := Whole(whole, file); again != whole {
			t.Errorf("Whole(%q) = %q, and of that %q", name, whole, again)
		}
		form := parse(name, file)
		joined := form.pkg + "." + form.rest
		if form.pkg != "" && !strings.HasPrefix(whole, generated) && joined != whole {
			t.Errorf("%q is %q and %q", whole, form.pkg, form.rest)
		}
		before, typ, after := form.receiver()
		if before+typ+after != form.rest {
			t.Errorf("%q is %q, %q and %q", form.rest, before, typ, after)
		}
		if form.kind != "" && !strings.HasPrefix(form.rest, form.parent+form.kind) {
			t.Errorf("%q is %q and %q", form.rest, form.parent, form.kind)
		}
	})
}
