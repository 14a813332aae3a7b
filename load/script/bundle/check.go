package bundle

import (
	"slices"
	"strings"

	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/token"
)

// Check lists everything in the script of path that is not supported, and as notes what means
// something else here than in k6. It runs nothing. Only what the script can reach counts: functions
// that nothing uses are not in the program. An error is one of the file itself.
func Check(path string) ([]Construct, error) {
	s, err := open(path)
	if err != nil {
		return nil, err
	}
	defer s.root.Close()
	out := s.build(nil).wrong
	marked := s.build(markers())
	b := &Bundle{Name: s.name, Code: marked.code, Map: marked.positions}
	if len(marked.wrong) > 0 { // of both builds the same
		return out, nil
	}
	tree, err := b.parse()
	if err != nil {
		return append(out, b.constructs(err)...), nil
	}
	c := &checking{tree: tree, modules: map[string]string{}, guarded: map[string]bool{}}
	c.check()
	_, nameless := environment(tree)
	out = append(out, nameless...)
	return sorted(append(out, c.found...)), nil
}

// mark begins the names that stand for globals in the code that is checked: esbuild replaces only
// those that no scope of the script declares.
const mark = "__plimsoll_"

// globals are the globals of browsers, Node and k6 that do not exist here, with the remedy.
var globals = map[string]string{
	"setInterval":       `sockets have setInterval of k6/ws; otherwise loop with sleep()`,
	"setTimeout":        "use sleep()",
	"setImmediate":      "call the function",
	"clearInterval":     "use sleep()",
	"clearTimeout":      "use sleep()",
	"fetch":             "use k6/http",
	"XMLHttpRequest":    "use k6/http",
	"WebSocket":         `use k6/ws, or user.socket of "plimsoll"`,
	"process":           "read variables as __ENV.NAME",
	"Buffer":            "use strings, or Uint8Array with http's ArrayBuffer bodies",
	"__dirname":         "open() counts from the script's folder",
	"__filename":        "open() counts from the script's folder",
	"window":            "there is no browser; use globalThis",
	"document":          "there is no browser",
	"navigator":         "there is no browser",
	"global":            "use globalThis",
	"URL":               "build the address as a string; http.url names it",
	"URLSearchParams":   "join name=encodeURIComponent(value) with &",
	"TextEncoder":       "send strings; their bodies are UTF-8",
	"TextDecoder":       "read response.body, which is text",
	"structuredClone":   "use JSON.parse(JSON.stringify(value))",
	"crypto":            "use Math.random, which follows the plan's seed",
	"performance":       "use Date.now()",
	"atob":              "copy a base64 function into a file beside the script",
	"btoa":              "copy a base64 function into a file beside the script",
	"Intl":              "format numbers and dates by hand",
	"WeakRef":           "keep the value itself",
	"Atomics":           "users share nothing but SharedArray",
	"SharedArrayBuffer": "users share nothing but SharedArray",
}

// markers returns what stands for each global.
func markers() map[string]string {
	all := map[string]string{}
	for name := range globals {
		all[name] = mark + name
	}
	return all
}

// members are the exports of modules that differ from k6's, by module: with a remedy those that are
// not supported.
var members = map[string]map[string]string{
	"k6": {"randomSeed": "the plan's seed decides; remove it"},
	"k6/http": {
		"file":         "build the multipart body as a string, or as an ArrayBuffer",
		"asyncRequest": "use http.request, or http.batch",
	},
}

// methods are those of k6's answers that read pages.
var methods = []string{"clickLink", "submitForm"}

// A checking walks the code of a script.
type checking struct {
	tree    *ast.Program
	modules map[string]string // by the name of the variable
	guarded map[string]bool   // globals that the script asks for with typeof
	found   []Construct
}

func (c *checking) add(n ast.Node, text, remedy string) {
	c.found = append(c.found, placed(c.tree, n.Idx0(), text, remedy))
}

func (c *checking) note(n ast.Node, text, meaning string) {
	c.add(n, text, meaning)
	c.found[len(c.found)-1].Note = true
}

