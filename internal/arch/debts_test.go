package arch

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// debtsFile lists the exceptions that stand from some rules: lines of a rule, a place and a number.
// An exception may only shrink: its rule fails when more is found than the number, and when the
// place needs no exception any more.
const debtsFile = "internal/arch/debts.txt"

// ratchet is the part of the reason that such rules share.
const ratchet = "Exceptions of today stand with numbers in " + debtsFile + ", which may only shrink: lower the number, and remove the " +
	"line when it is 0"

// parseDebts reads the exceptions by rule and place.
func parseDebts(src []byte) (map[string]map[string]int, error) {
	debts := map[string]map[string]int{}
	lines := bufio.NewScanner(bytes.NewReader(src))
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s:%d: want RULE PLACE NUMBER", debtsFile, n)
		}
		most, err := strconv.Atoi(fields[2])
		if err != nil || most < 1 {
			return nil, fmt.Errorf("%s:%d: %q is not a positive number", debtsFile, n, fields[2])
		}
		if debts[fields[0]] == nil {
			debts[fields[0]] = map[string]int{}
		}
		debts[fields[0]][fields[1]] = most
	}
	return debts, lines.Err()
}

// found holds, by place, the positions that break a rule.
type found map[string][]string

func (f found) add(where, position string) { f[where] = append(f[where], position) }

// owed compares the findings of a rule with the exceptions that stand from it. thing names the
// findings, in the plural.
func (t *tree) owed(rule, thing string, f found) (bad []string) {
	for _, where := range slices.Sorted(maps.Keys(f)) {
		most, n := t.debts[rule][where], len(f[where])
		if n > most {
			bad = append(bad, fmt.Sprintf(
				"%s: %d %s, at most %d: %s",
				where,
				n,
				thing,
				most,
				strings.Join(f[where], ", "),
			))
		}
	}
	return append(bad, t.unneeded(rule, thing, f)...)
}

// unneeded returns the exceptions of a rule for which nothing is found any more.
func (t *tree) unneeded(rule, thing string, f found) (bad []string) {
	for _, where := range slices.Sorted(maps.Keys(t.debts[rule])) {
		if len(f[where]) == 0 {
			bad = append(bad, fmt.Sprintf(
				"%s: %s %s has no %s any more: remove the line",
				debtsFile,
				rule,
				where,
				thing,
			))
		}
	}
	return bad
}

// program are the packages that only wire: verbs, flags, environment, exit status. The first has
// the table of the verbs.
var program = []string{
	"cmd/verbs", "cmd/internal/app", "cmd/internal/bisection", "cmd/internal/datasets",
	"cmd/internal/execute", "cmd/internal/hosts", "cmd/internal/plans", "cmd/internal/read",
	"cmd/internal/serve", "cmd/internal/system",
}

// mostOfProgram is the largest number of their lines without tests, together.
const mostOfProgram = 5550

// notInProgram are the rooms that run/session and evidence use in its place. Their drivers are
// exempt.
var notInProgram = []string{
	"load/measure", "load/workload", "stats", "judge/verdict", "judge/limiter", "judge/sizing", "judge/drift", "judge/imported",
	"target/lab", "watch/probe", "watch/series",
}

// promQL recognizes a selector with a label, and an aggregation or a range over a series.
var promQL = regexp.MustCompile(
	`[a-z]\{\w*(?:=|!=|!~)|\b(?:rate|irate|increase|delta|deriv|\w+_over_time)\([a-z]+_|` +
		`\b(?:sum|avg|min|max|count|histogram_quantile)(?: by ?\([\w, ]*\))? ?\((?:[\d., ]*)[a-z]+(?:_[a-z]|\([a-z]+_|\([a-z]+\()`,
)

// programWires holds the program to its size, its imports and its want of PromQL.
func programWires(t *tree) (bad []string) {
	var files []*file
	for _, dir := range program {
		if p := t.packages[dir]; p != nil {
			files = append(files, p.files...)
		}
	}
	imports := found{}
	queries := found{}
	lines := 0
	for _, f := range files {
		if f.test {
			continue
		}
		lines += f.lines
		for _, imported := range f.imports() {
			to, ok := ours(imported)
			i := slices.IndexFunc(notInProgram, func(n string) bool { return within(to, n) })
			if ok && i >= 0 && !isDriver(to) {
				imports.add("imports:"+to, path.Base(f.path))
			}
		}
		literals(f, func(x *ast.BasicLit, value string) {
			if promQL.MatchString(value) {
				queries.add("PromQL", t.at(x.Pos()))
			}
		})
	}
	all := found{}
	maps.Copy(all, imports)
	maps.Copy(all, queries)
	most := cmp.Or(t.debts["program"]["lines"], mostOfProgram)
	switch {
	case lines > most:
		bad = append(
			bad,
			fmt.Sprintf("%s: %d lines without tests, at most %d", program[0], lines, most),
		)
	case most > mostOfProgram && lines > mostOfProgram:
		all.add("lines", program[0])
	}
	return append(bad, t.owed("program", "files or places", all)...)
}

