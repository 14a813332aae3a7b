package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A section is the table of the keys of one struct, in the order of [Plan.String]. It stands beside
// its struct, whose fields name their keys in the tag "yaml". The decoder, the printer, the schema
// and docs/plan.md are made of these tables.
type section []key

// A key is one row: its name in a file, the type of its values with their range and default, and
// the text for editors and docs/plan.md, whose line breaks do not count.
type key struct {
	name string
	valueType
	text string
}

// gone is the type of a key that earlier versions had. Their records may hold it.
func gone(remedy string) valueType { return valueType{gone: remedy} }

// keys returns the keys that a file may have.
func (s section) keys() []key {
	return slices.DeleteFunc(slices.Clone(s), func(k key) bool { return k.gone != "" })
}

// names returns their names.
func (s section) names() []string {
	var names []string
	for _, k := range s.keys() {
		names = append(names, k.name)
	}
	return names
}

// key returns the row of a name, and false if there is none.
func (s section) key(name string) (key, bool) {
	for _, k := range s {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

// Default returns the default of a key of sections, in the words of a file.
func Default(path string) string {
	var k key
	s := planKeys
	for name := range strings.SplitSeq(path, ".") {
		k, _ = s.key(name)
		s = k.section
	}
	return fmt.Sprint(k.usual)
}

// fill sets the defaults of the keys in a struct.
func (s section) fill(v reflect.Value) {
	for _, k := range s.keys() {
		switch field := fieldOf(v, k.name); {
		case k.usual != nil:
			field.Set(k.of(field.Type(), k.usual))
		case k.section != nil && field.Kind() == reflect.Struct:
			k.section.fill(field)
		}
	}
}

// fieldOf returns the field of a struct that holds the value of a key.
func fieldOf(v reflect.Value, name string) reflect.Value {
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("yaml") == name {
			return v.Field(i)
		}
	}
	panic(fmt.Sprintf("plan: %s has no field of the key %s", v.Type(), name))
}

// A valueType reads, checks, writes and describes the values of a key.
type valueType struct {
	read   func(n node, to reflect.Value)
	write  func(e *encoder, depth int, key string, v reflect.Value)
	schema func(valueType) object

	show      func(reflect.Value) string // a single value in the words of a file
	hidesZero bool                       // a zero value is left out of the canonical form
	want      string                     // the form of a value, for errors and docs/plan.md
	section   section                    // of a struct
	each      *key                       // of the entries of a list or mapping

	usual       any          // the default
	least, most any          // accepted numbers and quantities
	words       []string     // accepted texts
	pattern     string       // of accepted texts
	accept      []acceptance // further conditions on a single value
	entries     int          // most entries of a list or mapping
	plural      string       // their name
	nothing     string       // remedy for a key without a value
	empty       string       // remedy for a list without entries; "" accepts one
	required    bool         // by the schema
	missing     string       // remedy for a missing key; "" accepts it
	gone        string       // remedy for a key of earlier versions
}

// An acceptance returns the error of a value under a key, or "".
type acceptance func(key string, v reflect.Value) string

// in describes the form of a value.
func (t valueType) in(form string) valueType {
	t.want = form
	return t
}

// or sets the default, in the words of a file.
func (t valueType) or(usual any) valueType {
	t.usual = usual
	return t
}

// hidingZero leaves the zero value out of the canonical form.
func (t valueType) hidingZero() valueType {
	t.hidesZero = true
	return t
}

// needed has a missing key reported, with a remedy.
func (t valueType) needed(remedy string) valueType {
	t.required = true
	t.missing = remedy
	return t
}

// demanded has the schema require the key. The code reports a missing one.
func (t valueType) demanded() valueType {
	t.required = true
	return t
}

// within describes the range of a number, which the code checks.
func (t valueType) within(least, most any) valueType {
	t.least = least
	t.most = most
	return t
}

// from sets the range of a number or quantity, in the words of a file.
func (t valueType) from(least, most any) valueType {
	return t.within(least, most).accepting(func(_ string, v reflect.Value) string {
		low := t.of(v.Type(), least)
		high := t.of(v.Type(), most)
		if amount(v) >= amount(low) && amount(v) <= amount(high) {
			return ""
		}
		return fmt.Sprintf(
			"%s is out of range; want %s to %s",
			t.show(v),
			t.show(low),
			t.show(high),
		)
	})
}

// accepting adds a condition.
func (t valueType) accepting(condition acceptance) valueType {
	t.accept = append(slices.Clip(t.accept), condition)
	return t
}

// checked adds the condition of a text.
func (t valueType) checked(check func(string) error) valueType {
	return t.accepting(func(_ string, v reflect.Value) string {
		if err := check(v.String()); err != nil {
			return err.Error()
		}
		return ""
	})
}

// atMost limits the entries of a list or mapping.
func (t valueType) atMost(n int, plural string) valueType {
	t.entries = n
	t.plural = plural
	return t
}

// filled refuses a list without entries.
func (t valueType) filled(remedy string) valueType {
	t.empty = remedy
	return t
}

// describing adds to the schema of the value.
func (t valueType) describing(more object) valueType {
	schema := t.schema
	t.schema = func(t valueType) object {
		s := schema(t)
		maps.Copy(s, more)
		return s
	}
	return t
}

// of returns the value that the words of a file stand for.
func (t valueType) of(typ reflect.Type, words any) reflect.Value {
	v := reflect.New(typ).Elem()
	t.read(node{&yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(words)}, new(decoder), ""}, v)
	return v
}

