package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A valueType reads the values of one Go type from a file, writes them in canonical form, and
// describes them in the schema.
type valueType struct {
	parse  func(d *decoder, path string, n *yaml.Node, to reflect.Value)
	format func(e *encoder, depth int, key string, v reflect.Value)
	schema describer
}

// A parser reads a node of a file.
type parser[T any] func(d *decoder, path string, n *yaml.Node, to *T)

// A formatter writes a key with its value, or nothing.
type formatter[T any] func(e *encoder, depth int, key string, v T)

// A describer returns the schema of a value at a path of keyTexts.
type describer func(path string) object

// A typeKey is the Go type of a field and its tag "kind".
type typeKey struct {
	typ  reflect.Type
	kind string
}

// valueTypes holds every type of a plan but sections, so two keys of one type have the same rules.
var valueTypes = map[typeKey]valueType{}

// typeOf returns the type of a field. A struct, or a pointer to one, is a section.
func typeOf(t reflect.Type, kind string) valueType {
	if known, ok := valueTypes[typeKey{t, kind}]; ok {
		return known
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("plan: the type %s %s is not in the table", t, kind))
	}
	schema := func(path string) object { return structSchema(t, path) }
	return valueType{parseSection, (*encoder).section, schema}
}

func register[T any](kind string, parse parser[T], format formatter[T], schema describer) {
	valueTypes[typeKey{reflect.TypeFor[T](), kind}] = valueType{
		func(d *decoder, path string, n *yaml.Node, to reflect.Value) {
			parse(d, path, n, to.Addr().Interface().(*T))
		},
		func(e *encoder, depth int, key string, v reflect.Value) {
			format(e, depth, key, v.Interface().(T))
		},
		schema,
	}
}

// single registers a type of single values. A value with an empty text is left out of the canonical
// form.
func single[T any](kind, want string, parse func(string) (T, error), show func(T) string,
	schema object) {
	register(kind, decodeScalar(want, parse), line(show), scalar(schema))
}

// sections registers a type of lists of sections.
func sections[T any](want string) {
	format := func(e *encoder, depth int, key string, v []T) {
		if len(v) > 0 {
			e.line(depth, key, "")
		}
		for i := range v {
			e.item(depth+1, reflect.ValueOf(v[i]))
		}
	}
	register("", decodeList[[]T](want, parseItem), format, func(path string) object {
		return list(schemaOf(reflect.TypeFor[T](), path+".*", ""))
	})
}

// numbers registers a type of lists of numbers.
func numbers(kind, want, one string) {
	register(kind, decodeList[[]int](want, decodeScalar(one, parseInt)), flow[[]int](strconv.Itoa),
		func(path string) object { return list(scalar(integer)(path)) })
}

// Schemas of single values.
var (
	integer    = object{"type": "integer"}
	number     = object{"type": "number"}
	percentage = patterned(percentPattern)
	duration   = patterned(durationPattern)
)

