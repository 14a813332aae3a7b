package names

import (
	"strings"
	"testing"
)

func TestWhole(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"slices.SortFunc[go.shape.[]int,go.shape.int]", "", "slices.SortFunc[...]"},
		{"slices.SortFunc[...]", "sort.go", "slices.SortFunc[...]"},
		{"a.Map[go.shape.int].func1", "", "a.Map[...].func1"},
		{"sync/atomic.(*Pointer[go.shape.struct { a/b.x [4]int }]).Load", "",
			"sync/atomic.(*Pointer[...]).Load"},
		{"a.F[go.shape.map[string]int,go.shape.[]a/b.T[int]]", "", "a.F[...]"},
		{"main.cold", "main.go", "main.cold"},
		{"main.part", "", "main"},
		{"exec_simple_query.constprop.0", "", "exec_simple_query"},
		{"ExecScan.isra.12.part.3.cold", "", "ExecScan"},
		{"heap_hot.cold.4", "", "heap_hot"},
		{"foo.llvm.1234567", "", "foo"},
		{"foo.localalias.lto_priv.0", "", "foo"},
		{".cold", "", ".cold"},
		{"base64", "", "base64"},
		{"[kernel] write", "", "[kernel] write"},
		{"a.F[go.shape.int", "", "a.F[go.shape.int"},
		{"a.F]]", "", "a.F]]"},
		{"", "", ""},
	} {
		if got := Whole(tt.name, tt.file); got != tt.want {
			t.Errorf("Whole(%q, %q) = %q, want %q", tt.name, tt.file, got, tt.want)
		}
	}
}

func TestSplit(t *testing.T) {
	for _, tt := range []struct{ name, pkg, rest string }{
		{"main.main", "main", "main"},
		{"main.(*T).M.func1.2", "main", "(*T).M.func1.2"},
		{"github.com/a/b/v8/c.(*T[...]).M", "github.com/a/b/v8/c", "(*T[...]).M"},
		{"gopkg.in/yaml%2ev2.unmarshal", "gopkg.in/yaml%2ev2", "unmarshal"},
		{"type:.eq.github.com/a/b.T", "github.com/a/b", "type:.eq.T"},
		{"glob..func3", "glob", ".func3"},
		{"main.F[github.com/x/y.T]", "main", "F[github.com/x/y.T]"},
		{"exec_simple_query", "", "exec_simple_query"},
		{"type:.", "", "type:."},
		{"", "", ""},
	} {
		if pkg, rest := split(tt.name); pkg != tt.pkg || rest != tt.rest {
			t.Errorf("split(%q) = %q, %q, want %q, %q", tt.name, pkg, rest, tt.pkg, tt.rest)
		}
	}
}

func TestElements(t *testing.T) {
	for _, tt := range []struct{ pkg, want string }{
		{"example.com/chat/chat-server/v6/app", "example.com/chat/chat-server/app"},
		{"gopkg.in/yaml%2ev2", "gopkg.in/yaml"},
		{"k8s.io/api/core/v1beta1", "k8s.io/api/core/v1beta1"},
		{"github.com/go-x/v", "github.com/go-x/v"},
		{"", ""},
	} {
		if got := strings.Join(elements(tt.pkg), "/"); got != tt.want {
			t.Errorf("elements(%q) = %q, want %q", tt.pkg, got, tt.want)
		}
	}
}

// TestClosure has names that compilers wrote: go1.21.13, go1.26.8 and go1.27.0, of one program.
func TestClosure(t *testing.T) {
	for _, tt := range []struct {
		name, parent, kind string
		number             int
	}{
		// go1.21: wrappers of go and defer are numbered with literals
		{"main.glob..func1", "glob.", ".func", 1},
		{"main.main.(*T[go.shape.int]).Add.func3", "main.(*T[...]).Add", ".func", 3},
		{"main.main.(*T[go.shape.int]).Add.func3.1", "main.(*T[...]).Add.func3", ".", 1},
		{"main.outer.func1.2", "outer.func1", ".", 2},
		{"main.worker.func1", "worker", ".func", 1},
		// go1.26
		{"main.init.func1", "init", ".func", 1},
		{"main.outer.func1.deferwrap1", "outer.func1", ".deferwrap", 1},
		{"main.outer.gowrap1", "outer", ".gowrap", 1},
		{"main.(*Post).Serve-range1", "(*Post).Serve", "-range", 1},
		// go1.27: a literal of an inlined method keeps its name
		{"main.(*T[go.shape.int]).Add.func1.deferwrap1", "(*T[...]).Add.func1", ".deferwrap", 1},
		// no closures
		{"main.init.0", "", "", 0},
		{"main.(*S).Pointer-fm", "", "", 0},
		{"main.S.Value", "", "", 0},
		{"crypto/sha256.block2", "", "", 0},
		{"main.func1", "", "", 0},
		{"deflate.1", "", "", 0}, // GCC's name of a local variable or a nested function
		{"main.F.func99999999999999999999", "", "", 0},
	} {
		f := parse(tt.name, "main.go")
		if f.parent != tt.parent || f.kind != tt.kind || f.number != tt.number {
			t.Errorf("%s is %q, %q, %d, want %q, %q, %d", tt.name,
				f.parent, f.kind, f.number, tt.parent, tt.kind, tt.number)
		}
	}
}