// amount returns a number or quantity for comparisons.
func amount(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// decode reads and checks a value.
func (t valueType) decode(n node, to reflect.Value) {
	n.d.nodes[n.path] = n.Node
	if isNull(n.Node) {
		remedy := "write one, or remove the key"
		if t.nothing != "" {
			remedy = t.nothing
		}
		n.fail("has no value; %s", remedy)
		return
	}
	t.read(n, to)
	count := len(n.Content)
	if n.Kind == yaml.MappingNode {
		count /= 2
	}
	switch {
	case n.Kind == yaml.ScalarNode:
	case count == 0 && t.empty != "":
		n.fail("is an empty list; %s", t.empty)
	case t.entries > 0 && count > t.entries:
		n.note("has %d %s; want at most %d", count, t.plural, t.entries)
	}
	name := n.path[strings.LastIndexByte(n.path, '.')+1:]
	for _, condition := range t.accept {
		if n.d.bad[n.path] {
			return
		}
		if text := condition(name, to); text != "" {
			n.note("%s", text)
		}
	}
}

// encode writes a key with its value, or nothing.
func (t valueType) encode(e *encoder, depth int, key string, v reflect.Value) {
	switch {
	case t.write != nil:
		t.write(e, depth, key, v)
	case !t.hidesZero || !v.IsZero():
		e.line(depth, key, t.show(v))
	}
}

// entry writes an entry of a mapping, which is there also when it is zero.
func (t valueType) entry(e *encoder, depth int, name string, v reflect.Value) {
	switch name = quote(name); {
	case t.show != nil:
		e.line(depth, name, t.show(v))
	case t.section == nil:
		t.write(e, depth, name, v)
	case !e.section(depth, name, v, t.section):
		e.line(depth, name, "{}")
	}
}

// describe returns the schema of the key.
func (k key) describe() object {
	s := k.schema(k.valueType)
	if k.text != "" {
		s["description"] = k.plainText()
	}
	switch usual := k.usual.(type) {
	case nil:
	case fmt.Stringer:
		s["default"] = usual.String()
	default:
		s["default"] = usual
	}
	return s
}

// plainText returns the text on one line.
func (k key) plainText() string { return strings.Join(strings.Fields(k.text), " ") }

// schema returns the schema of a section.
func (s section) schema() object {
	props := object{}
	var required []string
	for _, k := range s.keys() {
		props[k.name] = k.describe()
		if k.required {
			required = append(required, k.name)
		}
	}
	all := object{"type": "object", "properties": props, "additionalProperties": false}
	if required != nil {
		all["required"] = required
	}
	return all
}