// init fills the table; as the value of a variable the table would refer to itself.
func init() {
	register("", (*decoder).text, line(unlessZero(quote)), textual)
	boolean := object{"type": "boolean"}
	single("", "true or false", parseBool, strconv.FormatBool, boolean)
	single("optional", "true or false", parseBool, unlessZero(strconv.FormatBool), boolean)
	single("", "a whole number", parseInt, strconv.Itoa, integer)
	single("optional", "a whole number", parseInt, unlessZero(strconv.Itoa), integer)
	register("blocks", orWord(autoBlocks, decodeScalar("a number of blocks, or auto", parseBlocks)),
		line(strconv.Itoa), orWordSchema(autoBlocks, integer))
	formatUint := func(v uint64) string { return strconv.FormatUint(v, 10) }
	single("", "a whole number", parseUint, formatUint, object{"type": "integer", "minimum": 0})
	single("", "a number such as 0.1", parseNumber, formatNumber, number)
	single("percent", "a percentage such as 25%", parsePercent, unlessZero(formatPercent), percentage)
	single("", "a time such as 5s", parseDuration, formatDuration, duration)
	single("optional", "a time such as 5s", parseDuration, unlessZero(formatDuration), duration)
	register("measure", orWord(autoMeasure, decodeScalar("a time such as 5s, or auto", parseDuration)),
		line(formatDuration), orWordSchema(autoMeasure, duration))
	single("", "a rate such as 200/s", parseRate, Rate.String, patterned(ratePattern))
	single("", "a ramp such as 5/s to 30/s", parseRates, Rates.String, patterned(rampPattern))
	single("", "an amount of memory such as 4GB", parseMemory, unlessZero(Memory.String),
		patterned(memoryPattern))
	single("", "a rate such as 100Mbit/s", parseBitrate, unlessZero(Bitrate.String),
		patterned(bitratePattern))
	single("", "a stop rule such as disk=10GiB", parseDiskLimit, unlessZero(DiskLimit.String),
		patterned(diskPattern))
	single("", "a part such as last 60m", parseLastPart, unlessZero(LastPart.String),
		patterned(lastPattern))
	single("", "a number such as 12000000 ±0, same, or none", parseExpectation,
		unlessZero(func(x Expectation) string { return quote(x.String()) }),
		anyOf(object{"type": "integer", "minimum": 0}, patterned(expectationRE.String())))

	words := decodeList[[]string]("a list of texts such as [a, b]", (*decoder).text)
	register("", words, flow[[]string](quote), func(path string) object { return list(textual(path)) })
	oneWord := as((*decoder).text, func(s string) []string { return []string{s} })
	register("one-or-list", orScalar(oneWord, words), flow[[]string](quote), func(path string) object {
		return anyOf(textual(path), list(textual(path)))
	})
	addresses := decodeList[Addresses](
		"an address, or a list such as [http://a:8065, http://b:8065]", (*decoder).text)
	register("", orScalar(as((*decoder).text, oneAddress),
		filled("write an address, or remove the key", addresses)),
		formatAddresses, func(path string) object {
			several := list(textual(path))
			several["minItems"], several["maxItems"], several["uniqueItems"] = 1, maxInstances, true
			return anyOf(textual(path), several)
		})
	numbers("", "a list of CPU numbers such as [0, 1]", "a CPU number")
	numbers("users", "a list of numbers of users such as [50, 200]", "a number of users")
	numbers("looks", "a list of numbers of blocks such as [6, 9, 12]", "a number of blocks")
	register("", filled("write a rule, or remove the key for the default rules",
		decodeList[[]SLO]("a list of rules", (*decoder).rule)), formatRules, func(path string) object {
		s := list(scalar(object{"type": "string"})(path))
		s["minItems"] = 1
		return s
	})

	register("", (*decoder).env, (*encoder).env, envSchema)
	register("", decodeMap[map[string]string]("a mapping such as {NAME: value}", (*decoder).text),
		mapping[map[string]string](quote), named(textual))
	const shares = "a mapping such as {reader: 10%}"
	register("",
		decodeMap[map[string]float64](shares, decodeScalar("a number such as 0.1", parseNumber)),
		mapping[map[string]float64](formatNumber), named(scalar(number)))
	register("percent",
		decodeMap[map[string]float64](shares, decodeScalar("a percentage such as 25%", parsePercent)),
		mapping[map[string]float64](formatPercent), named(scalar(percentage)))
	perEngine("", "a whole number, or one for each engine", parseInt)
	perEngine("users", "a number of users, or auto", parseUsers, autoUsersText)
	margin := scalar(patterned(marginPattern))
	ofCapacity := func(m MarginValue) Margin { return Margin{"capacity": m} }
	register("", orScalar(as(decodeScalar("a margin such as 5%", parseMargin), ofCapacity),
		decodeMap[Margin]("a margin such as 5%, or a mapping such as {capacity: 5%}",
			decodeScalar("a margin such as 5% or 0.1pp", parseMargin))),
		mapping[Margin](MarginValue.String),
		func(path string) object { return anyOf(margin(path), named(margin)(path)) })
	register("", func(d *decoder, path string, n *yaml.Node, to *Gates) { to.decode(d, path, n) },
		func(e *encoder, depth int, key string, g Gates) { g.encode(e, depth, key) },
		func(string) object { return gateSchema() })

	sections[Stage]("a list of storms such as [{at: 60s, storm: KIND, share: 50%}]")
	sections[Offer]("a list of offers such as " +
		"[{name: CX23, vcpu: 2, memory: 4GB, price: 6, currency: EUR}]")
	sections[Probe]("a list of probes such as " +
		"[{kind: prometheus, role: app, url: http://HOST:9100/metrics}]")
	register("", decodeMap[map[string]LinkLimit](
		"a mapping such as {all: {rate: 1Gbit/s}, db: {delay: 500us}}", parseItem),
		formatLinks, func(path string) object {
			s := named(typeOf(reflect.TypeFor[LinkLimit](), "").schema)(path)
			s["propertyNames"] = object{"enum": slices.Clone(linkRoles)}
			return s
		})
	shorthand("count", func(a *Agents) *int { return &a.Count },
		"a number of hosts such as 11, or a mapping such as {match: {zone: a}}", parseInt,
		scalar(integer))
	shorthand("rate", func(a *Arrival) *Rate { return &a.Rate },
		"a rate such as 200/s, or a mapping such as {rate: 200/s, process: poisson}", parseRate,
		func(path string) object { return schemaOf(reflect.TypeFor[Rate](), join(path, "rate"), "") })
	register("", parseArms, formatArms, func(path string) object {
		s := named(typeOf(reflect.TypeFor[Arm](), "").schema)(path)
		s["minProperties"], s["maxProperties"], s["required"] = 2, maxArms, []string{Base}
		return s
	})
	register("", parseRows, formatRows, named(textual))
}

