package plan

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxSource is the largest plan that is read, in bytes.
const MaxSource = 1 << 20

// maxEntries is the largest number of entries of one list or mapping.
const maxEntries = 1000

// Parse reads a plan. The source is one YAML document, read strictly: a key that is unknown or
// there twice, a value of the wrong type or unit, a value that is impossible by itself or together
// with others, an alias and a secret are all errors. So are more than [MaxSource] bytes, and more
// than 1000 entries of one list or mapping. It reports everything it finds as one [*Error], which
// describes the first 100 problems and counts the rest.
func Parse(src []byte) (*Plan, error) { return Known{}.Parse(src) }

// ParseStored is [Parse] for a plan as [Plan.String] wrote it into a record. It compares only the
// listed endpoints: a margin that a later version of this program gives to every plan does not
// enter a comparison that began without it. A plan without any margin has the default margins of
// this version.
func ParseStored(src []byte) (*Plan, error) { return Known{}.parse(src, true) }

// Parse is [Parse] with a check of names against the known ones.
func (k Known) Parse(src []byte) (*Plan, error) { return k.parse(src, false) }

func (k Known) parse(src []byte, stored bool) (*Plan, error) {
	d := newDecoder("")
	d.stored = stored
	d.serverOnly = k.ServerOnly
	root := d.document(src)
	if root == nil || !d.format(root) {
		return nil, d.err()
	}
	var p Plan
	d.decode("", root, &p, sub(planKeys))
	d.applyDefaults(&p)
	d.check(&p, k)
	if err := d.err(); err != nil {
		return nil, err
	}
	return &p, nil
}

// A decoder turns YAML nodes into a plan and records positions and errors.
type decoder struct {
	problems []Problem
	more     int                   // problems that are only counted
	nodes    map[string]*yaml.Node // by path, for each value in the file
	wrong    map[string]bool       // paths with a problem
	bad      map[string]bool       // paths with a problem, and all paths above them
	// paths whose value could not be read; nothing below them can be judged
	unread     map[string]bool
	checking   bool    // reading is over
	root       section // the keys of the plan
	serverOnly bool    // a plan may lack its workload
	stored     bool    // the plan is one of a record: its margins are all that it has
	empty      string  // error text for an empty file, if it is not a plan
}

// A node is one of a file, at its path.
type node struct {
	*yaml.Node

	d    *decoder
	path string
}

// entry returns the value of a key of a mapping.
func (n node) entry(name string, value *yaml.Node) node {
	return node{value, n.d, join(n.path, name)}
}

// item returns an entry of a list.
func (n node) item(i int) node {
	return node{n.Content[i], n.d, fmt.Sprintf("%s[%d]", n.path, i)}
}

// fail notes that the value cannot be read.
func (n node) fail(format string, args ...any) { n.d.fail(n.Node, n.path, format, args...) }

// note notes a problem with the value.
func (n node) note(format string, args ...any) { n.d.note(n.Node, n.path, format, args...) }

// newDecoder returns a decoder of one file. empty is the error of an empty file; "" means the error
// of an empty plan.
func newDecoder(empty string) *decoder {
	return &decoder{
		nodes:  map[string]*yaml.Node{},
		bad:    map[string]bool{},
		unread: map[string]bool{},
		wrong:  map[string]bool{},
		root:   planKeys,
		empty:  empty,
	}
}

// decode reads the root of a file as a value of a type.
func (d *decoder) decode(path string, n *yaml.Node, to any, t valueType) {
	t.decode(node{n, d, path}, reflect.ValueOf(to).Elem())
	d.checking = true
}

// err returns the problems; nil if there are none.
func (d *decoder) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	return newError(d.problems, d.more)
}

// fail notes a problem at a node whose value cannot be read.
func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	d.note(n, path, format, args...)
	if !d.checking {
		d.unread[path] = true
	}
}

// note notes a problem at a node.
func (d *decoder) note(n *yaml.Node, path, format string, args ...any) {
	line, col := 1, 1
	if n != nil && n.Line > 0 {
		line, col = n.Line, n.Column
	}
	if d.full() {
		d.more++
	} else {
		d.problems = append(d.problems, Problem{
			Line: line,
			Col:  col,
			Path: path,
			Msg:  fmt.Sprintf(format, args...),
		})
	}
	d.wrong[path] = true
	for path != "" {
		d.bad[path] = true
		path = above(path)
	}
}

// full reports whether further problems are only counted.
func (d *decoder) full() bool { return len(d.problems) >= maxProblems }

