package plan

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// An SLO is one rule that must hold, as in "p99(post) < 300ms for 30s". [ParseSLO] describes the
// grammar.
type SLO struct {
	// Source is the rule in canonical form: how reports name it.
	Source string
	// Service selects the service time of operations instead of their response time.
	Service bool
	// Stat is the compared statistic: p50 to p99.9, mean, max, rate, cpu or promql.
	Stat string
	// Arg is the operation, error class or role that Stat is taken of, or the expression of promql.
	Arg string
	// Less means that the value must be below the threshold; otherwise above, which only promql
	// rules may require.
	Less bool
	// Threshold is the limit in Unit: seconds of a latency, a fraction of a rate or of CPU (0.85 is
	// 85%).
	Threshold float64
	// Unit is "s", "fraction", or "" for promql.
	Unit string
	// For is the time of unbroken violation after which the rule is broken; 0 means one window.
	For time.Duration
	// Over is the time over which the rule is evaluated; 0 means one window, and for a rate up to
	// 20 windows.
	Over time.Duration
	// Min is the smallest number of operations that a rate or latency is judged from; 0 for any
	// number.
	Min int
	// Grace is the longest time without data; 0 means four windows.
	Grace time.Duration
	// Warning means that the rule is reported and stops nothing.
	Warning bool
}

// ErrorClasses lists the arguments of rate() for errors: the classes in which an operation can end
// without success, and "errors" for all of them together.
func ErrorClasses() []string {
	return []string{
		"errors", "dial", "tls", "write", "header", "body", "decode", "ws", "timeout", "4xx", "5xx", "dropped",
	}
}

// MessageFaults lists the arguments of rate() for deliveries: the ones that did not come, came
// twice or in the wrong order, as a part of the expected ones.
func MessageFaults() []string { return []string{"lost", "duplicated", "misordered"} }

// Disconnected is the argument of rate() for the users' event connections: the connections that
// were refused, cut off, or missed events, as a part of the users, and at most 100 %.
const Disconnected = "disconnected"

// The arguments of rate() for scripts: the iterations that ended in an exception, as a part of all,
// and the checks that did not hold.
const (
	ScriptExceptions = "script"
	FailedChecks     = "failed_checks"
)

// OfScript reports whether the rule is of what only a script counts.
func (r SLO) OfScript() bool {
	return r.Stat == "rate" && (r.Arg == ScriptExceptions || r.Arg == FailedChecks)
}

// FailedOperations is the rule of failed operations: the default of every bounded test and of every
// search, and the only place that states how large a part of the operations may fail. Its minimum
// fits small tests: two failures in 2000 operations or fewer break it, and one never does.
const FailedOperations = "rate(errors) < 0.1% min 2000"

// DefaultFailures returns [FailedOperations], read.
func DefaultFailures() SLO {
	r, err := ParseSLO(FailedOperations)
	if err != nil {
		panic(err) // a constant, tested
	}
	return r
}

// LimitsErrors reports whether the rule limits the failures of every class together. A warning
// limits nothing.
func (r SLO) LimitsErrors() bool { return r.Stat == "rate" && r.Arg == "errors" && !r.Warning }

// rules is the type of a list of rules.
var rules = rulesType()

func rulesType() valueType {
	rule := custom(readRule, nil, func(valueType) object {
		return object{"type": "string", "pattern": rulePattern}
	})
	t := list("a list of rules", rule, "").
		filled("write a rule, or remove the key for the default rules")
	t.write = func(e *encoder, depth int, key string, v reflect.Value) {
		if v.Len() > 0 {
			e.line(depth, key, "")
		}
		for _, r := range v.Interface().([]SLO) {
			e.b.WriteString(strings.Repeat("  ", depth+1) + "- " + strconv.Quote(r.String()) + "\n")
		}
	}
	return t.describing(object{"minItems": 1})
}

func readRule(n node, to *SLO) {
	if n.Kind == yaml.MappingNode {
		n.fail(`is a mapping; put the rule in quotes: "promql: EXPR < 0.5"`)
		return
	}
	decodeScalar("a rule", ParseSLO)(n, to)
}

// Units of [SLO.Threshold].
const (
	Seconds  = "s"
	Fraction = "fraction"
)

