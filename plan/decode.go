package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

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
	if root == nil {
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

// value decodes a node into a Go value by the type of the latter. One table of types serves all keys, so two keys of
// one type cannot be read by different rules.
func (d *decoder) value(path string, n *yaml.Node, v reflect.Value, kind string) {
	d.nodes[path] = n
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		d.fail(n, path, "has no value; write one, or remove the key")
		return
	}
	switch to := v.Addr().Interface().(type) {
	case *string:
		d.text(path, n, to)
	case *bool:
		if s, ok := d.scalar(path, n, "true or false"); ok {
			if *to = s == "true"; s != "true" && s != "false" {
				d.fail(n, path, "%s is neither true nor false; write one of them", clip(s))
			}
		}
	case *int:
		d.whole(path, n, to, kind)
	case *uint64:
		decodeScalar(d, path, n, to, "a whole number", parseUint)
	case *float64:
		if kind == "percent" {
			decodeScalar(d, path, n, to, "a percentage such as 25%", parsePercent)
		} else {
			decodeScalar(d, path, n, to, "a number such as 0.1", parseNumber)
		}
	case *time.Duration:
		if kind == "measure" {
			d.measure(path, n, to)
			return
		}
		decodeScalar(d, path, n, to, "a time such as 5s", parseDuration)
	case *Addresses:
		d.addresses(path, n, to)
	case *[]string:
		if kind == "one-or-list" && n.Kind == yaml.ScalarNode {
			*to = make([]string, 1)
			d.text(path, n, &(*to)[0])
			return
		}
		*to = decodeList(d, path, n, "a list of texts such as [a, b]", d.text)
	case *[]int:
		list, one := "a list of CPU numbers such as [0, 1]", "a CPU number"
		if kind == "users" {
			list, one = "a list of numbers of users such as [50, 200]", "a number of users"
		}
		if kind == "looks" {
			list, one = "a list of numbers of blocks such as [6, 9, 12]", "a number of blocks"
		}
		*to = decodeList(d, path, n, list, func(path string, n *yaml.Node, to *int) {
			decodeScalar(d, path, n, to, one, parseInt)
		})
	case *[]SLO:
		*to = decodeList(d, path, n, "a list of rules", d.rule)
		if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			d.fail(n, path, "is an empty list; write a rule, or remove the key for the default rules")
		}
	case *Env:
		d.env(path, n, to)
	case *map[string]string:
		decodeMap(d, path, n, to, "a mapping such as {NAME: value}", d.text)
	case *map[string]float64:
		decodeMap(d, path, n, to, "a mapping such as {reader: 10%}", func(path string, n *yaml.Node, to *float64) {
			d.value(path, n, reflect.ValueOf(to).Elem(), kind)
		})
	case *[]Stage:
		*to = decodeList(d, path, n, "a list of storms such as [{at: 60s, storm: KIND, share: 50%}]", func(path string, n *yaml.Node, to *Stage) {
			d.value(path, n, reflect.ValueOf(to).Elem(), "")
		})
	case *[]Offer:
		*to = decodeList(d, path, n, "a list of offers such as [{name: CX23, vcpu: 2, memory: 4GB, price: 6, currency: EUR}]", func(path string, n *yaml.Node, to *Offer) {
			d.value(path, n, reflect.ValueOf(to).Elem(), "")
		})
	case *Rates:
		decodeScalar(d, path, n, to, "a ramp such as 5/s to 30/s", parseRates)
	case *Memory:
		decodeScalar(d, path, n, to, "an amount of memory such as 4GB", parseMemory)
	case *Expectation:
		decodeScalar(d, path, n, to, "a number such as 12000000 ±0, same, or none", parseExpectation)
	case *DiskLimit:
		decodeScalar(d, path, n, to, "a stop rule such as disk=10GiB", parseDiskLimit)
	case *LastPart:
		decodeScalar(d, path, n, to, "a part such as last 60m", parseLastPart)
	case *[]Probe:
		*to = decodeList(d, path, n, "a list of probes such as [{kind: prometheus, role: app, url: http://HOST:9100/metrics}]", func(path string, n *yaml.Node, to *Probe) {
			d.value(path, n, reflect.ValueOf(to).Elem(), "")
		})
	case *PerEngine:
		if n.Kind == yaml.ScalarNode {
			var one int
			if kind == "users" {
				decodeScalar(d, path, n, &one, "a number of users, or auto", parseUsers)
				*to = PerEngine{"": one}
				return
			}
			decodeScalar(d, path, n, &one, "a whole number, or one for each engine", parseInt)
			*to = PerEngine{"": one}
			return
		}
		decodeMap(d, path, n, (*map[string]int)(to), "a whole number, or a mapping such as {postgresql: 400}", func(path string, n *yaml.Node, to *int) {
			decodeScalar(d, path, n, to, "a whole number", parseInt)
		})
	case *Margin:
		if n.Kind == yaml.ScalarNode {
			var one MarginValue
			decodeScalar(d, path, n, &one, "a margin such as 5%", parseMargin)
			*to = Margin{"capacity": one}
			return
		}
		decodeMap(d, path, n, (*map[string]MarginValue)(to), "a margin such as 5%, or a mapping such as {capacity: 5%}", func(path string, n *yaml.Node, to *MarginValue) {
			decodeScalar(d, path, n, to, "a margin such as 5% or 0.1pp", parseMargin)
		})
	case *map[string]LinkLimit:
		decodeMap(d, path, n, to, "a mapping such as {all: {rate: 1Gbit/s}, db: {delay: 500us}}", func(path string, n *yaml.Node, to *LinkLimit) {
			d.value(path, n, reflect.ValueOf(to).Elem(), "")
		})
	case *Bitrate:
		decodeScalar(d, path, n, to, "a rate such as 100Mbit/s", parseBitrate)
	case *Gates:
		to.decode(d, path, n)
	case *Rate:
		decodeScalar(d, path, n, to, "a rate such as 200/s", parseRate)
	case **Agents:
		*to = new(Agents)
		if n.Kind == yaml.ScalarNode {
			d.nodes[join(path, "count")] = n
			decodeScalar(d, path, n, &(*to).Count, "a number of hosts such as 11, or a mapping such as {match: {zone: a}}", parseInt)
			return
		}
		d.object(path, n, v.Elem())
	case **Arrival:
		*to = new(Arrival)
		if n.Kind == yaml.ScalarNode {
			d.nodes[join(path, "rate")] = n
			decodeScalar(d, path, n, &(*to).Rate, "a rate such as 200/s, or a mapping such as {rate: 200/s, process: poisson}", parseRate)
			return
		}
		d.object(path, n, v.Elem())
	case *[]Arm:
		d.entries(path, n, "a mapping of arms such as {base: {}, new: {args: [-x]}}", func(key string, c *yaml.Node) {
			a := Arm{Name: key}
			if c.Kind == yaml.ScalarNode && c.ShortTag() == "!!null" {
				d.fail(c, join(path, key), "has no value; write {} for an arm that changes nothing")
			} else {
				d.value(join(path, key), c, reflect.ValueOf(&a).Elem(), "")
			}
			*to = append(*to, a)
		})
	case *[]SetupRow:
		d.entries(path, n, "a mapping of rows such as {dataset: none}", func(key string, c *yaml.Node) {
			r := SetupRow{Name: key}
			p := join(path, key)
			d.nodes[p] = c
			d.text(p, c, &r.Value)
			*to = append(*to, r)
		})
	default:
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		d.object(path, n, v)
	}
}

