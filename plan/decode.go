package plan

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxSource is the largest plan that is read, in bytes.
const MaxSource = 1 << 20

// maxEntries is the largest number of entries of one list or mapping.
const maxEntries = 1000

// Parse reads a plan. The source is one YAML document, read strictly: a key that is unknown or there twice, a value
// of the wrong type or unit, a value that is impossible by itself or together with others, an alias and a secret
// are all errors. So are more than [MaxSource] bytes, and more than 1000 entries of one list or mapping. It reports
// everything it finds as one [*Error], which describes the first 100 problems and counts the rest.
func Parse(src []byte) (*Plan, error) { return Known{}.Parse(src) }

// ParseStored is [Parse] for a plan as [Plan.String] wrote it into a record. It compares only the listed endpoints: a
// margin that a later version of this program gives to every plan does not enter a comparison that began without it.
// A plan without any margin has those of today.
func ParseStored(src []byte) (*Plan, error) { return Known{}.parse(src, true) }

// Parse is [Parse], and also checks names against those known.
func (k Known) Parse(src []byte) (*Plan, error) { return k.parse(src, false) }

func (k Known) parse(src []byte, stored bool) (*Plan, error) {
	d := &decoder{stored: stored, nodes: map[string]*yaml.Node{}, bad: map[string]bool{}, unread: map[string]bool{}}
	root := d.document(src)
	if root == nil || !d.format(root) {
		return nil, newError(d.problems, d.more)
	}
	var p Plan
	d.value("", root, reflect.ValueOf(&p).Elem(), "")
	d.checking = true
	d.applyDefaults(&p)
	d.check(&p, k)
	if len(d.problems) > 0 {
		return nil, newError(d.problems, d.more)
	}
	return &p, nil
}

// A decoder turns YAML nodes into a plan and records positions and errors.
type decoder struct {
	problems []Problem
	more     int                   // problems that are only counted
	nodes    map[string]*yaml.Node // by path, for each value in the file
	bad      map[string]bool       // paths with a problem, and all paths above them
	unread   map[string]bool       // paths whose value could not be read; nothing below them can be judged
	checking bool                  // reading is over
	stored   bool                  // the plan is one of a record: its margins are all that it has
	empty    string                // error text for an empty file, if it is not a plan
}

// fail notes a problem at a node.
func (d *decoder) fail(n *yaml.Node, path, format string, args ...any) {
	line, col := 1, 1
	if n != nil && n.Line > 0 {
		line, col = n.Line, n.Column
	}
	if d.full() {
		d.more++
	} else {
		d.problems = append(d.problems, Problem{Line: line, Col: col, Path: path, Msg: fmt.Sprintf(format, args...)})
	}
	if !d.checking {
		d.unread[path] = true
	}
	for path != "" {
		d.bad[path] = true
		path = above(path)
	}
}

// full reports whether further problems are only counted.
func (d *decoder) full() bool { return len(d.problems) >= maxProblems }

// above returns the path of the mapping or list around a value; "" is the plan.
func above(path string) string { return path[:max(strings.LastIndexAny(path, ".["), 0)] }

// at notes a problem with a value that was decoded, at its place or at that of the nearest mapping around it.
func (d *decoder) at(path, format string, args ...any) {
	d.fail(d.place(path), path, format, args...)
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

// field is one key of a struct of the plan.
type field struct {
	key, kind string
	value     reflect.Value
	typ       reflect.StructField
}

// fields returns the keys of a struct in the order of its declaration, which is also the order of [Plan.String].
func fields(v reflect.Value) []field {
	var fs []field
	for i := range v.NumField() {
		t := v.Type().Field(i)
		if key := t.Tag.Get("yaml"); key != "-" && key != "" {
			fs = append(fs, field{key: key, kind: t.Tag.Get("kind"), value: v.Field(i), typ: t})
		}
	}
	return fs
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// value decodes a node into a Go value by the type of the latter.
func (d *decoder) value(path string, n *yaml.Node, v reflect.Value, kind string) {
	d.nodes[path] = n
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		d.fail(n, path, "has no value; write one, or remove the key")
		return
	}
	typeOf(v.Type(), kind).parse(d, path, n, v)
}

// retired returns what takes the place of a key that earlier versions had, and that their records may hold; empty for
// other keys.
func retired(path string) string {
	switch {
	case strings.HasPrefix(path, "compare.arms.") && strings.HasSuffix(path, ".deployment.engine"):
		return "containers are podman's"
	case retiredProbe.MatchString(path):
		return servedAgent
	case path == "fleet.relay":
		return "messages are accounted for in one way, however many agents there are"
	}
	return ""
}

// retiredProbe matches the keys of agents that served their samples.
var retiredProbe = regexp.MustCompile(`probes\[\d+\]\.(token|fingerprint|ca)$`)

// object decodes a mapping into a struct.
func (d *decoder) object(path string, n *yaml.Node, v reflect.Value) {
	fs := fields(v)
	keys := make([]string, len(fs))
	for i, f := range fs {
		keys[i] = f.key
	}
	d.mapping(path, n, "a mapping of "+strings.Join(keys, ", "), func(key string, k, c *yaml.Node) {
		i := slices.Index(keys, key)
		if remedy := retired(join(path, key)); i < 0 && remedy != "" {
			if !d.stored {
				d.fail(k, join(path, key), "is gone: %s", remedy)
			}
			return
		}
		if i < 0 {
			if d.full() { // a remedy costs more than all the rest
				d.fail(k, join(path, shortened(key)), "unknown key")
				return
			}
			remedy := Nearest(key, keys)
			if remedy == "" {
				remedy = elsewhere(key)
			}
			if remedy == "" {
				remedy = "known here: " + strings.Join(keys, ", ")
			}
			d.fail(k, join(path, shortened(key)), "unknown key; %s", remedy)
			return
		}
		d.value(join(path, key), c, fs[i].value, fs[i].kind)
	})
}

// elsewhere names the place where a key does belong, or "".
func elsewhere(key string) string {
	for _, top := range fields(reflect.ValueOf(new(Plan)).Elem()) {
		t := top.value.Type()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if top.key == key {
			return fmt.Sprintf("did you mean %q at the top level?", key)
		}
		if t.Kind() != reflect.Struct {
			continue
		}
		for _, f := range fields(reflect.New(t).Elem()) {
			if f.key == key {
				return fmt.Sprintf("did you mean %q?", top.key+"."+key)
			}
		}
	}
	return ""
}

// mapping calls each for every key of a mapping, in the order of the file; a key that is there twice is a problem.
func (d *decoder) mapping(path string, n *yaml.Node, want string, each func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, path, "is %s; want %s", kindOf(n), want)
		return
	}
	if len(n.Content)/2 > maxEntries {
		d.fail(n, path, "has %d keys; want at most %d", len(n.Content)/2, maxEntries)
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind != yaml.ScalarNode {
			d.fail(k, path, "a key is %s; want a name", kindOf(k))
			continue
		}
		if line, twice := first[k.Value]; twice {
			d.fail(k, join(path, shortened(k.Value)), "is there twice, first on line %d; keep one", line)
			continue
		}
		first[k.Value] = k.Line
		each(k.Value, k, v)
	}
}

