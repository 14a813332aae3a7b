package arch

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// rows is the picture of the layers, bottom up: rooms, each a directory with the directories below
// it that have no other row. A room imports only rows below its own.
var rows = [][]string{
	0: {
		"console/ui",
		"internal/built",
		"internal/files",
		"internal/heaplimit",
		"internal/linux",
		"internal/parallel",
		"internal/plain",
		"load/clock",
		"stats",
		"watch/query",
	},
	1: {
		"internal/boundary",
		"load/measure",
		"run/duet",
		"run/live",
		"load/wire",
		"watch/series",
		"target/lab",
		"reference/refnull",
		"reference/refchat",
		"contrib",
	},
	2:  {"plan", "load/workload", "run/capacity", "watch/probe", "watch/profile"},
	3:  {"record", "dialect", "load/script", "reference/dataset", "run/sharedhost"},
	4:  {"load/engine", "run/trial", "target", "record/store", "contrib/ci", "judge"},
	5:  {"load/fleet", "judge/comparison", "report"},
	6:  {"evidence", "run/deploy", "run/source"},
	7:  {"run/users", "run/export", "run/rating", "run/audience", "run/turns"},
	8:  {"run/health"},
	9:  {"run/preflight", "console"},
	10: {"run/session"},
	11: {"run/compare"},
	12: {"run/sizing", "run/bisect"},
	13: {"cmd", "studies"}, // studies is a separate module
	14: {"."},              // the program, for mains
	15: {"cmd/plimsoll", "examples"},
}

// outside are the packages that are in no layer: they import nothing of ours.
var outside = []string{
	"internal/arch",
	"internal/browser",
	"internal/failure",
	"internal/program",
	"internal/race",
}

// drivers are chosen by name when a plan is carried out. Each stands one row above its room.
var driverList = []string{
	"contrib/grafana",
	"dialect/mattermost", "dialect/script",
	"load/engine/calibration", "load/fleet/join",
	"reference/dataset/dump", "reference/dataset/mattermost", "reference/dataset/refchat",
	"record/importer/figures", "record/importer/gobench", "record/importer/k6", "record/importer/loadtestng", "record/importer/locust",
	"target/container", "target/external", "target/mattermost", "target/process",
	"target/lab/cgroup", "target/lab/mysql", "target/lab/netns", "target/lab/nginx", "target/lab/postgresql",
	"watch/probe/agent", "watch/probe/mysql", "watch/probe/postgresql",
	"watch/series/promapi", "watch/series/remote",
}

// choosers are the rooms that import drivers.
var choosers = []string{
	"run/deploy",
	"run/export",
	"run/health",
	"run/preflight",
	"run/rating",
	"run/session",
	"run/users",
	"cmd",
	"examples",
}

// pure are the packages that are functions of their arguments.
var pure = []string{
	"stats",
	"plan",
	"plan/draft",
	"judge/attribution",
	"judge/attribution/names",
	"judge/bisect",
	"judge/suspects",
	"judge/verdict",
	"judge/limiter",
	"judge/sizing",
	"judge/drift",
	"judge/imported",
	"run/capacity",
	"report",
	"report/draw",
	"evidence",
	"watch/query",
}

// inTests are packages that tests of any package may import: a browser, databases and the program
// to start, probes of both engines, groups to put processes into, stores with runs, and whether the
// race detector is on.
var inTests = []string{
	"internal/browser", "internal/failure", "internal/program", "internal/race",
	"record/store/storetest", "run/session/sessiontest",
	"target/lab/cgroup", "target/lab/postgresql", "target/lab/mysql",
	"watch/probe/mysql", "watch/probe/postgresql",
}

// named are the directories that may speak of one particular server.
var named = []string{
	"dialect",
	"reference",
	"cmd",
	"examples",
	"internal/arch",
	"target/mattermost",
}

// A rule checks the tree and returns its findings, one line each, beginning with a place.
type rule struct {
	name  string
	why   string
	check func(*tree) []string
}

