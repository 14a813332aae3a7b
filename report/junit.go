package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/judge/verdict"
)

// The elements of JUnit XML that CI systems agree on: the schema of Jenkins' xUnit plugin
// (junit-10.xsd, MIT license), with nothing that Ant's form lacks but the message of skipped.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Skipped *junitReason `xml:"skipped"`
		Error   *junitReason `xml:"error"`
		Failure *junitReason `xml:"failure"`
		Out     string       `xml:"system-out,omitempty"`
	}
	junitReason struct {
		Type    string `xml:"type,attr,omitempty"`
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

func because(kind, message string) *junitReason {
	return &junitReason{Type: kind, Message: plain.OneLine(message)}
}

// JUnit writes the document as JUnit XML, for CI systems: a test suite for each verdict of a new
// arm (by database), and in it a test case for each primary endpoint and for each rule that the
// bounded tests evaluated.
//
//   - Worse, a rule that did not hold, and acknowledged messages that are gone, also in a run on which no verdict
//     rests, are failures.
//   - A result that could not be judged (invalid, no data, a comparison that is not complete) is an error: a CI
//     system is red, as it should be when nothing is known.
//   - A result that is not decided (inconclusive, indicative, an endpoint without enough operations) is skipped: CI
//     systems are not red then. The exit status of the program, 4, distinguishes it from a pass. So is a rule that only
//     warns and did not hold, or had no data.
//
// Databases against each other are not a test of a release, and are left out. Times are left out,
// because a document has none.
func JUnit(w io.Writer, d Document) error {
	all := junitSuites{Name: plain.OneLine(d.Title)}
	for i, f := range d.Verdicts {
		all.Suites = append(all.Suites, d.suite(i, f))
	}
	if len(d.Verdicts) == 0 {
		s := junitSuite{Name: "verdict", Properties: d.properties(nil)}
		s.Cases = []junitCase{{Name: "verdict",
			Error: because("invalid", "nothing was judged")}}
		all.Suites = append(all.Suites, s)
	}
	for i := range all.Suites {
		s := &all.Suites[i]
		if !d.State.Complete {
			s.Cases = append(s.Cases,
				junitCase{Name: "complete",
					Error: because("incomplete", d.State.missing(stateWord(d.State.State)))})
		}
		for k := range s.Cases {
			c := &s.Cases[k]
			// A dot would begin a package.
			c.Name, c.Class = plain.OneLine(c.Name), "plimsoll."+strings.ReplaceAll(s.Name, ".", "_")
			s.count(*c)
		}
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
	}
	b, err := xml.MarshalIndent(all, "", " ")
	if err != nil {
		return fmt.Errorf("writing report as JUnit XML: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+plain.Lines(string(b))+"\n")
	return err
}

func (s *junitSuite) count(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// suite is the i-th verdict. The base's rules stand with the first verdict of their database.
func (d Document) suite(i int, f NamedVerdict) junitSuite {
	s := junitSuite{Name: cmp.Or(plain.OneLine(f.Name), "verdict"), Properties: d.properties(&f)}
	if len(f.Verdict.Results) == 0 {
		s.Cases = append(s.Cases,
			junitCase{Name: "verdict",
				Error: because("invalid", f.Verdict.Reason)})
	}
	for _, r := range f.Verdict.Results {
		s.Cases = append(s.Cases, endpointCase(r))
	}
	for _, r := range f.Skipped {
		s.Cases = append(s.Cases,
			junitCase{Name: r.Name, Skipped: because("not judged", r.Value)})
	}
	first := true
	for _, before := range d.Verdicts[:i] {
		first = first && before.Engine != f.Engine
	}
	ours := func(engine, arm string) bool {
		return engine == f.Engine && (arm == f.Arm || first && arm == baseName(d))
	}
	for _, u := range d.Users {
		if a := u.Audit; a != nil && ours(u.Engine, u.Arm) {
			c := junitCase{Name: fmt.Sprintf("acknowledged messages (%s)", d.armLabel(u.Arm))}
			if a.Missing > 0 {
				c.Failure = because("lost",
					fmt.Sprintf("%d of %d cannot be read", a.Missing, a.Expected))
			}
			if a.NotAudited > 0 && a.Missing+a.Readable == 0 {
				c.Skipped = because("not audited",
					fmt.Sprintf("nobody may read %d of %d", a.NotAudited, a.Expected))
			}
			s.Cases = append(s.Cases, c)
		}
	}
	for _, l := range d.LostElsewhere {
		if ours(l.Engine, l.Arm) {
			s.Cases = append(s.Cases, junitCase{
				Name: fmt.Sprintf("acknowledged messages (%s, run %s)", d.armLabel(l.Arm), l.Run),
				Failure: because("lost", fmt.Sprintf(
					"%d of %d cannot be read; no verdict rests on the run", l.Missing, l.Expected))})
		}
	}
	for _, t := range d.Rules {
		for _, r := range t.Rows {
			if len(r.Measured) > 0 && ours(t.Engine, r.Arm) {
				s.Cases = append(s.Cases, d.ruleCase(r))
			}
		}
	}
	return s
}

func (d Document) properties(f *NamedVerdict) []junitProperty {
	var out []junitProperty
	add := func(name, value string) {
		if value != "" {
			out = append(out, junitProperty{name, plain.OneLine(value)})
		}
	}
	add("comparison", d.Comparison)
	add("tool", d.tool())
	add("base", d.baseLabel())
	if f == nil {
		add("verdict", kindText(d.Kind, d.Indicative))
		return out
	}
	add("new", d.armLabel(f.Arm))
	add("verdict", kindText(f.Verdict.Kind, f.Verdict.Indicative))
	add("sentence", headline(d, *f)+".")
	for _, l := range d.Limiters {
		if l.Engine == f.Engine && (l.Arm == f.Arm || l.Arm == baseName(d)) {
			add("limiter of "+d.armLabel(l.Arm), limitText(l))
		}
	}
	return out
}

func endpointCase(r verdict.Result) junitCase {
	c := junitCase{Name: r.Name}
	message := r.Reason
	if known(r.Effect) {
		message = effect(r) + ": " + message
	}
	reason := because(kindText(r.Kind, r.Indicative), message)
	reason.Text = plain.OneLine(r.Sentence)
	switch r.Kind {
	case verdict.Same, verdict.Better:
		c.Out = plain.OneLine(r.Sentence)
	case verdict.Worse:
		c.Failure = reason
	case verdict.Inconclusive:
		c.Skipped = reason
	default:
		c.Error = reason
	}
	return c
}

func (d Document) ruleCase(r RuleRow) junitCase {
	broken, missing, few := r.tally()
	c, n := junitCase{Name: fmt.Sprintf("rule %s (%s)", r.Rule, d.armLabel(r.Arm))}, len(r.Measured)
	inRuns := func(kind string, k int, what string) *junitReason {
		return because(kind, fmt.Sprintf("%s in %d of %s of the bounded test", what, k,
			count(n, "run", "runs")))
	}
	switch {
	case r.Warning && broken > 0:
		c.Skipped = inRuns("warning", broken, "did not hold")
	case r.Warning && missing > 0:
		c.Skipped = inRuns("warning", missing, "had no data")
	case broken > 0:
		c.Failure = inRuns("rule", broken, "did not hold")
	case missing > 0:
		c.Error = inRuns("no data", missing, "had no data")
	case few > 0:
		c.Skipped = inRuns("too few", few, "had too few operations")
	}
	return c
}