// entries is mapping for names that the author of the plan chooses.
func (d *decoder) entries(path string, n *yaml.Node, want string, each func(key string, v *yaml.Node)) {
	d.mapping(path, n, want, func(key string, k, v *yaml.Node) {
		if strings.TrimSpace(key) == "" || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(key) > 128 {
			d.fail(k, path, "%s cannot be a name; want one line of at most 128 characters that is not empty", clip(key))
			return
		}
		each(key, v)
	})
}

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

// scalar returns the text of a single value.
func (d *decoder) scalar(path string, n *yaml.Node, want string) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, path, "is %s; want %s", kindOf(n), want)
		return "", false
	}
	if n.ShortTag() == "!!null" {
		d.fail(n, path, "has no value; write one, or remove the key")
		return "", false
	}
	return n.Value, true
}

// text decodes a text. Numbers and booleans are texts too, as they were written: version: 10.50 stays "10.50".
func (d *decoder) text(path string, n *yaml.Node, to *string) {
	s, ok := d.scalar(path, n, "a text")
	if !ok {
		return
	}
	if len(s) > 4096 {
		d.fail(n, path, "is %d bytes long; want at most 4096", len(s))
		return
	}
	*to = s
}

// rule decodes one SLO.
func (d *decoder) rule(path string, n *yaml.Node, to *SLO) {
	if n.Kind == yaml.MappingNode {
		d.fail(n, path, `is a mapping; put the rule in quotes: "promql: EXPR < 0.5"`)
		return
	}
	decodeScalar("a rule", ParseSLO)(d, path, n, to)
}

// decodeScalar decodes a single value with its parser.
func decodeScalar[T any](want string, parse func(string) (T, error)) parser[T] {
	return func(d *decoder, path string, n *yaml.Node, to *T) {
		s, ok := d.scalar(path, n, want)
		if !ok {
			return
		}
		v, err := parse(s)
		if err != nil {
			d.fail(n, path, "%s", err.Error())
			return
		}
		*to = v
	}
}

// decodeList decodes a list; an empty one is nil, as if the key were missing.
func decodeList[S ~[]T, T any](want string, each parser[T]) parser[S] {
	return func(d *decoder, path string, n *yaml.Node, to *S) {
		if n.Kind != yaml.SequenceNode {
			d.fail(n, path, "is %s; want %s", kindOf(n), want)
			return
		}
		if len(n.Content) > maxEntries {
			d.fail(n, path, "has %d entries; want at most %d", len(n.Content), maxEntries)
			return
		}
		for i, c := range n.Content {
			p := fmt.Sprintf("%s[%d]", path, i)
			d.nodes[p] = c
			var v T
			each(d, p, c, &v)
			*to = append(*to, v)
		}
	}
}

// decodeMap decodes a mapping; an empty one is nil, as if the key were missing.
func decodeMap[M ~map[string]T, T any](want string, each parser[T]) parser[M] {
	return func(d *decoder, path string, n *yaml.Node, to *M) {
		d.entries(path, n, want, func(key string, c *yaml.Node) {
			p := join(path, key)
			d.nodes[p] = c
			var v T
			each(d, p, c, &v)
			if *to == nil {
				*to = M{}
			}
			(*to)[key] = v
		})
	}
}