var rules = []rule{
	{
		"layers",
		"a package that imports only what is below it can be read, tested and replaced without the rest; " +
			"to change the picture, change the table in internal/arch and write an ADR",
		layers,
	},
	{
		"picture",
		"the table of rooms is the picture of the repository: a newcomer reads it first, and looks for each name in it",
		picture,
	},
	{
		"drivers",
		"drivers are chosen by name where a run is put together; other packages that import one are " +
			"bound to it for good",
		drivers,
	},
	{
		"program",
		"the verbs only wire: what they compute themselves cannot be used, read or tested without them. " + ratchet,
		programWires,
	},
	{
		"plans",
		"a stored plan may be of an older version; one place decides what is done then. " + ratchet,
		storedPlans,
	},
	{
		"driver-names",
		"a driver is added in its dialect and in one registry; a name written elsewhere is a place to forget. " + ratchet,
		driverLiterals,
	},
	{"doubles", "one word has one meaning, for types too. " + ratchet, doubles},
	{
		"strangers",
		"the reference server and the client that measures it are two readings of one protocol; " +
			"shared code would share its mistakes",
		strangers,
	},
	{
		"pure",
		"plans, mathematics, verdicts and reports are functions of stored data: they can be repeated years later, " +
			"and tested without waiting",
		purity,
	},
	{
		"comments",
		"the package comment is where a reader learns what a package is for and what it refuses to know",
		comments,
	},
	{"links", "a mention of what is gone misleads every reader after the first", links},
	{"pages", "a link that leads nowhere ends the reading", pages},
	{"tests", "a document that names a test promises that whoever doubts can run it", testNames},
	{
		"names",
		"a package is named for what it provides; these names say only that something was put there",
		names,
	},
	{
		"servers",
		"the target is anyone's: what belongs to one server lives in its dialect, its data, its reference " +
			"server, or in cmd",
		servers,
	},
	{"paths", "the repository must work for whoever clones it", machinePaths},
	{"size", "beyond that, nobody finds the idea that a file holds; split it by noun", size},
	{
		"hubs",
		"a package that imports half of the house can be read by nobody: its parts have names, and are packages. " + ratchet,
		hubs,
	},
	{
		"functions",
		"a function is read at one sitting, on one screen or two; its steps have names. " + ratchet,
		functions,
	},
	{
		"prints",
		"only a format may end a line of what people read: the arguments may be a target's text, and plain quotes them",
		prints,
	},
	{
		"renames",
		"a file that takes the place of another is on disk before, and its directory after: internal/files sees to that",
		renames,
	},
	{"adr", "decisions are found through their index, which keeps a line of each", adrs},
}

// roomOf returns the room of a package, the longest name in rows that its directory begins with,
// and its row. A driver, or a package below one, stands one row above its room.
func roomOf(dir string) (room string, row int, ok bool) {
	for r, names := range rows {
		for _, n := range names {
			if within(dir, n) && len(n) > len(room) {
				room = n
				row = r
				ok = true
			}
		}
	}
	if ok && row < len(rows)-1 && isDriver(dir) {
		row++
	}
	return room, row, ok
}

// within reports whether dir is parent or lies below it.
func within(dir, parent string) bool {
	return dir == parent || strings.HasPrefix(dir, parent+"/")
}

// isDriver reports whether dir is a driver or lies below one.
func isDriver(dir string) bool {
	return slices.ContainsFunc(driverList, func(d string) bool { return within(dir, d) })
}

// edges calls f for every import of one of our packages by another.
func edges(t *tree, f func(from *pkg, in *file, to string)) {
	for _, d := range t.dirs() {
		for _, file := range t.packages[d].files {
			for _, imported := range file.imports() {
				if to, ok := ours(imported); ok && to != d {
					f(t.packages[d], file, to)
				}
			}
		}
	}
}

func layers(t *tree) (bad []string) {
	for _, d := range t.dirs() {
		if _, _, ok := roomOf(d); !ok && !slices.Contains(outside, d) {
			bad = append(bad, fmt.Sprintf("%s: package has no row in the table of layers", d))
		}
	}
	edges(t, func(from *pkg, in *file, to string) {
		room, row, ok := roomOf(from.dir)
		theirs, below, known := roomOf(to)
		switch {
		case in.test && slices.Contains(inTests, to):
		case !known:
			bad = append(bad, fmt.Sprintf("%s: imports %s, which has no row", in.path, to))
		case slices.Contains(outside, from.dir):
			bad = append(bad, fmt.Sprintf(
				"%s: %s imports nothing of ours, and here it imports %s",
				in.path,
				from.dir,
				to,
			))
		case ok && below >= row && (room != theirs || isDriver(to) && !sameDriver(from.dir, to)):
			bad = append(bad, fmt.Sprintf(
				"%s: %s (row %d) imports %s (row %d), which is not below it",
				in.path,
				from.dir,
				row,
				to,
				below,
			))
		}
	})
	return bad
}

