package plan

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The types of single values. Two keys of one type have the same syntax.
var (
	// text is a text without a secret. Numbers and booleans are texts too, as they were written:
	// version: 10.50 stays "10.50".
	text = raw.accepting(func(key string, v reflect.Value) string {
		return secretValue(key, v.String())
	})
	// raw is a text whose secrets the code looks for, or that is one of a list of names.
	raw   = single("a text", parseText, quote, nil).hidingZero()
	label = text.matching(nameRE, "cannot be a name; want "+nameSyntax).in("a name")

	boolean  = single("true or false", parseBool, strconv.FormatBool, object{"type": "boolean"})
	integer  = whole("a whole number")
	positive = single("a whole number", parseUint, formatUint, object{
		"type":    "integer",
		"minimum": 0,
	})
	number = single("a number such as 0.1", parseNumber, formatNumber, object{"type": "number"})

	percent = single(
		"a percentage such as 25%",
		parsePercent,
		formatPercent,
		percentPattern,
	).hidingZero()
	duration = single("a time such as 5s", parseDuration, FormatDuration, durationPattern)
	rate     = single("a rate such as 200/s", parseRate, Rate.String, ratePattern)
	ramp     = single("a ramp such as 5/s to 30/s", parseRates, Rates.String, rampPattern)
	memory   = single("an amount of memory such as 4GB", parseMemory, Memory.String, memoryPattern).
			hidingZero()
	bitrate = single("a rate such as 100Mbit/s", parseBitrate, Bitrate.String, bitratePattern).
		hidingZero()
	stopRule = single(
		"a stop rule such as disk=10GiB",
		parseDiskLimit,
		DiskLimit.String,
		diskPattern,
	).
		hidingZero()
	lastPart = single("a part such as last 60m", parseLastPart, LastPart.String, lastPattern).
			hidingZero()
	share  = percent.from("0.0001%", "100%")
	margin = single("a margin such as 5%", parseMargin, MarginValue.String, marginPattern)
)

