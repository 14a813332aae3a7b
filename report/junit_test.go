package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// junitShape lists the children, in any order, and the attributes that the schema of Jenkins' xUnit plugin
// (junit-10.xsd) has for the elements that are written here; those with a ! are required.
var junitShape = map[string]struct{ children, attributes []string }{
	"testsuites": {[]string{"testsuite"}, []string{"name", "time", "tests", "failures", "disabled", "errors"}},
	"testsuite":  {[]string{"testsuite", "properties", "testcase", "system-out", "system-err"}, []string{"name!", "tests!", "failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"}},
	"properties": {[]string{"property"}, nil},
	"property":   {nil, []string{"name!", "value!"}},
	"testcase":   {[]string{"skipped", "error", "failure", "system-out", "system-err"}, []string{"name!", "assertions", "time", "classname", "status"}},
	"skipped":    {nil, []string{"type", "message"}},
	"error":      {nil, []string{"type", "message"}},
	"failure":    {nil, []string{"type", "message"}},
	"system-out": {nil, nil},
}

// checkJUnit holds a text against the shape, and its counts against its cases.
func checkJUnit(text []byte) (problems []string) {
	bad := func(format string, a ...any) { problems = append(problems, fmt.Sprintf(format, a...)) }
	dec := xml.NewDecoder(bytes.NewReader(text))
	var stack []string
	type counts struct{ tests, failures, errors, skipped int }
	said, have := []counts{{}, {}}, []counts{{}, {}} // of testsuites, and of the present testsuite
	names := map[string]bool{}
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			bad("%v", err)
			return problems
		}
		switch e := tok.(type) {
		case xml.StartElement:
			name := e.Name.Local
			shape, ok := junitShape[name]
			if !ok {
				bad("element %s", name)
			}
			if len(stack) == 0 && name != "testsuites" || len(stack) > 0 && !slices.Contains(junitShape[stack[len(stack)-1]].children, name) {
				bad("%s in %v", name, stack)
			}
			values := map[string]string{}
			for _, a := range e.Attr {
				values[a.Name.Local] = a.Value
				if !slices.Contains(shape.attributes, a.Name.Local) && !slices.Contains(shape.attributes, a.Name.Local+"!") {
					bad("attribute %s of %s", a.Name.Local, name)
				}
			}
			for _, a := range shape.attributes {
				if must, ok := strings.CutSuffix(a, "!"); ok && values[must] == "" && name != "property" {
					bad("%s has no %s", name, must)
				}
			}
			number := func(key string) int {
				n, err := strconv.Atoi(values[key])
				if err != nil {
					bad("%s of %s is %q", key, name, values[key])
				}
				return n
			}
			switch name {
			case "testsuites":
				said[0] = counts{number("tests"), number("failures"), number("errors"), 0}
			case "testsuite":
				said[1], have[1] = counts{number("tests"), number("failures"), number("errors"), number("skipped")}, counts{}
				names = map[string]bool{}
			case "testcase":
				have[0].tests, have[1].tests = have[0].tests+1, have[1].tests+1
				if names[values["name"]] || !strings.HasPrefix(values["classname"], "plimsoll.") || strings.Count(values["classname"], ".") != 1 {
					bad("case %q of class %q is there twice, or its class is not one of a package", values["name"], values["classname"])
				}
				names[values["name"]] = true
			case "failure":
				have[0].failures, have[1].failures = have[0].failures+1, have[1].failures+1
			case "error":
				have[0].errors, have[1].errors = have[0].errors+1, have[1].errors+1
			case "skipped":
				have[1].skipped++
			}
			stack = append(stack, name)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
			switch e.Name.Local {
			case "testsuite":
				if said[1] != have[1] {
					bad("a suite says %+v and has %+v", said[1], have[1])
				}
			case "testsuites":
				if said[0] != have[0] {
					bad("the suites say %+v and have %+v", said[0], have[0])
				}
			}
		}
	}
	return problems
}

