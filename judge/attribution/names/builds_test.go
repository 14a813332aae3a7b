package names

import (
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"plimsoll/internal/failure"
)

// Two builds of one program. The new one has another module path and a package that moved, a
// renamed method and receiver, and one literal, one go and one loop more than the old one.
var (
	oldBuild = map[string]string{
		"go.mod": "module example.com/chat/v6\n\ngo 1.23\n",
		"main.go": `package main

import "example.com/chat/v6/store"

func main() { store.Open(8).Serve() }
`,
		"store/store.go": `package store

import (
	"iter"
	"os"
	"strconv"
	"strings"
)

type Post struct{ posts []string }

func Open(n int) *Post { return &Post{make([]string, n)} }

func (p *Post) Serve() {
	done := make(chan string)
	go func() { done <- p.search(os.Args[0]) }()
	func() { p.posts = append(p.posts, <-done) }()
	func() { println(strconv.Quote(p.posts[0])) }()
	for i := range p.all() {
		p.posts[0] = strings.ToUpper(i) + strconv.Itoa(len(i))
	}
	defer p.close(len(os.Args))
}

func (p *Post) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, post := range p.posts {
			if !yield(strings.TrimSpace(post)) {
				return
			}
		}
	}
}

func (p *Post) search(term string) string {
	for _, post := range p.posts {
		if strings.Contains(post, strings.ToLower(term)) {
			return Last(strings.Fields(post))
		}
	}
	return strconv.Itoa(Last([]int{1}))
}

func (p *Post) close(n int) { println(strconv.AppendInt(nil, int64(n), 2)) }

func Last[T any](all []T) T { return all[len(all)-1] }
`,
	}
	builds = strings.NewReplacer(
		"chat/v6/store", "chat/server/v8/channels/store", "module example.com/chat/v6",
		"module example.com/chat/server/v8", "*Post) search", "*Posts) find", "p.search", "p.find",
		"*Post", "*Posts", "&Post", "&Posts", "type Post", "type Posts",
		"\tdone := make(chan string)\n", `	done := make(chan string)
	func() { p.posts = strings.SplitAfter(os.Args[0], "/") }()
	for i := range p.all() {
		println(strconv.QuoteToASCII(i))
	}
	go os.Getenv(os.Args[0])
`,
	)
)

// build compiles a program without inlining, and returns its functions with their calls.
func build(t *testing.T, files map[string]string) []Routine {
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "program")
	c := exec.CommandContext(t.Context(), "go", "build", "-gcflags=./...=-l", "-o", program, ".")
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS=linux", "GOARCH=amd64")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return calls(t, program)
}

// calls reads the direct calls of a program, E8 and a distance, that lead to the start of a
// function.
func calls(t *testing.T, program string) []Routine {
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	text := file.Section(".text")
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value+s.Size > text.Addr+text.Size
	})
	at, index := map[uint64]int{}, map[string]int{}
	var functions []Routine
	for _, s := range symbols {
		name := Whole(s.Name, ".go")
		k, ok := index[name]
		if !ok {
			k = len(functions)
			index[name] = k
			fixed := strings.HasPrefix(name, "runtime.") || strings.Contains(name, "/runtime")
			functions = append(functions, Routine{Name: name, Fixed: fixed, Own: leastSamples})
		}
		at[s.Value] = k
	}
	for _, s := range symbols {
		for k := s.Value; k+5 <= s.Value+s.Size; k++ {
			b := code[k-text.Addr:]
			to := k + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
			if j, ok := at[to]; ok && b[0] == 0xe8 {
				call(functions, at[s.Value], j, leastSamples)
			}
		}
	}
	return functions
}

func TestMatchOfTwoBuilds(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		failure.Lacks(t, "go", err.Error())
	}
	newBuild := map[string]string{}
	for name, text := range oldBuild {
		name = strings.Replace(name, "store/", "channels/store/", 1)
		newBuild[name] = builds.Replace(text)
	}
	base, fresh := build(t, oldBuild), build(t, newBuild)
	got := map[string]string{}
	exact := 0
	for _, p := range Match(base, fresh) {
		from, to := base[p.Base].Name, fresh[p.Fresh].Name
		if !p.Renamed {
			exact++
			continue
		}
		from = strings.Replace(from, "example.com/chat/v6/", "", 1)
		got[from] = strings.Replace(to, "example.com/chat/server/v8/channels/", "", 1)
	}
	want := map[string]string{
		"store.Open":                     "store.Open",
		"store.(*Post).Serve":            "store.(*Posts).Serve",
		"store.(*Post).Serve.func1":      "store.(*Posts).Serve.func2",
		"store.(*Post).Serve.func2":      "store.(*Posts).Serve.func3",
		"store.(*Post).Serve.func3":      "store.(*Posts).Serve.func4",
		"store.(*Post).Serve-range1":     "store.(*Posts).Serve-range2",
		"store.(*Post).Serve.deferwrap1": "store.(*Posts).Serve.deferwrap2",
		"store.(*Post).all":              "store.(*Posts).all",
		"store.(*Post).all.func1":        "store.(*Posts).all.func1",
		"store.(*Post).search":           "store.(*Posts).find",
		"store.(*Post).close":            "store.(*Posts).close",
		"store.Last[...]":                "store.Last[...]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pairs with other names (-want +got):\n%s", diff)
	}
	if exact < 1000 {
		t.Errorf("%d functions of %d have their names", exact, len(base))
	}
}