// The forms of texts, for editors.
const (
	durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
	ratePattern     = `^[0-9]+(\.[0-9]+)? */s$`
	percentPattern  = `^[0-9]+(\.[0-9]+)? *%$`
	rampPattern     = `^[0-9]+(\.[0-9]+)? */s( +to +[0-9]+(\.[0-9]+)? */s)?$`
	diskPattern     = `^disk *= *[0-9]+(\.[0-9]+)? ?[MGT]iB$`
	lastPattern     = `^last +([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	memoryPattern   = `^[0-9]+(\.[0-9]+)? ?[GM]i?B$`
	bitratePattern  = `^[0-9]+(\.[0-9]+)? ?[kMG]bit(/s)?$`
	marginPattern   = `^([0-9]+(\.[0-9]+)? *(%|pp)|none)$`
	rulePattern     = `^\s*(promql:.*\S\s*[<>].*|[A-Za-z][A-Za-z0-9. ]*\([^()]+\)\s*<.*)$`
)

// nameSyntax describes nameRE.
const nameSyntax = "letters, digits, dot, underscore and dash, at most 64"

// custom returns a type with its own functions.
func custom[T any](read func(n node, to *T),
	write func(e *encoder, depth int, key string, v T), schema func(valueType) object) valueType {
	return valueType{
		read: func(n node, to reflect.Value) { read(n, to.Addr().Interface().(*T)) },
		write: func(e *encoder, depth int, key string, v reflect.Value) {
			write(e, depth, key, v.Interface().(T))
		},
		schema: schema,
	}
}

// single returns a type of single values. The schema is an object, the pattern of a text, or nil
// for any text.
func single[T any](want string, parse func(string) (T, error), show func(T) string, schema any,
) valueType {
	t := custom(decodeScalar(want, parse), nil, describeText)
	t.write = nil
	t.want = want
	t.show = func(v reflect.Value) string { return show(v.Interface().(T)) }
	switch s := schema.(type) {
	case object:
		t.schema = func(t valueType) object { return t.limits(s) }
	case string:
		t.schema = func(t valueType) object {
			return t.limits(object{"type": "string", "pattern": s})
		}
	}
	return t
}

// describeText returns the schema of a text. A text that YAML takes for a number is still a text of
// a plan, unless it is one of a few words.
func describeText(t valueType) object {
	if t.words != nil {
		return t.limits(object{"type": "string"})
	}
	return t.limits(object{"type": []string{"string", "number", "boolean"}})
}

// limits adds the accepted values to the schema of a single value.
func (t valueType) limits(schema object) object {
	s := maps.Clone(schema)
	if t.words != nil {
		s["enum"] = t.words
	}
	if t.pattern != "" {
		s["pattern"] = t.pattern
	}
	if t.most != nil && (s["type"] == "integer" || s["type"] == "number") {
		s["minimum"] = t.least
		s["maximum"] = t.most
	}
	return s
}

// matching accepts only texts that match re. The remark describes any other text.
func (t valueType) matching(re *regexp.Regexp, remark string) valueType {
	t.pattern = re.String()
	return t.checked(func(s string) error {
		if re.MatchString(s) {
			return nil
		}
		return refuse(s, "%s", remark)
	})
}

// oneOf returns the type of a text that must be one of words. The error for another text describes
// what was expected, and lists the words after verb, "want" or "known:". Unless verb is "want", an
// empty text is accepted like a missing key.
func oneOf(what, verb string, words ...string) valueType {
	t := raw
	t.words = words
	return t.checked(func(s string) error {
		if s == "" && verb != "want" || slices.Contains(words, s) {
			return nil
		}
		separator := ", "
		if verb == "want" {
			separator = " or "
		}
		list := strings.Join(words, separator)
		return refuse(s, "is not %s; %s%s %s", what, hint(s, words), verb, list)
	})
}

// then adds a check of a value that was read, with its node.
func (t valueType) then(check func(n node, v reflect.Value),
) valueType {
	read := t.read
	t.read = func(n node, to reflect.Value) {
		read(n, to)
		if n.d.read(n.path) {
			check(n, to)
		}
	}
	return t
}

// whole returns the type of a whole number, which is described.
func whole(want string) valueType {
	return single(want, parseInt, strconv.Itoa, object{"type": "integer"})
}

// orWord accepts a word in place of a value: its meaning is known when the plan has been read.
func (t valueType) orWord(word string) valueType {
	want := t.want + ", or " + word
	t.want = want
	read := t.read
	schema := t.schema
	t.read = func(n node, to reflect.Value) {
		switch {
		case n.Kind != yaml.ScalarNode:
			n.fail("is %s; want %s", kindOf(n.Node), want)
		case n.Value != word:
			read(n, to)
		}
	}
	t.schema = func(t valueType) object {
		return anyOf(schema(t), object{"type": "string", "enum": []string{word}})
	}
	return t
}

// sub returns the type of a section: of a struct, or of a pointer to one.
func sub(s section) valueType {
	return valueType{
		section: s,
		read: func(n node, to reflect.Value) {
			if to.Kind() == reflect.Pointer {
				to.Set(reflect.New(to.Type().Elem()))
				to = to.Elem()
			}
			s.fill(to)
			n.object(to, s)
		},
		write: func(e *encoder, depth int, key string, v reflect.Value) {
			e.section(depth, key, v, s)
		},
		schema: func(valueType) object { return s.schema() },
	}
}

// short returns the type of a section in place of which a file may have the value of one key.
func (s section) short(name string) valueType {
	t := sub(s)
	one, _ := s.key(name)
	t.read = func(n node, to reflect.Value) {
		if n.Kind != yaml.ScalarNode {
			sub(s).read(n, to)
			return
		}
		to.Set(reflect.New(to.Type().Elem()))
		s.fill(to.Elem())
		n.d.nodes[join(n.path, name)] = n.Node
		one.decode(n, fieldOf(to.Elem(), name))
	}
	t.schema = func(valueType) object { return anyOf(one.describe(), s.schema()) }
	return t
}

// list returns the type of a list; an empty one is nil, as if the key were missing.
func list(want string, item valueType, text string) valueType {
	each := key{"*", item, text}
	return valueType{
		want: want,
		each: &each,
		read: func(n node, to reflect.Value) {
			switch {
			case n.Kind != yaml.SequenceNode:
				n.fail("is %s; want %s", kindOf(n.Node), want)
				return
			case len(n.Content) > maxEntries:
				n.fail("has %d entries; want at most %d", len(n.Content), maxEntries)
				return
			}
			for i := range n.Content {
				v := element(to)
				each.decode(n.item(i), v)
				to.Set(reflect.Append(to, v))
			}
		},
		write: func(e *encoder, depth int, key string, v reflect.Value) {
			if v.Len() == 0 {
				return
			}
			if item.section == nil {
				var texts []string
				for i := range v.Len() {
					texts = append(texts, item.show(v.Index(i)))
				}
				e.line(depth, key, "["+strings.Join(texts, ", ")+"]")
				return
			}
			e.line(depth, key, "")
			for i := range v.Len() {
				e.item(depth+1, v.Index(i), item.section)
			}
		},
		schema: func(valueType) object { return object{"type": "array", "items": each.describe()} },
	}
}

const wantTexts = "a list of texts such as [a, b]"

// words is the type of a list of texts.
var words = list(wantTexts, raw, "")

// params returns the type of settings. The text describes one of them.
func params(about string) valueType {
	return mapping("a mapping such as {NAME: value}", text, about)
}

// element returns a new value of a list or mapping.
func element(of reflect.Value) reflect.Value { return reflect.New(of.Type().Elem()).Elem() }

// orSingle accepts a single value in place of several, which put makes of it.
func (t valueType) orSingle(one valueType, put func(to, v reflect.Value)) valueType {
	read := t.read
	schema := t.schema
	t.read = func(n node, to reflect.Value) {
		if n.Kind != yaml.ScalarNode {
			read(n, to)
			return
		}
		v := element(to)
		one.decode(n, v)
		put(to, v)
	}
	t.schema = func(t valueType) object { return anyOf(one.schema(one), schema(t)) }
	return t
}

// orOne accepts a single value in place of a list of one.
func (t valueType) orOne(item valueType) valueType {
	return t.orSingle(item, func(to, v reflect.Value) {
		if !v.IsZero() {
			to.Set(reflect.Append(to, v))
		}
	})
}

// mapping returns the type of a mapping whose keys the author chooses; an empty one is nil, as if
// the key were missing. It is written sorted by its keys.
func mapping(want string, item valueType, text string) valueType {
	add := func(to reflect.Value, name string, read func(reflect.Value)) {
		v := element(to)
		read(v)
		if to.IsNil() {
			to.Set(reflect.MakeMap(to.Type()))
		}
		to.SetMapIndex(reflect.ValueOf(name), v)
	}
	return keyed(
		want,
		key{"*", item, text},
		add,
		func(v reflect.Value, each func(string, reflect.Value)) {
			names := v.MapKeys()
			slices.SortFunc(names, func(a, b reflect.Value) int {
				return cmp.Compare(a.String(), b.String())
			})
			for _, name := range names {
				each(name.String(), v.MapIndex(name))
			}
		},
	)
}

// ordered returns the type of a mapping whose order counts: a slice of structs with a Name. The
// item is the type of a field of the struct, or of all of it.
func ordered(want, field string, item valueType, text string) valueType {
	part := func(v reflect.Value) reflect.Value {
		if field == "" {
			return v
		}
		return v.FieldByName(field)
	}
	add := func(to reflect.Value, name string, read func(reflect.Value)) {
		v := element(to)
		v.FieldByName("Name").SetString(name)
		read(part(v))
		to.Set(reflect.Append(to, v))
	}
	return keyed(
		want,
		key{"*", item, text},
		add,
		func(v reflect.Value, each func(string, reflect.Value)) {
			for i := range v.Len() {
				each(v.Index(i).FieldByName("Name").String(), part(v.Index(i)))
			}
		},
	)
}

// keyed returns the type of a mapping that two functions fill and list.
func keyed(want string, each key, add func(to reflect.Value, name string, read func(reflect.Value)),
	all func(v reflect.Value, each func(name string, v reflect.Value))) valueType {
	return valueType{
		want: want,
		each: &each,
		read: func(n node, to reflect.Value) {
			n.entries(want, func(name string, c node) {
				add(to, name, func(v reflect.Value) { each.decode(c, v) })
			})
		},
		write: func(e *encoder, depth int, key string, v reflect.Value) {
			if v.Len() > 0 {
				e.line(depth, key, "")
			}
			all(v, func(name string, v reflect.Value) { each.entry(e, depth+1, name, v) })
		},
		schema: func(valueType) object {
			return object{"type": "object", "additionalProperties": each.describe()}
		},
	}
}

// called refuses keys of a mapping that are not names.
func (t valueType) called(what string) valueType {
	return t.naming(nameRE, "cannot be the name of "+what+"; want "+nameSyntax)
}

// naming accepts only keys of a mapping that match re. The remark describes any other key.
func (t valueType) naming(re *regexp.Regexp, remark string) valueType {
	return t.then(func(n node, _ reflect.Value) {
		for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
			name := n.Content[i].Value
			at := n.entry(name, n.Content[i+1])
			if !re.MatchString(name) && !n.d.bad[at.path] {
				at.note("%s %s", clip(name), remark)
			}
		}
	})
}

// distinct refuses a list with a repeated entry, which the function names.
func (t valueType) distinct(name func(string) string) valueType {
	return t.then(func(n node, _ reflect.Value) {
		seen := map[string]bool{}
		for i, c := range n.Content {
			if seen[c.Value] {
				n.item(i).note("%s is there twice; keep one", name(c.Value))
			}
			seen[c.Value] = true
		}
	})
}

// alone accepts a single value in place of a mapping with one key.
func (t valueType) alone(name string, one valueType) valueType {
	return t.orSingle(one, func(to, v reflect.Value) {
		to.Set(reflect.MakeMap(to.Type()))
		to.SetMapIndex(reflect.ValueOf(name), v)
	})
}

// perEngine returns the type of one number, or of one for each engine. The one may be a word.
func perEngine(one valueType, words ...string) valueType {
	t := mapping(
		"a whole number, or a mapping such as {postgresql: 400}",
		integer,
		"",
	).alone("", one)
	write := t.write
	t.write = func(e *encoder, depth int, key string, v reflect.Value) {
		if n := v.MapIndex(reflect.ValueOf("")); n.IsValid() {
			e.line(depth, key, one.show(n))
			return
		}
		write(e, depth, key, v)
	}
	t.schema = func(t valueType) object {
		n := t.limits(object{"type": "integer"})
		forms := []any{n, engineSchema(engines, n)}
		if words != nil {
			forms = append(forms, object{"type": "string", "enum": words})
		}
		return anyOf(forms...)
	}
	return t
}

func parseText(s string) (string, error) {
	if len(s) > 4096 {
		return "", fmt.Errorf("is %d bytes long; want at most 4096", len(s))
	}
	return s, nil
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, refuse(s, "is neither true nor false; write one of them")
	}
	return s == "true", nil
}

func formatUint(v uint64) string { return strconv.FormatUint(v, 10) }