// sameDriver reports whether two packages belong to one driver: below it, its parts are free.
func sameDriver(a, b string) bool {
	return slices.ContainsFunc(driverList, func(d string) bool {
		return within(a, d) && within(b, d)
	})
}

func drivers(t *tree) (bad []string) {
	edges(t, func(from *pkg, in *file, to string) {
		if isDriver(to) && !sameDriver(from.dir, to) && !chooses(from.dir) &&
			!(in.test && slices.Contains(inTests, to)) {
			bad = append(bad, fmt.Sprintf(
				"%s: imports the driver %s; only %s do",
				in.path,
				to,
				strings.Join(choosers, ", "),
			))
		}
	})
	return bad
}

// chooses reports whether a package is in a room that imports drivers.
func chooses(dir string) bool {
	return slices.ContainsFunc(choosers, func(room string) bool { return within(dir, room) })
}

// servers of reference, which share no code with the clients that measure them, nor with each
// other.
var references = []string{"reference/refchat", "reference/refnull"}

func strangers(t *tree) (bad []string) {
	reference := func(dir string) string {
		i := slices.IndexFunc(references, func(r string) bool { return within(dir, r) })
		if i < 0 {
			return ""
		}
		return references[i]
	}
	edges(t, func(from *pkg, in *file, to string) {
		server := reference(from.dir)
		switch {
		case server != "" && !within(to, server) && !(in.test && slices.Contains(inTests, to)):
			bad = append(
				bad,
				fmt.Sprintf("%s: the reference server %s imports %s", in.path, server, to),
			)
		case !in.test && top(from.dir) == "dialect" && reference(to) != "":
			bad = append(
				bad,
				fmt.Sprintf("%s: a dialect imports the reference server %s", in.path, to),
			)
		}
	})
	return bad
}

// clock are the functions of package time that read or wait for a clock.
var clock = []string{
	"Now",
	"Since",
	"Until",
	"After",
	"AfterFunc",
	"Tick",
	"NewTimer",
	"NewTicker",
	"Sleep",
}

func purity(t *tree) (bad []string) {
	for _, d := range t.dirs() {
		if !slices.Contains(pure, d) {
			continue
		}
		for _, f := range t.packages[d].files {
			if f.test {
				continue
			}
			for _, p := range f.imports() {
				if slices.Contains(
					[]string{"os", "net", "syscall", "io/ioutil", "golang.org/x/sys", "unsafe"},
					top1(p),
				) ||
					strings.HasPrefix(p, "golang.org/x/sys/") {
					bad = append(
						bad,
						fmt.Sprintf("%s: %s imports %s; it does no I/O", f.path, d, p),
					)
				}
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					bad = append(bad, fmt.Sprintf("%s: %s starts a goroutine", t.fset.Position(n.Pos()), d))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clock, n.Sel.Name) {
						bad = append(bad, fmt.Sprintf("%s: %s reads a clock with time.%s", t.fset.Position(n.Pos()), d, n.Sel.Name))
					}
				}
				return true
			})
		}
	}
	return bad
}

// top1 is the part of an import path that decides: "os/exec" counts as "os", "io/ioutil" as itself.
func top1(imported string) string {
	if imported == "io/ioutil" {
		return imported
	}
	return top(imported)
}

// prints finds the calls that write to a stream past the gate, in the program whose streams people
// read and in the rooms that report its progress.
func prints(t *tree) (bad []string) {
	var files []*file
	for _, d := range append([]string{"run/session", "run/compare", "run/sizing"}, program...) {
		if p := t.packages[d]; p != nil {
			files = append(files, p.files...)
		}
	}
	for _, f := range files {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok &&
				(x.Name == "fmt" && (strings.HasPrefix(s.Sel.Name, "Fprint") || strings.HasPrefix(s.Sel.Name, "Print")) ||
					x.Name == "os" && (s.Sel.Name == "Stdout" || s.Sel.Name == "Stderr") && path.Base(f.path) != "main.go") {
				bad = append(bad, fmt.Sprintf(
					"%s: %s.%s passes the gate by; want plain.Fprintf on a stream of app",
					t.fset.Position(n.Pos()),
					x.Name,
					s.Sel.Name,
				))
			}
			return true
		})
	}
	return bad
}