// perEngine registers a type of one number, or of one for each engine. The one may be a word.
func perEngine(kind, want string, parse func(string) (int, error), words ...string) {
	one := as(decodeScalar(want, parse), func(n int) PerEngine { return PerEngine{"": n} })
	register(kind, orScalar(one,
		decodeMap[PerEngine]("a whole number, or a mapping such as {postgresql: 400}",
			decodeScalar("a whole number", parseInt))),
		formatPerEngine, func(path string) object {
			each := object{}
			for _, engine := range engines {
				each[engine] = scalar(integer)(path)
			}
			forms := []any{scalar(integer)(path), byEngine(each)}
			if words != nil {
				forms = append(forms, object{"type": "string", "enum": words})
			}
			return anyOf(forms...)
		})
}

// shorthand registers a type of sections in place of which a file may write the value of one key.
func shorthand[T, F any](key string, field func(*T) *F, want string, parse func(string) (F, error),
	schema describer) {
	register("", func(d *decoder, path string, n *yaml.Node, to **T) {
		*to = new(T)
		if n.Kind != yaml.ScalarNode {
			d.object(path, n, reflect.ValueOf(*to).Elem())
			return
		}
		d.nodes[join(path, key)] = n
		decodeScalar(want, parse)(d, path, n, field(*to))
	}, func(e *encoder, depth int, key string, v *T) {
		e.section(depth, key, reflect.ValueOf(v))
	}, func(path string) object {
		return anyOf(schema(path), structSchema(reflect.TypeFor[T](), path))
	})
}

func parseBool(s string) (bool, error) {
	if s != "true" && s != "false" {
		return false, fmt.Errorf("%s is neither true nor false; write one of them", clip(s))
	}
	return s == "true", nil
}

// parseSection reads a struct, or one for a pointer.
func parseSection(d *decoder, path string, n *yaml.Node, to reflect.Value) {
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	d.object(path, n, to)
}

// parseItem reads a value of a list or mapping by its type.
func parseItem[T any](d *decoder, path string, n *yaml.Node, to *T) {
	d.value(path, n, reflect.ValueOf(to).Elem(), "")
}

// orWord reads nothing where the file has the word: its meaning is known when the plan has been
// read.
func orWord[T any](word string, parse parser[T]) parser[T] {
	return func(d *decoder, path string, n *yaml.Node, to *T) {
		if n.Kind != yaml.ScalarNode || n.Value != word {
			parse(d, path, n, to)
		}
	}
}

func orWordSchema(word string, schema object) describer {
	return func(path string) object {
		return anyOf(scalar(schema)(path), object{"type": "string", "enum": []string{word}})
	}
}

// orScalar reads a single value by one parser, and all others by another.
func orScalar[T any](one, others parser[T]) parser[T] {
	return func(d *decoder, path string, n *yaml.Node, to *T) {
		if n.Kind == yaml.ScalarNode {
			one(d, path, n, to)
			return
		}
		others(d, path, n, to)
	}
}

// as wraps the value that a parser of another type read.
func as[T, V any](parse parser[V], wrap func(V) T) parser[T] {
	return func(d *decoder, path string, n *yaml.Node, to *T) {
		var v V
		parse(d, path, n, &v)
		*to = wrap(v)
	}
}

