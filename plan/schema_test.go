package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"plimsoll/internal/failure"
)

// TestRows: every key has a text and a field, in the order of the fields, and every field a key.
func TestRows(t *testing.T) {
	var check func(path string, s section, typ reflect.Type)
	check = func(path string, s section, typ reflect.Type) {
		var fields []string
		for f := range typ.Fields() {
			if tag := f.Tag.Get("yaml"); tag != "-" {
				fields = append(fields, tag)
			}
		}
		if names := s.names(); !slices.Equal(names, fields) {
			t.Errorf("%s: rows %v, fields %v", path, names, fields)
		}
		for _, k := range s.keys() {
			at := join(path, k.name)
			if !strings.HasSuffix(k.plainText(), ".") {
				t.Errorf("%s: text %q; want a sentence", at, k.plainText())
			}
			field := fieldOf(reflect.New(typ).Elem(), k.name).Type()
			if below := k.below(); below != nil {
				if field.Kind() != reflect.Struct {
					field = field.Elem()
				}
				check(at, below, field)
			}
		}
	}
	check("", planKeys, reflect.TypeFor[Plan]())
}

func TestSchemaAgreesWithParse(t *testing.T) {
	var schema map[string]any
	failure.None(t, json.Unmarshal(Schema(), &schema))
	valid := func(src []byte) []string {
		var tree any
		if err := yaml.Unmarshal(src, &tree); err != nil {
			t.Fatalf("%v in\n%s", err, src)
		}
		raw, err := json.Marshal(tree)
		failure.None(t, err)
		failure.None(t, json.Unmarshal(raw, &tree))
		return validate(t, "plan", schema, tree)
	}
	files, err := filepath.Glob("../examples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		failure.None(t, err)
		if wrong := valid(src); wrong != nil {
			t.Errorf("%s: %s", file, strings.Join(wrong, "\n"))
		}
		p, err := Parse(src)
		failure.None(t, err)
		if wrong := valid([]byte(p.String())); wrong != nil {
			t.Errorf("%s in canonical form: %s", file, strings.Join(wrong, "\n"))
		}
	}
	const good = "name: n\ntarget: {driver: s}\nworkload: {behavior: b}\nbounded: {users: 1}\n"
	if wrong := valid([]byte(good)); wrong != nil {
		t.Errorf("the minimal plan: %s", strings.Join(wrong, "\n"))
	}
	for _, bad := range []string{
		"", "sed: 1\n", "seed: x\n", "seed: -1\n", "placement: {target: [x]}\n", "placement: {target: 1}\n",
		"unbounded: {}\n", "unbounded: {max_users: 0}\n", "unbounded: {max_users: 9, step: 5}\n",
		"unbounded: {max_users: 9, budget: 5}\n", "unbounded: {max_users: 9, slo: []}\n", "unbounded: {max_users: 9, slo: [p99 < 2s]}\n",
		"compare: {}\n", "compare: {arms: {base: {}}}\n", "compare: {arms: {old: {}, new: {}}}\n",
		"compare: {arms: {base: {}, new: {x: 1}}}\n", "compare: {arms: {base: {}, new: {}}, margin: 5}\n",
		"database: {engine: oracle}\n", "database: {engine: [oracle]}\n", "setup: [a]\n", "setup: {a: [b]}\n",
		"unbounded: {max_users: 9, start: {oracle: 5}}\n",
	} {
		src := []byte(good + bad)
		if bad == "" {
			src = []byte("name: n\ntarget: {driver: s}\nworkload: {behavior: b}\n")
		}
		if valid(src) == nil {
			t.Errorf("the schema accepts\n%s", src)
		}
		if _, err := Parse(src); err == nil {
			t.Errorf("Parse accepts\n%s", src)
		}
	}
}

// validate checks a JSON value against the part of JSON Schema that Schema uses, and refuses any
// other.
func validate(t *testing.T, at string, schema map[string]any, v any) []string {
	var wrong []string
	bad := func(format string, args ...any) {
		wrong = append(wrong, at+": "+fmt.Sprintf(format, args...))
	}
	object, _ := v.(map[string]any)
	array, _ := v.([]any)
	text, isText := v.(string)
	number, isNumber := v.(float64)
	for key, want := range schema {
		switch key {
		case "$schema", "title", "description", "default":
		case "type":
			if types, ok := want.([]any); ok {
				if !slices.ContainsFunc(types, func(w any) bool { return isType(w, v) }) {
					bad("want one of %v", types)
				}
			} else if !isType(want, v) {
				bad("want %v, have %T", want, v)
			}
		case "enum":
			if !slices.Contains(want.([]any), v) {
				bad("want one of %v", want)
			}
		case "pattern":
			if isText && !regexp.MustCompile(want.(string)).MatchString(text) {
				bad("%q does not match %s", text, want)
			}
		case "minimum":
			if isNumber && number < want.(float64) {
				bad("%v is below %v", number, want)
			}
		case "maximum":
			if isNumber && number > want.(float64) {
				bad("%v is above %v", number, want)
			}
		case "minItems":
			if array != nil && float64(len(array)) < want.(float64) {
				bad("too few items")
			}
		case "minProperties":
			if object != nil && float64(len(object)) < want.(float64) {
				bad("too few keys")
			}
		case "maxProperties":
			if object != nil && float64(len(object)) > want.(float64) {
				bad("too many keys")
			}
		case "required":
			for _, k := range want.([]any) {
				if _, ok := object[k.(string)]; object != nil && !ok {
					bad("%v is missing", k)
				}
			}
		case "properties":
			for k, s := range want.(map[string]any) {
				if c, ok := object[k]; ok {
					wrong = append(wrong, validate(t, at+"."+k, s.(map[string]any), c)...)
				}
			}
		case "additionalProperties":
			props, _ := schema["properties"].(map[string]any)
			for k, c := range object {
				if _, ok := props[k]; ok {
					continue
				}
				if s, ok := want.(map[string]any); ok {
					wrong = append(wrong, validate(t, at+"."+k, s, c)...)
				} else {
					bad("unknown key %s", k)
				}
			}
		case "propertyNames":
			for k := range object {
				wrong = append(wrong, validate(t, at+"."+k, want.(map[string]any), any(k))...)
			}
		case "items":
			for i, c := range array {
				wrong = append(
					wrong,
					validate(t, fmt.Sprintf("%s[%d]", at, i), want.(map[string]any), c)...)
			}
		case "anyOf":
			if !slices.ContainsFunc(want.([]any), func(s any) bool {
				return validate(t, at, s.(map[string]any), v) == nil
			}) {
				bad("matches none of the alternatives")
			}
		default:
			t.Fatalf("the schema uses %q, which this test does not know", key)
		}
	}
	return wrong
}

func isType(want, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return want == "object"
	case []any:
		return want == "array"
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	default:
		return false
	}
}