func comments(t *tree) (bad []string) {
	for _, d := range t.dirs() {
		p := t.packages[d]
		if p.name == "" {
			continue
		}
		begin := "Package " + p.name + " "
		if p.name == "main" {
			begin = "Command " + path.Base(d) + " "
		}
		var docs []string
		for _, f := range p.files {
			if !f.test && f.ast.Doc != nil {
				docs = append(docs, f.ast.Doc.Text())
			}
		}
		switch {
		case len(docs) == 0:
			bad = append(bad, fmt.Sprintf("%s: no package comment that begins %q", d, begin))
		case len(docs) > 1:
			bad = append(bad, fmt.Sprintf("%s: %d package comments; one file has it", d, len(docs)))
		case !strings.HasPrefix(docs[0], begin):
			first, _, _ := strings.Cut(docs[0], "\n")
			bad = append(
				bad,
				fmt.Sprintf("%s: package comment begins %q, want %q", d, first, begin),
			)
		}
	}
	return bad
}

var (
	docLink = regexp.MustCompile(
		`\[\*?((?:[a-z][a-z0-9]*/)*[a-z][a-z0-9]*)\.([A-Z]\w*(?:\.[A-Z]\w*)?)\]`,
	)
	localLink = regexp.MustCompile(`\[\*?([A-Z]\w*(?:\.[A-Z]\w*)?)\]`)
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	spanName  = regexp.MustCompile(`^([a-z][a-z0-9]*)\.([A-Z]\w*(?:\.[A-Z]\w*)?)$`)
	spanPath  = regexp.MustCompile(`^\.?[\w.-]+(?:/[\w.-]+)+/?$`)
	fence     = regexp.MustCompile("(?ms)^```.*?^```")
)

// links checks [pkg.Name] and [Name] in Go comments, and `pkg.Name` and `dir/file` in Markdown.
func links(t *tree) (bad []string) {
	byName := map[string]*pkg{}
	for _, p := range t.packages {
		if p.name != "" && p.name != "main" {
			byName[p.name] = p
		}
	}
	for _, d := range t.dirs() {
		p := t.packages[d]
		for _, f := range p.files {
			if f.test {
				continue
			}
			for _, group := range f.ast.Comments {
				text := group.Text()
				where := func() string { return t.fset.Position(group.Pos()).String() }
				for _, m := range docLink.FindAllStringSubmatch(text, -1) {
					q := byName[path.Base(m[1])]
					if q == nil || !strings.HasSuffix("/"+q.dir, "/"+m[1]) {
						continue // a package of someone else
					}
					if !q.exported[m[2]] {
						bad = append(bad, fmt.Sprintf(
							"%s: mentions %s, which %s does not have",
							where(),
							m[0],
							q.dir,
						))
					}
				}
				if p.name == "main" {
					continue
				}
				for _, m := range localLink.FindAllStringSubmatch(text, -1) {
					if !p.exported[m[1]] {
						bad = append(bad, fmt.Sprintf(
							"%s: mentions %s, which %s does not have",
							where(),
							m[0],
							d,
						))
					}
				}
			}
		}
	}
	for _, name := range t.sorted() {
		if path.Ext(name) != ".md" || name == "CHANGELOG.md" {
			continue // a changelog may mention removed paths
		}
		text := fence.ReplaceAllFunc(t.texts[name], func(b []byte) []byte {
			return bytes.Repeat([]byte("\n"), bytes.Count(b, []byte("\n")))
		})
		for i, line := range strings.Split(string(text), "\n") {
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				where := fmt.Sprintf("%s:%d", name, i+1)
				if n := spanName.FindStringSubmatch(m[1]); n != nil {
					if q := byName[n[1]]; q != nil && !q.exported[n[2]] {
						bad = append(bad, fmt.Sprintf(
							"%s: mentions %s, which %s does not have",
							where,
							m[1],
							q.dir,
						))
					}
				}
				if spanPath.MatchString(m[1]) && t.paths[top(m[1])] &&
					!slices.Contains(skipped, top(m[1])) &&
					!t.paths[strings.TrimSuffix(m[1], "/")] {
					bad = append(
						bad,
						fmt.Sprintf("%s: mentions %s, which does not exist", where, m[1]),
					)
				}
			}
		}
	}
	return bad
}