// above returns the path of the mapping or list around a value; "" is the plan.
func above(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// at notes a problem with a value that was decoded, at its place or at the place of the nearest
// mapping around it. A value that could not be read, or has a problem already, is not judged again.
func (d *decoder) at(path, format string, args ...any) {
	if d.read(path) && !d.wrong[path] {
		d.note(d.place(path), path, format, args...)
	}
}

func (d *decoder) place(path string) *yaml.Node {
	for path != "" && d.nodes[path] == nil {
		path = above(path)
	}
	return d.nodes[path]
}

// given reports whether the file has a value at the path.
func (d *decoder) given(path string) bool { return d.nodes[path] != nil }

// good reports whether nothing is wrong with the values at the paths, so that they may be compared.
func (d *decoder) good(paths ...string) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return d.bad[p] || !d.read(p) })
}

// read reports whether the value at the path was read, though there may be something wrong inside.
func (d *decoder) read(path string) bool {
	for ; path != ""; path = above(path) {
		if d.unread[path] {
			return false
		}
	}
	return !d.unread[""]
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// object decodes a mapping into a struct.
func (n node) object(v reflect.Value, s section) {
	want := "a mapping of " + strings.Join(s.names(), ", ")
	n.mapping(want, func(name string, k *yaml.Node, value node) {
		switch row, ok := s.key(name); {
		case !ok:
			n.entry(shortened(name), k).unknown(name, s)
		case row.gone == "":
			row.decode(value, fieldOf(v, name))
		case !n.d.stored:
			n.entry(name, k).fail("is gone: %s", row.gone)
		}
	})
	if n.d.read(n.path) {
		n.missing(s)
	}
}

// missing reports the keys that a section needs and the file does not have.
func (n node) missing(s section) {
	for _, k := range s {
		switch at := n.entry(k.name, n.Node); {
		case n.d.given(at.path) || n.d.bad[at.path] || n.d.serverOnly && at.path == "workload":
		case k.missing != "":
			at.note("is missing; %s", k.missing)
		case k.required && k.section != nil:
			at.missing(k.section)
		}
	}
}

// unknown reports a key that a section does not have.
func (n node) unknown(name string, s section) {
	if n.d.full() { // a remedy costs more than all the rest
		n.fail("unknown key")
		return
	}
	names := s.names()
	remedy := cmp.Or(
		Nearest(name, names),
		n.d.elsewhere(name),
		"known here: "+strings.Join(names, ", "),
	)
	n.fail("unknown key; %s", remedy)
}

// elsewhere names the place where a key does belong, or "".
func (d *decoder) elsewhere(name string) string {
	for _, top := range d.root.keys() {
		if top.name == name {
			return fmt.Sprintf("did you mean %q at the top level?", name)
		}
		if slices.Contains(top.section.names(), name) {
			return fmt.Sprintf("did you mean %q?", top.name+"."+name)
		}
	}
	return ""
}

// mapping calls each for every key of a mapping, in the order of the file; a key that is there
// twice is a problem.
func (n node) mapping(want string, each func(key string, k *yaml.Node, value node)) {
	if n.Kind != yaml.MappingNode {
		n.fail("is %s; want %s", kindOf(n.Node), want)
		return
	}
	if len(n.Content)/2 > maxEntries {
		n.fail("has %d keys; want at most %d", len(n.Content)/2, maxEntries)
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			n.d.fail(k, n.path, "a key is %s; want a name", kindOf(k))
			continue
		}
		if line, twice := first[k.Value]; twice {
			n.entry(shortened(k.Value), k).fail("is there twice, first on line %d; keep one", line)
			continue
		}
		first[k.Value] = k.Line
		each(k.Value, k, n.entry(k.Value, v))
	}
}

// entries is mapping for names that the author of the plan chooses.
func (n node) entries(want string, each func(name string, value node)) {
	n.mapping(want, func(name string, k *yaml.Node, value node) {
		if strings.TrimSpace(name) == "" || strings.ContainsFunc(name, isControl) ||
			len(name) > 128 {
			n.d.fail(
				k,
				n.path,
				"%s cannot be a name; want one line of at most 128 characters that is not empty",
				clip(name),
			)
			return
		}
		each(name, value)
	})
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// decodeScalar decodes a single value with its parser.
func decodeScalar[T any](want string, parse func(string) (T, error)) func(n node, to *T) {
	return func(n node, to *T) {
		if n.Kind != yaml.ScalarNode {
			n.fail("is %s; want %s", kindOf(n.Node), want)
			return
		}
		if isNull(n.Node) {
			n.fail("has no value; write one, or remove the key")
			return
		}
		v, err := parse(n.Value)
		if err != nil {
			n.fail("%s", err.Error())
			return
		}
		*to = v
	}
}
