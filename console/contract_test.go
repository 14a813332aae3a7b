package console

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"plimsoll/report"
	"plimsoll/run/live"
)

// node is a mapping of openapi.yaml.
type node = map[string]any

// contract reads openapi.yaml.
func contract(t testing.TB) node {
	t.Helper()
	b, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func (c checker) schemas() node { return c.doc["components"].(node)["schemas"].(node) }

// checker holds Go types and answers against the schemas of the contract.
type checker struct{ doc node }

// resolve follows a reference and joins allOf, so that properties and required stand in one
// mapping.
func (c checker) resolve(s node) node {
	if ref, ok := s["$ref"].(string); ok {
		return c.resolve(c.schemas()[ref[strings.LastIndexByte(ref, '/')+1:]].(node))
	}
	all, ok := s["allOf"].([]any)
	if !ok {
		return s
	}
	out := node{"type": "object", "properties": node{}}
	for _, part := range all {
		p := c.resolve(part.(node))
		if props, ok := p["properties"].(node); ok {
			maps.Copy(out["properties"].(node), props)
		}
		if req, ok := p["required"].([]any); ok {
			have, _ := out["required"].([]any)
			out["required"] = append(have, req...)
		}
	}
	return out
}

// fieldsOf returns the JSON fields of a struct by name, including the fields of embedded structs;
// always marks the fields that are never omitted.
func fieldsOf(t reflect.Type) (types map[string]reflect.Type, always map[string]bool) {
	types, always = map[string]reflect.Type{}, map[string]bool{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			more, also := fieldsOf(f.Type)
			maps.Copy(types, more)
			maps.Copy(always, also)
		case name != "-":
			types[name], always[name] = f.Type, !strings.Contains(options, "omit")
		}
	}
	return types, always
}

var timeType = reflect.TypeFor[time.Time]()

// compare returns how a Go type and a schema differ.
func (c checker) compare(place string, t reflect.Type, s node) (bad []string) {
	s = c.resolve(s)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := map[reflect.Kind]string{
		reflect.String:  "string",
		reflect.Bool:    "boolean",
		reflect.Float64: "number",
		reflect.Int:     "integer",
		reflect.Int64:   "integer",
		reflect.Uint64:  "integer",
		reflect.Slice:   "array",
		reflect.Map:     "object",
		reflect.Struct:  "object",
	}[t.Kind()]
	if t == timeType {
		want = "string"
	}
	if got := s["type"]; got != want {
		return []string{fmt.Sprintf("%s is %v in openapi.yaml and %s in Go", place, got, want)}
	}
	props, _ := s["properties"].(node)
	switch {
	case t == timeType:
		return nil
	case t.Kind() == reflect.Slice:
		return c.compare(place+"[]", t.Elem(), s["items"].(node))
	case t.Kind() != reflect.Struct:
		return nil
	}
	types, always := fieldsOf(t)
	for name := range props {
		if types[name] == nil {
			bad = append(bad, fmt.Sprintf("%s.%s is in openapi.yaml and not in Go", place, name))
		}
	}
	for name, field := range types {
		if props[name] == nil {
			bad = append(bad, fmt.Sprintf("%s.%s is in Go and not in openapi.yaml", place, name))
			continue
		}
		bad = append(bad, c.compare(place+"."+name, field, props[name].(node))...)
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if !always[name.(string)] {
			bad = append(
				bad,
				fmt.Sprintf("%s.%s is required by openapi.yaml, and may be absent", place, name),
			)
		}
	}
	return bad
}

// with is a type with a further field, whose place in the contract is the same: the server adds it.
func with(t reflect.Type, drop string, add ...reflect.StructField) reflect.Type {
	for f := range t.Fields() {
		if f.Tag.Get("json") != drop {
			add = append(add, f)
		}
	}
	return reflect.StructOf(add)
}