var testName = regexp.MustCompile(`^((?:Test|Fuzz|Benchmark|Example)[A-Z]\w*)(?:/\S+)?$`)

// heldBy is the last cell in the head of a table whose rows are promises.
const heldBy = "| held by |"

// testCommand matches a command for tests of some directories by name.
var testCommand = regexp.MustCompile(`go test ((?:\./[\w./-]+\s)+)-run\s(\w+)`)

// emptyCommands checks that the commands for tests in a text carry out one.
func emptyCommands(t *tree, name, text string) (bad []string) {
	for _, m := range testCommand.FindAllStringSubmatchIndex(text, -1) {
		wanted := text[m[4]:m[5]]
		found := slices.ContainsFunc(strings.Fields(text[m[2]:m[3]]), func(dir string) bool {
			for test, dirs := range t.tests {
				if strings.Contains(test, wanted) && slices.Contains(dirs, path.Clean(dir)) {
					return true
				}
			}
			return false
		})
		if !found && wanted != "xxx" { // no test, beside -bench
			line := 1 + strings.Count(text[:m[0]], "\n")
			bad = append(bad, fmt.Sprintf("%s:%d: -run %s carries out no test there", name, line, wanted))
		}
	}
	return bad
}

// testNames checks that the tests that Markdown names in code spans can be run, that its commands
// for tests carry out one, and that no promise goes without one.
func testNames(t *tree) (bad []string) {
	for _, name := range t.sorted() {
		if path.Ext(name) != ".md" || name == "CHANGELOG.md" {
			continue
		}
		bad = append(bad, emptyCommands(t, name, string(t.texts[name]))...)
		promises := false
		for i, line := range strings.Split(string(t.texts[name]), "\n") {
			promises = strings.HasSuffix(line, heldBy) || promises && strings.HasPrefix(line, "|")
			cells := strings.Split(strings.TrimSuffix(line, "|"), " | ")
			if promises && !strings.HasSuffix(line, heldBy) && !strings.HasPrefix(line, "|--") &&
				!slices.ContainsFunc(
					codeSpan.FindAllStringSubmatch(cells[len(cells)-1], -1),
					func(m []string) bool {
						return testName.MatchString(m[1])
					},
				) {
				bad = append(
					bad,
					fmt.Sprintf("%s:%d: no test holds what this row promises", name, i+1),
				)
			}
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				if n := testName.FindStringSubmatch(m[1]); n != nil && t.tests[n[1]] == nil {
					bad = append(
						bad,
						fmt.Sprintf("%s:%d: names %s, and there is no such test", name, i+1, n[1]),
					)
				}
			}
		}
	}
	return bad
}

var forbidden = []string{
	"util",
	"utils",
	"common",
	"base",
	"helper",
	"helpers",
	"types",
	"core",
	"manager",
	"lib",
	"misc",
	"shared",
}

func names(t *tree) (bad []string) {
	for _, d := range t.dirs() {
		p := t.packages[d]
		for _, n := range []string{p.name, path.Base(d)} {
			if slices.Contains(forbidden, n) {
				bad = append(bad, fmt.Sprintf("%s: a package may not be named %s", d, n))
				break
			}
		}
	}
	return bad
}

var serverName = regexp.MustCompile(`(?i)mattermost`)

func servers(t *tree) (bad []string) {
	for _, d := range t.dirs() {
		if slices.Contains(named, top(d)) || slices.Contains(named, d) {
			continue
		}
		for _, f := range t.packages[d].files {
			for i, line := range bytes.Split(f.src, []byte("\n")) {
				if m := serverName.Find(line); m != nil {
					bad = append(bad, fmt.Sprintf("%s:%d: names %s", f.path, i+1, m))
				}
			}
		}
	}
	return bad
}

// A home or scratch directory of one machine, in the forms in which it slips into a commit.
var machinePath = regexp.MustCompile(
	`(?:^|[^\w/.-])(/(?:work|root|home/\w+|Users/\w+)/[\w.-]+|/tmp/(?:pl|claude)\b)`,
)

func machinePaths(t *tree) (bad []string) {
	look := func(name string, src []byte) {
		for i, line := range bytes.Split(src, []byte("\n")) {
			if m := machinePath.FindSubmatch(line); m != nil {
				bad = append(bad, fmt.Sprintf("%s:%d: has the machine path %s", name, i+1, m[1]))
			}
		}
	}
	for _, d := range t.dirs() {
		for _, f := range t.packages[d].files {
			look(f.path, f.src)
		}
	}
	for _, name := range t.sorted() {
		look(name, t.texts[name])
	}
	return bad
}