// filled refuses an empty list.
func filled[T any](remedy string, parse parser[T]) parser[T] {
	return func(d *decoder, path string, n *yaml.Node, to *T) {
		parse(d, path, n, to)
		if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
			d.fail(n, path, "is an empty list; %s", remedy)
		}
	}
}

func parseArms(d *decoder, path string, n *yaml.Node, to *[]Arm) {
	const want = "a mapping of arms such as {base: {}, new: {args: [-x]}}"
	d.entries(path, n, want, func(key string, c *yaml.Node) {
		a := Arm{Name: key}
		if c.Kind == yaml.ScalarNode && c.ShortTag() == "!!null" {
			d.fail(c, join(path, key), "has no value; write {} for an arm that changes nothing")
		} else {
			parseItem(d, join(path, key), c, &a)
		}
		*to = append(*to, a)
	})
}

func parseRows(d *decoder, path string, n *yaml.Node, to *[]SetupRow) {
	d.entries(path, n, "a mapping of rows such as {dataset: none}", func(key string, c *yaml.Node) {
		r := SetupRow{Name: key}
		p := join(path, key)
		d.nodes[p] = c
		d.text(p, c, &r.Value)
		*to = append(*to, r)
	})
}

// unlessZero has no text for the zero value.
func unlessZero[T comparable](show func(T) string) func(T) string {
	return func(v T) string {
		var zero T
		if v == zero {
			return ""
		}
		return show(v)
	}
}

func line[T any](show func(T) string) formatter[T] {
	return func(e *encoder, depth int, key string, v T) {
		if text := show(v); text != "" {
			e.line(depth, key, text)
		}
	}
}

// flow writes a list on one line.
func flow[S ~[]T, T any](show func(T) string) formatter[S] {
	return func(e *encoder, depth int, key string, v S) {
		if len(v) == 0 {
			return
		}
		texts := make([]string, len(v))
		for i, one := range v {
			texts[i] = show(one)
		}
		e.line(depth, key, "["+strings.Join(texts, ", ")+"]")
	}
}

// mapping writes a mapping, sorted by its keys.
func mapping[M ~map[string]T, T any](show func(T) string) formatter[M] {
	return func(e *encoder, depth int, key string, m M) {
		if len(m) > 0 {
			e.line(depth, key, "")
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			e.line(depth+1, quote(k), show(m[k]))
		}
	}
}

func formatAddresses(e *encoder, depth int, key string, v Addresses) {
	if len(v) == 1 {
		e.line(depth, key, quote(v[0]))
		return
	}
	flow[Addresses](quote)(e, depth, key, v)
}

func formatRules(e *encoder, depth int, key string, v []SLO) {
	if len(v) > 0 {
		e.line(depth, key, "")
	}
	for _, r := range v {
		e.b.WriteString(strings.Repeat("  ", depth+1) + "- " + strconv.Quote(r.String()) + "\n")
	}
}

func formatPerEngine(e *encoder, depth int, key string, v PerEngine) {
	one, ok := v[""]
	switch {
	case ok && one == autoUsers:
		e.line(depth, key, autoUsersText)
	case ok:
		e.line(depth, key, strconv.Itoa(one))
	default:
		mapping[PerEngine](strconv.Itoa)(e, depth, key, v)
	}
}

func formatLinks(e *encoder, depth int, key string, v map[string]LinkLimit) {
	if len(v) > 0 {
		e.line(depth, key, "")
	}
	for _, role := range slices.Sorted(maps.Keys(v)) {
		e.section(depth+1, role, reflect.ValueOf(v[role]))
	}
}

func formatArms(e *encoder, depth int, key string, v []Arm) {
	e.line(depth, key, "")
	for _, a := range v {
		var arm encoder
		arm.object(depth+2, reflect.ValueOf(a))
		if arm.b.Len() == 0 {
			e.line(depth+1, quote(a.Name), "{}")
			continue
		}
		e.line(depth+1, quote(a.Name), "")
		e.b.WriteString(arm.b.String())
	}
}

func formatRows(e *encoder, depth int, key string, v []SetupRow) {
	if len(v) > 0 {
		e.line(depth, key, "")
	}
	for _, r := range v {
		e.line(depth+1, quote(r.Name), quote(r.Value))
	}
}