func TestContractFields(t *testing.T) {
	c := checker{contract(t)}
	documents := reflect.StructField{
		Name: "Documents",
		Type: reflect.TypeFor[[]namedRef](),
		Tag:  `json:"documents,omitempty"`,
	}
	types := map[string]reflect.Type{
		"Frame":           reflect.TypeFor[live.Frame](),
		"ComparisonFrame": reflect.TypeFor[live.Whole](),
		"RunNow":          reflect.TypeFor[live.Now](),
		"Phase":           reflect.TypeFor[live.PhaseSpan](),
		"Quantiles":       reflect.TypeFor[live.Quantiles](),
		"Gate":            reflect.TypeFor[live.GateNow](),
		"Rule":            reflect.TypeFor[live.Rule](),
		"Search":          reflect.TypeFor[live.SearchNow](),
		"SearchWindow":    reflect.TypeFor[live.SearchWindow](),
		"Operation":       reflect.TypeFor[live.Operation](),
		"Failure":         reflect.TypeFor[live.FailureRow](),
		"Line":            reflect.TypeFor[live.LogLine](),
		"Agent":           reflect.TypeFor[live.AgentRow](),
		"Part":            reflect.TypeFor[live.PartOf](),
		// The server takes the kind of the line away, and adds documents.
		"End":         with(reflect.TypeFor[live.Ending](), "kind", documents),
		"HistoryItem": reflect.TypeFor[item](),
		"Document":    reflect.TypeFor[namedRef](),
		"PlanFile":    reflect.TypeFor[planFile](),
		"TrendLine":   reflect.TypeFor[trendLine](),
		"TrendPoint":  reflect.TypeFor[trendPoint](),
		"Count":       reflect.TypeFor[report.Count](),
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		schema, ok := c.schemas()[name].(node)
		if !ok {
			t.Errorf("openapi.yaml has no schema %s", name)
			continue
		}
		for _, text := range c.compare(name, types[name], schema) {
			t.Error(text)
		}
	}
}

// TestContractCheckFinds breaks the contract in each way that it could be broken.
func TestContractCheckFinds(t *testing.T) {
	type small struct {
		A float64  `json:"a"`
		B []string `json:"b,omitempty"`
	}
	props := func(more string) string {
		return `{type: object, required: [a], properties: {a: {type: number}` + more + `}}`
	}
	for name, tt := range map[string]struct{ schema, want string }{
		"the same":         {props(", b: {type: array, items: {type: string}}"), ""},
		"a field in Go":    {props(""), "x.b is in Go and not"},
		"a field in YAML":  {props(", b: {type: array, items: {type: string}}, c: {type: string}"), "x.c is in openapi.yaml and not"},
		"another type":     {props(", b: {type: array, items: {type: number}}"), "x.b[] is number in openapi.yaml and string in Go"},
		"may be absent":    {`{type: object, required: [b], properties: {a: {type: number}, b: {type: array, items: {type: string}}}}`, "x.b is required"},
		"a name elsewhere": {props(", c: {type: array, items: {type: string}}"), "x.b is in Go"},
	} {
		var s node
		if err := yaml.Unmarshal([]byte(tt.schema), &s); err != nil {
			t.Fatal(err)
		}
		bad := strings.Join((checker{}).compare("x", reflect.TypeFor[small](), s), "; ")
		if tt.want == "" && bad != "" || !strings.Contains(bad, tt.want) {
			t.Errorf("%s: %q, want %q", name, bad, tt.want)
		}
	}
}

func TestContractRoutes(t *testing.T) {
	_, s, _ := serve(t)
	rest := regexp.MustCompile(`\.\.\.}`)
	var registered, documented []string
	for path := range s.readers() {
		registered = append(registered, "get "+rest.ReplaceAllString(path, "}"))
	}
	for path := range s.writers() {
		registered = append(registered, "post "+rest.ReplaceAllString(path, "}"))
	}
	for path, methods := range contract(t)["paths"].(node) {
		for method := range methods.(node) {
			documented = append(documented, method+" "+path)
		}
	}
	for _, r := range registered {
		if !slices.Contains(documented, r) {
			t.Errorf("%s is registered and not in openapi.yaml", r)
		}
	}
	for _, d := range documented {
		if !slices.Contains(registered, d) {
			t.Errorf("%s is in openapi.yaml and not registered", d)
		}
	}
}

