package main

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// lines is the table of lines of a program, as its compiler wrote it.
func lines(t *testing.T, program string) *gosym.Table {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, f.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// built builds a source, and returns the path of the program.
func built(t *testing.T, s source) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := s.build(t.Context(), root, filepath.Join(dir, "src"), program); err != nil {
		t.Fatal(err)
	}
	return program
}

// The study has 40 variants with work, ten of each amount and four of each kind, in as many
// functions; ten of statements, twelve of names, and twenty of nothing. Each has a truth.
func TestVariants(t *testing.T) {
	groups, amountsOf, kinds, in := map[group]int{}, map[float64]int{}, map[string]int{}, map[string]bool{}
	for _, v := range variants() {
		groups[v.Group]++
		if v.Group == functions {
			amountsOf[v.Amount]++
			kinds[v.Kind]++
			in[v.Function] = true
		}
		if truth := v.Function != "" || len(v.texts) > 0; truth != (v.Group == functions || v.Group == statement || v.Amount > 0) {
			t.Errorf("%s has the truth %q, %q", v.Name, v.Function, v.texts)
		}
	}
	if want := (map[group]int{functions: 40, statement: 10, renamings: 12, nothingNew: 20}); !maps.Equal(
		groups,
		want,
	) {
		t.Errorf("groups %v, want %v", groups, want)
	}
	if want := (map[float64]int{0.01: 10, 0.02: 10, 0.05: 10, 0.1: 10}); !maps.Equal(
		amountsOf,
		want,
	) {
		t.Errorf("amounts %v", amountsOf)
	}
	if len(kinds) != 10 || len(in) != 40 {
		t.Errorf("%d kinds, %d functions", len(kinds), len(in))
	}
	first, again := variants(), variants()
	for i := range first {
		if first[i].Name != again[i].Name {
			t.Fatalf("slot %d is %s and %s", i+1, first[i].Name, again[i].Name)
		}
	}
}

// One build holds the work of all functions, and all statements that the source changes. By the
// compiler's own tables the work is in the functions that the truth names: closures and generic
// functions have the numbers and the names that it gives them.
func TestPlanted(t *testing.T) {
	s, err := readSource(root)
	if err != nil {
		t.Fatal(err)
	}
	s.program("")
	for _, v := range variants() {
		if v.Group == statement && v.change != nil {
			if err := v.change(root, s); err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
		}
	}
	for _, v := range variants() {
		if v.Group != functions {
			continue
		}
		fn, err := s.find(v.Function)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.addWork(fn, v.Work, 7); err != nil {
			t.Fatal(err)
		}
	}
	table := lines(t, built(t, s))
	var inlined []string
	for _, v := range variants() {
		if v.Group != functions {
			continue
		}
		fn, err := s.find(v.Function)
		if err != nil {
			t.Fatal(err)
		}
		// The brace, the work's own lines, of which the repeated ones come second or third.
		line := 1 + strings.Count(s[fn.file][:fn.at], "\n")
		emitted := map[string]bool{}
		for l := line + 1; l <= line+4; l++ {
			if _, f, err := table.LineToPC(module+"/"+fn.file, l); err == nil {
				emitted[plain(f.Name)] = true
			}
		}
		switch want := plain(v.symbol()); {
		case emitted[want]:
		case strings.Contains(v.Function, ".func") || len(emitted) == 0:
			t.Errorf("the work in %s is in %v", want, slices.Collect(maps.Keys(emitted)))
		default:
			inlined = append(inlined, v.Function)
		}
	}
	slices.Sort(inlined)
	if want := []string{"(*request).param", "validID"}; !slices.Equal(inlined, want) {
		t.Errorf("functions whose work is inlined first: %q, want %q", inlined, want)
	}
}

// Each renaming builds, with the work in the function that the truth names.
func TestRenamed(t *testing.T) {
	for _, v := range variants() {
		if v.Group != renamings || v.Amount != 0.05 {
			continue
		}
		s, err := v.source(root, 7)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		table := lines(t, built(t, s))
		if table.LookupFunc(v.symbol()) == nil {
			t.Errorf("%s: there is no %s", v.Kind, v.symbol())
		}
		if v.Kind != "renumbered closures" &&
			table.LookupFunc(module+"/"+serverPath+"."+v.Function) != nil {
			t.Errorf("%s: the name of the base is there", v.Kind)
		}
	}
}