// literals calls call for each string literal of a file except imports and field tags.
func literals(f *file, call func(*ast.BasicLit, string)) {
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.BasicLit:
			if value, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && !tags[n] {
				call(n, value)
			}
		}
		return true
	})
}

// plansReader is the room that parses the plan of a stored run, once.
const plansReader = "evidence"

// storedPlans finds calls such as plan.Parse([]byte(m.Plan)): the plan of a manifest, a comparison
// or a sizing.
func storedPlans(t *tree) []string {
	calls := found{}
	for f := range t.product() {
		if f.test || within(path.Dir(f.path), plansReader) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !selects(call.Fun, "plan", "Parse", "ParseStored") {
				return true
			}
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Plan" {
						calls.add("product", t.at(call.Pos()))
					}
					return true
				})
			}
			return true
		})
	}
	return t.owed("plans", "calls that parse a stored plan", calls)
}

// selects reports whether x is of.NAME with one of the names.
func selects(x ast.Expr, of string, names ...string) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == of && slices.Contains(names, s.Sel.Name)
}

// driverNames are the drivers of a target as a plan writes them.
var driverNames = []string{"refchat", "process", "container", "external"}

// speakers may hold them: dialects, and watch and load/script, whose probes, hosts and globals of
// JavaScript use the same words for other things.
var speakers = []string{"dialect", "load/script", "watch"}

// registry is the file that names the drivers of any server.
const registry = "plan/driver.go"

// driverLiterals finds names of drivers that are written out elsewhere.
func driverLiterals(t *tree) []string {
	names := found{}
	for f := range t.product() {
		if f.test || f.path == registry || slices.ContainsFunc(speakers, func(s string) bool {
			return within(path.Dir(f.path), s)
		}) {
			continue
		}
		literals(f, func(x *ast.BasicLit, value string) {
			if slices.Contains(driverNames, value) {
				names.add("product", t.at(x.Pos()))
			}
		})
	}
	return t.owed("driver-names", "names of drivers as literals", names)
}

// free are names that each package may have: their meaning is clear from the package.
var free = []string{"Config", "Options", "Result"}

// doubles finds exported structs that have the same name in two packages of the product.
func doubles(t *tree) []string {
	structs := found{}
	for f := range t.product() {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			d, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range d.Specs {
				s, ok := s.(*ast.TypeSpec)
				if !ok || !s.Name.IsExported() || slices.Contains(free, s.Name.Name) {
					continue
				}
				if _, ok := s.Type.(*ast.StructType); ok {
					structs.add(s.Name.Name, path.Dir(f.path))
				}
			}
		}
	}
	for name, dirs := range structs {
		slices.Sort(dirs)
		if structs[name] = slices.Compact(dirs); len(structs[name]) == 1 {
			delete(structs, name)
		}
	}
	return t.owed("doubles", "packages with a struct of this name", structs)
}

// picture holds the tables above to the tree, name by name; that every package has a row is the
// rule layers.
func picture(t *tree) (bad []string) {
	exists := func(dir string) bool {
		return dir == "." || slices.ContainsFunc(t.dirs(), func(d string) bool { return within(d, dir) }) ||
			slices.Contains(t.modules, dir+"/")
	}
	for _, table := range []struct {
		name  string
		rooms []string
	}{
		{"rows", slices.Concat(rows...)}, {"drivers", driverList}, {"pure", pure}, {"inTests", inTests}, {"named", named},
		{"notInProgram", notInProgram}, {"outside", outside},
	} {
		for _, room := range table.rooms {
			if !exists(room) {
				bad = append(
					bad,
					fmt.Sprintf("%s: stands in the table %s and does not exist", room, table.name),
				)
			}
		}
	}
	return bad
}

// product yields the Go files of the product: systems measured with it, and programs that measure
// it, have names of their own.
func (t *tree) product() func(func(*file) bool) {
	return func(yield func(*file) bool) {
		for _, d := range t.dirs() {
			if slices.Contains([]string{"reference", "contrib"}, top(d)) ||
				within(d, "internal/absent") ||
				top(d) == "cmd" && !slices.Contains(program, d) {
				continue
			}
			for _, f := range t.packages[d].files {
				if !yield(f) {
					return
				}
			}
		}
	}
}

// at returns a position as FILE:LINE.
func (t *tree) at(p token.Pos) string {
	position := t.fset.Position(p)
	return fmt.Sprintf("%s:%d", position.Filename, position.Line)
}