// valid returns how a value of an answer breaks a schema. A field that is not in it is a fault.
func (c checker) valid(place string, v any, s node) (bad []string) {
	s = c.resolve(s)
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok { // [number, null]
		if kind = kinds[0].(string); v == nil && slices.Contains(kinds, any("null")) {
			return nil
		}
	}
	is := map[reflect.Kind]string{
		reflect.String:  "string",
		reflect.Bool:    "boolean",
		reflect.Float64: "number",
		reflect.Slice:   "array",
		reflect.Map:     "object",
	}
	got := is[reflect.ValueOf(v).Kind()]
	if n, ok := v.(float64); ok && kind == "integer" && n == float64(int64(n)) {
		got = "integer"
	}
	if kind != "" && kind != got {
		return []string{fmt.Sprintf("%s is a %s, want %s", place, got, kind)}
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		bad = append(bad, fmt.Sprintf("%s is %v, want one of %v", place, v, enum))
	}
	switch v := v.(type) {
	case []any:
		if items, ok := s["items"].(node); ok {
			for i, x := range v {
				bad = append(bad, c.valid(fmt.Sprintf("%s[%d]", place, i), x, items)...)
			}
		}
	case map[string]any:
		props, listed := s["properties"].(node)
		more, open := s["additionalProperties"].(node)
		for name, x := range v {
			switch {
			case props[name] != nil:
				bad = append(bad, c.valid(place+"."+name, x, props[name].(node))...)
			case open:
				bad = append(bad, c.valid(place+"."+name, x, more)...)
			case listed:
				bad = append(bad, fmt.Sprintf("%s.%s is not in openapi.yaml", place, name))
			}
		}
		required, _ := s["required"].([]any)
		for _, name := range required {
			if _, there := v[name.(string)]; !there {
				bad = append(bad, fmt.Sprintf("%s.%s is missing", place, name))
			}
		}
	}
	return bad
}

// answered holds the answer to a GET of a documented path against its schema.
func (c checker) answered(t *testing.T, path, url, body string) {
	t.Helper()
	op := c.doc["paths"].(node)[path].(node)["get"].(node)
	schema := op["responses"].(node)["200"].(node)["content"].(node)["application/json"].(node)["schema"].(node)
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%s: %v", url, err)
		return
	}
	for _, text := range c.valid(url, v, schema) {
		t.Error(text)
	}
}

func TestContractAnswers(t *testing.T) {
	_, _, srv := serve(t)
	c := checker{contract(t)}
	for path, url := range map[string]string{
		"/api/session":              "",
		"/api/live":                 "",
		"/api/history":              "",
		"/api/trend":                "",
		"/api/plans":                "",
		"/api/started":              "",
		"/api/runs/{id}":            "/api/runs/sealed-1",
		"/api/runs/{id}/series":     "/api/runs/sealed-1/series",
		"/api/runs/{id}/operations": "/api/runs/sealed-1/operations",
		"/api/runs/{id}/errors":     "/api/runs/sealed-1/errors",
		"/api/runs/{id}/events":     "/api/runs/sealed-1/events?kind=all",
		"/api/runs/{id}/limiter":    "/api/runs/" + testRun + "/limiter",
		"/api/comparisons/{id}":     "/api/comparisons/c1",
		"/api/sizings/{id}":         "/api/sizings/s1",
	} {
		if url == "" {
			url = path
		}
		resp, body := ask(t, srv, "GET", url, "")
		if resp.StatusCode != 200 {
			t.Errorf("%s: %s: %s", url, resp.Status, body)
			continue
		}
		c.answered(t, path, url, body)
	}
	for _, url := range []string{"/api/runs/sealed-1/series?op=post"} {
		_, body := ask(t, srv, "GET", url, "")
		c.answered(t, "/api/runs/{id}/series", url, body)
	}
}