const mostLines = 900

func size(t *tree) (bad []string) {
	for _, d := range t.dirs() {
		for _, f := range t.packages[d].files {
			if f.lines > mostLines {
				bad = append(
					bad,
					fmt.Sprintf("%s: %d lines, at most %d", f.path, f.lines, mostLines),
				)
			}
		}
	}
	return bad
}

// mostImports is the largest number of our packages that a package imports, not counting the
// imports of its tests.
const mostImports = 20

func hubs(t *tree) (bad []string) {
	all := found{}
	for _, d := range t.dirs() {
		imports := map[string]bool{}
		for _, f := range t.packages[d].files {
			if f.test {
				continue
			}
			for _, imported := range f.imports() {
				if to, ok := ours(imported); ok && to != d {
					imports[to] = true
				}
			}
		}
		most := cmp.Or(t.debts["hubs"][d], mostImports)
		if len(imports) > mostImports {
			all.add(d, strconv.Itoa(len(imports)))
		}
		if len(imports) > most {
			bad = append(
				bad,
				fmt.Sprintf("%s: imports %d of our packages, at most %d", d, len(imports), most),
			)
		}
	}
	return append(bad, t.unneeded("hubs", "imports beyond the rule", all)...)
}

// mostOfFunction is the length of a function in lines, from its name to its brace.
const mostOfFunction = 80

func functions(t *tree) (bad []string) {
	long := found{}
	for _, dir := range t.dirs() {
		for _, f := range t.packages[dir].files {
			for _, d := range f.ast.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if f.test || !ok || fn.Body == nil {
					continue
				}
				lines := t.fset.Position(fn.End()).Line - t.fset.Position(fn.Pos()).Line + 1
				if lines > mostOfFunction {
					long.add(dir, fmt.Sprintf("%s of %d lines", fn.Name.Name, lines))
				}
			}
		}
	}
	return t.owed("functions", "functions beyond "+strconv.Itoa(mostOfFunction)+" lines", long)
}

var adrName = regexp.MustCompile(`^docs/adr/(\d{4})-[a-z0-9-]+\.md$`)

func adrs(t *tree) (bad []string) {
	const list = "docs/adr/README.md"
	index := string(t.texts[list])
	numbers := map[string]int{}
	for _, m := range adrRow.FindAllStringSubmatch(index, -1) {
		numbers[m[1]+m[2]]++
	}
	for n := 1; n <= len(numbers); n++ {
		if k := numbers[strconv.Itoa(n)]; k != 1 {
			bad = append(bad, fmt.Sprintf("%s: %d rows of the number %d, want 1", list, k, n))
		}
	}
	for _, name := range t.sorted() {
		if path.Dir(name) != "docs/adr" || name == list {
			continue
		}
		if !adrName.MatchString(name) {
			bad = append(bad, fmt.Sprintf("%s: want a name such as docs/adr/0001-title.md", name))
			continue
		}
		title, _, _ := strings.Cut(string(t.texts[name]), "\n")
		title = strings.TrimPrefix(title, "# ")
		if row := fmt.Sprintf("[%s](%s)", title, path.Base(name)); !strings.Contains(index, row) {
			bad = append(bad, fmt.Sprintf("%s: the index lacks %s", list, row))
		}
		for _, heading := range []string{"| Status |", "## Context", "## Decision", "## Consequences", "## Evidence"} {
			if !strings.Contains(string(t.texts[name]), "\n"+heading) {
				bad = append(bad, fmt.Sprintf("%s: lacks %q", name, heading))
			}
		}
	}
	for _, m := range adrLink.FindAllStringSubmatch(index, -1) {
		if t.texts["docs/adr/"+m[1]] == nil {
			bad = append(bad, fmt.Sprintf("%s: the index has %s, which does not exist", list, m[1]))
		}
	}
	return bad
}

var (
	// adrRow is a page or a line of the index, with its number.
	adrRow = regexp.MustCompile(`(?m)^(?:- \[(\d+)\. .*|\| (\d+) \|.*)$`)

	// adrLink is a link to a page.
	adrLink = regexp.MustCompile(`\]\((\d{4}-[a-z0-9-]+\.md)\)`)
)