var (
	ruleRE = regexp.MustCompile(
		`^((?:service\s*\.\s*)?[A-Za-z][A-Za-z0-9.]*)\s*\(([^()]*)\)\s*(<=|>=|==|!=|<|>|=)\s*(.*)$`,
	)
	// argRE matches a name; those of scripts may have several words, as in GET /api/{id}.
	argRE    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}(?: [^\s()]{1,100}){0,8}$`)
	statRE   = regexp.MustCompile(`^p([1-9][0-9](?:\.[0-9]+)?)$`)
	promqlRE = regexp.MustCompile(
		`^(.*\S)\s*([<>])\s*([+-]?[0-9][0-9.eE+-]*)((?:\s+for\s+\S+|\s+grace\s+\S+|\s+warning)*)$`,
	)
)

// ParseSLO reads one rule:
//
//	STAT(op|role) < VALUE [for D] [over D] [min N] [grace D] [warning]
//	promql: EXPR < VALUE [for D] [grace D] [warning]
//
// STAT is p50 to p99.9, mean or max of an operation ("op" for all of them) with a latency as VALUE
// ("300ms"); rate of an error class, a message fault, [Disconnected], [ScriptExceptions] or
// [FailedChecks] with a percentage ("0.025%"); or cpu of a role with a percentage. A latency is the response time; service.STAT
// selects the service time. promql may also ask for more than VALUE, a plain number; $window in
// EXPR stands for the window of the search.
//
// A rule looks back over one window of the search, or over D; a rate looks back as far as it must
// to see N operations, at most over D. A rate or latency is not judged from fewer than N
// operations. Without min, N of a rate is the number at which a rate at the threshold means two
// errors: 8000 for 0.025%. grace is the time for which a rule may lack data without a fault. A rule
// that is only a warning stops nothing and breaks nothing; it is reported.
func ParseSLO(s string) (SLO, error) {
	text := strings.TrimSpace(s)
	if strings.ContainsFunc(text, func(r rune) bool { return isControl(r) || r == '\uFFFD' }) {
		return SLO{}, refuse(s,
			"holds a line break, a tab or a control character; write the rule on one line")
	}
	if len(text) > 1000 {
		return SLO{}, errors.New(
			"the rule is longer than 1000 bytes; use a recording rule of the target's own monitoring",
		)
	}
	var r SLO
	var err error
	if expr, ok := strings.CutPrefix(text, "promql:"); ok {
		r, err = parsePromQL(strings.TrimSpace(expr))
	} else {
		r, err = parseRule(text)
	}
	if err != nil {
		return SLO{}, err
	}
	r.Source = r.String()
	return r, nil
}

const ruleShape = `want STAT(op|role) < VALUE [for D] [over D] [min N] [grace D] [warning], such as "p99(post) < 300ms for 30s"`

func parseRule(text string) (SLO, error) {
	m := ruleRE.FindStringSubmatch(text)
	if m == nil {
		return SLO{}, refuse(text, "is not a rule; %s", ruleShape)
	}
	var r SLO
	stat, service := strings.CutPrefix(m[1], "service")
	if service && strings.HasPrefix(strings.TrimSpace(stat), ".") {
		r.Service = true
		stat = strings.TrimSpace(strings.TrimSpace(stat)[1:])
	} else {
		stat = m[1]
	}
	arg, op := strings.TrimSpace(m[2]), m[3]
	if err := r.setStat(stat, arg); err != nil {
		return SLO{}, err
	}
	if op != "<" {
		return SLO{}, fmt.Errorf(
			"%s(%s) %s: the only comparison is <; write the limit that must not be reached", r.Stat,
			r.Arg, op)
	}
	r.Less = true
	words := strings.Fields(m[4])
	if len(words) == 0 {
		return SLO{}, refuse(text, "has no value; %s", ruleShape)
	}
	if err := r.setThreshold(words[0]); err != nil {
		return SLO{}, err
	}
	if err := r.setOptions(words[1:]); err != nil {
		return SLO{}, err
	}
	if r.Stat == "rate" && r.Min == 0 {
		r.Min = defaultMin(r.Threshold)
	}
	return r, nil
}

// setStat sets the statistic and its argument.
func (r *SLO) setStat(stat, arg string) error {
	r.Stat, r.Arg = strings.ToLower(stat), arg
	switch {
	case r.Stat == "mean", r.Stat == "max":
		r.Unit = Seconds
	case statRE.MatchString(r.Stat):
		p, err := strconv.ParseFloat(r.Stat[1:], 64)
		if err != nil || p < 50 || p > 99.9 {
			return refuse(stat, "is out of range; want p50 to p99.9")
		}
		r.Stat, r.Unit = "p"+formatNumber(p), Seconds
	case r.Stat == "rate", r.Stat == "cpu":
		r.Unit = Fraction
		if r.Service {
			return fmt.Errorf(
				"service.%s has no meaning; service times are asked with p50 to p99.9, mean "+
					"or max", r.Stat)
		}
	default:
		known := []string{"p50", "p90", "p95", "p99", "mean", "max", "rate", "cpu"}
		return refuse(stat, "is not a statistic; %swant p50 to p99.9, mean, max, rate or cpu",
			hint(stat, known))
	}
	if !argRE.MatchString(arg) {
		return fmt.Errorf(
			"%s(%s) names nothing; write the operation (\"op\" for all), error class or role "+
				"in the parentheses", r.Stat, arg)
	}
	if classes := rates(); r.Stat == "rate" && !slices.Contains(classes, arg) {
		return fmt.Errorf("rate(%s): %s is not an error class; %swant one of %s", arg, clip(arg),
			hint(arg, classes), strings.Join(classes, ", "))
	}
	return nil
}

// rates returns the arguments of rate().
func rates() []string {
	return slices.Concat(ErrorClasses(), MessageFaults(),
		[]string{Disconnected, ScriptExceptions, FailedChecks})
}

// setThreshold reads the value in the unit of the statistic.
func (r *SLO) setThreshold(word string) error {
	if r.Unit == Seconds {
		d, err := parseDuration(word)
		if err != nil {
			return fmt.Errorf("the limit of %s(%s): %w", r.Stat, r.Arg, err)
		}
		if d <= 0 || d > time.Hour {
			return fmt.Errorf(
				"the limit of %s(%s): %s is not a possible latency; want more than 0s and at "+
					"most 1h", r.Stat, r.Arg, clip(word))
		}
		r.Threshold = d.Seconds()
		return nil
	}
	v, err := parsePercent(word)
	if err != nil {
		return fmt.Errorf("the limit of %s(%s): %w", r.Stat, r.Arg, err)
	}
	if v < 1e-9 || v > 1 {
		return fmt.Errorf(
			"the limit of %s(%s): %s can never decide anything; want at least 0.0000001%% "+
				"and at most 100%%", r.Stat, r.Arg, clip(word))
	}
	r.Threshold = v
	return nil
}

// setOptions reads the options behind the limit, each at most once.
func (r *SLO) setOptions(words []string) error {
	seen := map[string]bool{}
	for len(words) > 0 {
		key := words[0]
		span := map[string]*time.Duration{"for": &r.For, "over": &r.Over, "grace": &r.Grace}[key]
		switch {
		case span == nil && key != "min" && key != "warning":
			return refuse(strings.Join(words, " "), "after the limit is not understood; "+
				"want only [for D] [over D] [min N] [grace D] [warning]")
		case seen[key]:
			return fmt.Errorf("%q is there twice; keep one", key)
		}
		seen[key] = true
		if key == "warning" {
			r.Warning = true
			words = words[1:]
			continue
		}
		if len(words) < 2 {
			return fmt.Errorf("%q has no value; %s", key, ruleShape)
		}
		var err error
		if span == nil {
			err = r.setMin(words[1])
		} else if *span, err = parseDuration(words[1]); *span == 0 && err == nil {
			err = fmt.Errorf("%s %s means nothing; leave it out, or write a time such as 30s", key, words[1])
		} else if err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
		if err != nil {
			return err
		}
		words = words[2:]
	}
	return nil
}

// setMin reads the smallest number of operations.
func (r *SLO) setMin(word string) error {
	if r.Stat == "cpu" {
		return fmt.Errorf("min counts operations, of which cpu(%s) has none; leave it out", r.Arg)
	}
	n, err := parseInt(word)
	switch {
	case err != nil:
		return fmt.Errorf("min: %w", err)
	case n < 1:
		return fmt.Errorf("min %s: a rule needs operations; want 1 or more", word)
	}
	r.Min = n
	return nil
}

// defaultMin returns the number of operations of which a rate at the threshold means two errors, so
// that a single one never decides.
func defaultMin(threshold float64) int {
	return int(math.Ceil(math.Round(2/threshold*1e6) / 1e6))
}

func parsePromQL(text string) (SLO, error) {
	const shape = `want "promql: EXPR < NUMBER [for D] [grace D] [warning]"`
	m := promqlRE.FindStringSubmatch(text)
	if m == nil {
		return SLO{}, fmt.Errorf("promql: %s does not end in a comparison with a number; %s",
			clip(text), shape)
	}
	r := SLO{Stat: "promql", Arg: strings.TrimSpace(m[1]), Less: m[2] == "<"}
	v, err := strconv.ParseFloat(m[3], 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return SLO{}, fmt.Errorf("promql: %s is not a number; %s", clip(m[3]), shape)
	}
	if v == 0 {
		v = 0 // -0 would print a sign
	}
	r.Threshold = v
	if err := r.setOptions(strings.Fields(m[4])); err != nil {
		return SLO{}, err
	}
	return r, nil
}

// String returns the rule in canonical form, which [ParseSLO] reads as the same rule.
func (r SLO) String() string {
	var b strings.Builder
	op := "<"
	if !r.Less {
		op = ">"
	}
	if r.Stat == "promql" {
		fmt.Fprintf(
			&b,
			"promql: %s %s %s",
			r.Arg,
			op,
			strconv.FormatFloat(r.Threshold, 'g', -1, 64),
		)
	} else {
		if r.Service {
			b.WriteString("service.")
		}
		limit := formatPercent(r.Threshold)
		if r.Unit == Seconds {
			limit = FormatDuration(time.Duration(math.Round(r.Threshold * float64(time.Second))))
		}
		fmt.Fprintf(&b, "%s(%s) %s %s", r.Stat, r.Arg, op, limit)
	}
	option := func(name string, d time.Duration) {
		if d > 0 {
			fmt.Fprintf(&b, " %s %s", name, FormatDuration(d))
		}
	}
	option("for", r.For)
	option("over", r.Over)
	if r.Min > 0 {
		fmt.Fprintf(&b, " min %d", r.Min)
	}
	option("grace", r.Grace)
	if r.Warning {
		b.WriteString(" warning")
	}
	return b.String()
}

// hint is nearest, followed by a space for the sentence that goes on.
func hint(word string, candidates []string) string {
	if s := Nearest(word, candidates); s != "" {
		return s + " "
	}
	return ""
}

// checkRules checks the rules of one of the tests.
func (d *decoder) checkRules(key string, rules []SLO, p *Plan, k Known) {
	seen := map[string]int{}
	roles, checked := k.Roles[p.Target.Driver]
	watched := p.WatchedRoles()
	for _, x := range p.Watching() {
		if x.ShowsCPU() {
			watched = append(watched, x.Role)
		}
	}
	for _, role := range watched {
		if !slices.Contains(roles, role) {
			roles = append(slices.Clip(roles), role)
		}
	}
	for i, r := range rules {
		path := fmt.Sprintf("%s[%d]", key, i)
		first, twice := seen[r.Source]
		if twice && d.good(path) {
			d.at(path, "is the same rule as %s[%d]; keep one", key, first)
			continue
		}
		seen[r.Source] = i
		switch {
		case r.Stat == "cpu" && checked && !slices.Contains(roles, r.Arg):
			d.at(path, "the target %s has no role %s to watch; %sroles: %s", p.Target.Driver,
				clip(r.Arg), hint(r.Arg, roles), strings.Join(roles, ", "))
		case r.Unit == Seconds && k.Ops != nil && !p.Workload.Scripted() && r.Arg != "op" && r.Arg != "delivery" && !slices.Contains(k.Ops, r.Arg):
			d.at(path, "%s is not an operation; %sknown: op, delivery, %s", clip(r.Arg),
				hint(r.Arg, k.Ops), strings.Join(k.Ops, ", "))
		case key == "unbounded.slo" && !d.stored && d.good("unbounded.budget") && p.Workload.Wait(r.For) > p.Unbounded.Budget:
			d.at(path, "for %s is longer than unbounded.budget %s, so the rule could never be "+
				"broken; want less", FormatDuration(r.For), FormatDuration(p.Unbounded.Budget))
		}
	}
}