func TestJUnit(t *testing.T) {
	all := scenes()
	broken := all["aa"]
	broken.broken = true
	all["broken"] = broken
	for name, want := range map[string]struct{ failures, errors, skipped bool }{
		"full": {failures: true}, "aa": {}, "one-block": {skipped: true}, "interrupted": {errors: true, skipped: true}, "invalid": {errors: true}, "hostile": {skipped: true},
		"broken": {failures: true}, "external": {}, "three-arms": {failures: true}, "unbounded-only": {failures: true}, "bounded-only": {failures: true},
	} {
		t.Run(name, func(t *testing.T) {
			text := render(t, func(w io.Writer) error { return JUnit(w, From(all[name].input())) })
			for _, p := range checkJUnit(text) {
				t.Error(p)
			}
			// Endpoints that were not judged are skipped in every scene.
			got := map[string]int{}
			for _, kind := range []string{"<failure", "<error", "<skipped"} {
				got[kind] = strings.Count(string(text), kind)
			}
			notJudged := strings.Count(string(text), `type="not judged"`)
			if (got["<failure"] > 0) != want.failures || (got["<error"] > 0) != want.errors || (got["<skipped"] > notJudged) != want.skipped {
				t.Errorf("%v, %d not judged: want %+v\n%s", got, notJudged, want, text)
			}
		})
	}
	for _, d := range []Document{{}, From(Input{}), judgedDocument()} {
		text := render(t, func(w io.Writer) error { return JUnit(w, d) })
		for _, p := range checkJUnit(text) {
			t.Errorf("%s: %s", d.Title, p)
		}
		if len(d.Verdicts) == 0 && !strings.Contains(string(text), "<error") {
			t.Errorf("nothing was judged, and nothing is red:\n%s", text)
		}
	}
}

// TestJUnitFollowsTheVerdict: a worse result is a failure, an unknown one an error, and only an undecided one is
// skipped.
func TestJUnitFollowsTheVerdict(t *testing.T) {
	for kind, want := range map[verdict.Kind]string{verdict.Worse: "failure", verdict.Invalid: "error", verdict.Inconclusive: "skipped", verdict.Same: "", verdict.Better: ""} {
		c := endpointCase(verdict.Result{Endpoint: plan.Endpoint{Name: "capacity"}, Kind: kind, Reason: "because"})
		got := ""
		switch {
		case c.Failure != nil:
			got = "failure"
		case c.Error != nil:
			got = "error"
		case c.Skipped != nil:
			got = "skipped"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	d := Document{}
	for _, tt := range []struct {
		values []RuleValue
		want   string
	}{
		{[]RuleValue{{Value: 1}}, ""}, {[]RuleValue{{Value: 1}, {Violated: true}, {NoData: true}}, "failure"}, {[]RuleValue{{Value: 1}, {NoData: true}}, "error"}, {[]RuleValue{{TooFew: true}, {Value: 1}}, "skipped"},
	} {
		c := d.ruleCase(RuleRow{Rule: "p99(op) < 2s", Measured: tt.values})
		if got := map[bool]string{c.Failure != nil: "failure", c.Error != nil: "error", c.Skipped != nil: "skipped"}[true]; got != tt.want {
			t.Errorf("%+v is %q, want %q", tt.values, got, tt.want)
		}
	}
}

// TestJUnitShapeCanFail: the check of the shape finds deviations.
func TestJUnitShapeCanFail(t *testing.T) {
	good := written(t, JUnit, From(scenes()["full"].input()))
	for _, change := range [][2]string{
		{"<failure ", "<defect "}, {` failures="`, ` failures="7`}, {"classname=", "class="}, {"<properties>", "<testcase name=\"x\" classname=\"plimsoll.x\"/><properties>"}, {"</testsuites>", ""}, {`<testcase name="capacity"`, `<testcase name="errors"`},
	} {
		if !strings.Contains(good, change[0]) {
			t.Errorf("%q is not in the text", change[0])
		}
		if len(checkJUnit([]byte(strings.Replace(good, change[0], change[1], 1)))) == 0 {
			t.Errorf("%q for %q was not found", change[1], change[0])
		}
	}
}