// object decodes a mapping into a struct.
func (d *decoder) object(path string, n *yaml.Node, v reflect.Value) {
	fs := fields(v)
	keys := make([]string, len(fs))
	for i, f := range fs {
		keys[i] = f.key
	}
	d.mapping(path, n, "a mapping of "+strings.Join(keys, ", "), func(key string, k, c *yaml.Node) {
		i := slices.Index(keys, key)
		if remedy, old := retired[key]; i < 0 && old && slices.Contains(keys, ProbeContainer) {
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
	decodeScalar(d, path, n, to, "a rule", ParseSLO)
}

// decodeScalar decodes a single value with its parser.
func decodeScalar[T any](d *decoder, path string, n *yaml.Node, to *T, want string, parse func(string) (T, error)) {
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

// decodeList decodes a list; an empty one is nil, as if the key were missing.
func decodeList[T any](d *decoder, path string, n *yaml.Node, want string, each func(string, *yaml.Node, *T)) []T {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, path, "is %s; want %s", kindOf(n), want)
		return nil
	}
	if len(n.Content) > maxEntries {
		d.fail(n, path, "has %d entries; want at most %d", len(n.Content), maxEntries)
		return nil
	}
	var list []T
	for i, c := range n.Content {
		p := fmt.Sprintf("%s[%d]", path, i)
		d.nodes[p] = c
		var v T
		each(p, c, &v)
		list = append(list, v)
	}
	return list
}

// decodeMap decodes a mapping; an empty one is nil, as if the key were missing.
func decodeMap[T any](d *decoder, path string, n *yaml.Node, to *map[string]T, want string, each func(string, *yaml.Node, *T)) {
	d.entries(path, n, want, func(key string, c *yaml.Node) {
		p := join(path, key)
		d.nodes[p] = c
		var v T
		each(p, c, &v)
		if *to == nil {
			*to = map[string]T{}
		}
		(*to)[key] = v
	})
}