func (c *checking) check() {
	asked := map[ast.Node]bool{}
	visit(c.tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Binding:
			if id, ok := n.Target.(*ast.Identifier); ok {
				if module := imported(n.Initializer); module != "" {
					c.modules[id.Name.String()] = module
				}
			}
		case *ast.UnaryExpression:
			if name := marked(n.Operand); name != "" && n.Operator == token.TYPEOF {
				c.guarded[name], asked[n.Operand] = true, true
			}
		}
	})
	visit(c.tree, func(n ast.Node) {
		if asked[n] {
			return
		}
		switch n := n.(type) {
		case *ast.Identifier:
			c.global(n)
		case *ast.DotExpression:
			c.member(n)
		case *ast.CallExpression:
			c.call(n)
		case *ast.RegExpLiteral:
			c.pattern(n, n.Pattern)
		case *ast.StringLiteral:
			c.address(n)
		}
	})
}

// imported returns the module of require("k6/http"), also within a call.
func imported(e ast.Expression) string {
	call, ok := e.(*ast.CallExpression)
	if !ok || len(call.ArgumentList) == 0 {
		return ""
	}
	if id, ok := call.Callee.(*ast.Identifier); ok && id.Name == "require" {
		if name, ok := call.ArgumentList[0].(*ast.StringLiteral); ok {
			return name.Value.String()
		}
	}
	return imported(call.ArgumentList[0])
}

// marked returns the global that a node stands for.
func marked(n ast.Node) string {
	if id, ok := n.(*ast.Identifier); ok {
		if name, ok := strings.CutPrefix(id.Name.String(), mark); ok {
			return name
		}
	}
	return ""
}

func (c *checking) global(n *ast.Identifier) {
	name := marked(n)
	switch {
	case name == "":
	case c.guarded[name]:
		c.note(n, name, "does not exist here, as the script expects with typeof")
	default:
		c.add(n, name, "does not exist here; "+globals[name])
	}
}

// member checks X.default.NAME and X.NAME of a module, and methods that only k6's answers have.
func (c *checking) member(n *ast.DotExpression) {
	name := n.Identifier.Name.String()
	if slices.Contains(methods, name) {
		c.add(n, "."+name+"()", "pages are not parsed; send the request of the link or form")
		return
	}
	from := n.Left
	if inner, ok := from.(*ast.DotExpression); ok && inner.Identifier.Name == "default" {
		from = inner.Left
	}
	if id, ok := from.(*ast.Identifier); ok {
		module := c.modules[id.Name.String()]
		if remedy, ok := members[module][name]; ok {
			c.add(n, name+" of "+module, remedy)
		}
	}
}

// call checks require, which import() is in the code, too.
func (c *checking) call(n *ast.CallExpression) {
	callee, ok := n.Callee.(*ast.Identifier)
	if !ok || callee.Name != "require" && callee.Name != "__require" || len(n.ArgumentList) == 0 {
		return
	}
	if _, ok := n.ArgumentList[0].(*ast.StringLiteral); !ok {
		c.add(n, "import of a computed name", "write the name itself: a bundle holds what it names")
	}
}

// pattern checks for what the engine's regular expressions lack.
func (c *checking) pattern(n ast.Node, pattern string) {
	switch {
	case strings.Contains(pattern, "(?<") && !strings.Contains(pattern, "(?<=") && !strings.Contains(pattern, "(?<!"):
		c.add(n, "a named group", "the engine, as k6's, has none: groups is undefined; use the group's number")
	case strings.Contains(pattern, `\p{`), strings.Contains(pattern, `\P{`):
		c.add(n, `\p{…}`, "the engine, as k6's, knows no properties of characters; write the range")
	}
}

// address notes absolute URLs, which only lead to the target.
func (c *checking) address(n *ast.StringLiteral) {
	text := n.Value.String()
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || rest == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, scheme) {
		return
	}
	host, _, _ := strings.Cut(rest, "/")
	c.note(n, "URL of "+clip(host), "must be the target's origin, or the request is an exception; "+
		"write __ENV.BASE_URL, which is the target's URL")
}