// probe calls functions of the server a number of times, and prints how often the work in one of
// them was repeated, with the counters of calls.
const probe = `package refchat

var studyRepeats int

func StudyProbe() (int, []uint64) {
	for i := range 1000 {
		validID("ybndrfg8ejkmcpqxot1uwisza3")
		if i%4 == 0 {
			jsonText([]string{newID()})
		}
	}
	calls := make([]uint64, len(studyCounts))
	for i := range studyCounts {
		calls[i] = studyCounts[i].Load()
	}
	return studyRepeats, calls
}
`

// The repeats of the work in a program that runs, which are counted one by one, are the amount that
// was asked for: with the calls that the counters of the same program have.
func TestAmount(t *testing.T) {
	s, err := readSource(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"validID", "jsonText"} {
		fn, err := s.find(name)
		if err != nil {
			t.Fatal(err)
		}
		calls := map[string]float64{"validID": 1000, "jsonText": 250}[name]
		v := variant{Function: name, Work: workLoop, Amount: 0.05}
		c := calibration{
			CPU:   2,
			Calls: map[string]float64{name: calls},
			Costs: map[work]float64{workLoop: 1e-6},
		}
		n, err := v.repeats(c)
		if err != nil {
			t.Fatal(err)
		}
		s, err := readSource(root)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.count(filepath.Join(t.TempDir(), "counts")); err != nil {
			t.Fatal(err)
		}
		counting, err := s.find(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.addWork(counting, v.Work, n); err != nil {
			t.Fatal(err)
		}
		s[fn.file] = strings.Replace(
			s[fn.file],
			fmt.Sprintf("for range %d {", n),
			fmt.Sprintf("for range %d {\nstudyRepeats++", n),
			1,
		)
		s[serverPath+"/study_probe.go"] = probe
		s[mainPath+"/main.go"] = `package main

import (
	"encoding/json"
	"os"

	"plimsoll/reference/refchat"
)

func main() {
	repeats, calls := refchat.StudyProbe()
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"repeats": repeats, "calls": calls}); err != nil {
		panic(err)
	}
}
`
		out, err := exec.Command(built(t, s)).Output()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Repeats float64
			Calls   []float64
		}
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatal(err)
		}
		if share := got.Repeats * 1e-6 / 2; math.Abs(share-0.05) > 0.0005 ||
			got.Calls[fn.called] != calls {
			t.Errorf(
				"%s: %v calls, want %v; the work is %.4f of all, want 0.05",
				name,
				got.Calls[fn.called],
				calls,
				share,
			)
		}
	}
}

// Too few calls, or a work too long for the amount, are errors, and no other amount.
func TestRepeats(t *testing.T) {
	v := variant{Function: "f", Work: workJSON, Amount: 0.01, Name: "v"}
	c := calibration{
		CPU:        1,
		Operations: 100,
		Calls:      map[string]float64{"f": 100},
		Costs:      map[work]float64{workJSON: 1e-6},
	}
	if n, err := v.repeats(c); err != nil || n != 100 || math.Abs(v.planted(c, n)-1e-4) > 1e-12 {
		t.Errorf("%d repeats, %v", n, err)
	}
	c.Calls["f"] = 10000
	if n, err := v.repeats(c); err == nil || !strings.Contains(err.Error(), "want 4 or more") {
		t.Errorf("%d repeats, %v", n, err)
	}
	c.Calls["f"] = 3
	if n, err := v.repeats(c); err == nil || !strings.Contains(err.Error(), "3 calls of f") {
		t.Errorf("%d repeats, %v", n, err)
	}
}

// An edit that does not fit the source is an error.
func TestEdits(t *testing.T) {
	s := source{serverPath + "/a.go": "package refchat\n\nfunc f() { g(); g(); }\n\nfunc g() {}\n"}
	for name, err := range map[string]error{
		"has \"h()\" 0 times":  s.replace("a.go", "h()", ""),
		"has \"g();\" 2 times": s.replace("a.go", "g();", ""),
		"g is taken":           s.rename("f", "g"),
		"the server has no h":  s.rename("h", "i"),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %q", err, name)
		}
	}
	var b bytes.Buffer
	list, err := s.functions()
	for _, f := range list {
		fmt.Fprintf(&b, "%s %d ", f.name, f.at)
	}
	if err != nil || b.String() != "f 27 g 50 " {
		t.Errorf("functions %q, %v", b.String(), err)
	}
}
