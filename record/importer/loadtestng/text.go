package loadtestng

import (
	"fmt"
	"strconv"
	"strings"

	"plimsoll/record"
)

// A text is a results.txt that is being read. A result begins with a line "Comparison result:",
// with or without a ruler before it and a report behind it on the same line, and ends with a ruler.
type text struct {
	source   string
	number   int // of the line
	runs     []record.Imported
	warnings []string
	parts    []part
	seen     map[string]bool // the fields of the last part
	open     bool            // a result is
	outside  [2]int          // the first unread line outside of results, and their number
}

// readText reads results.txt.
func readText(source string, data []byte) ([]record.Imported, error) {
	t := text{source: source}
	for line := range strings.Lines(string(data)) {
		t.number++
		line = strings.TrimRight(line, " \r\n")
		rest := strings.TrimLeft(line, "=")
		var err error
		if len(line)-len(rest) >= 10 && t.open {
			err = t.end()
		}
		if err == nil && rest != "" {
			err = t.take(rest)
		}
		if err != nil {
			return nil, err
		}
	}
	if n := t.outside[1]; n > 0 {
		t.warnings = append(t.warnings, fmt.Sprintf(
			"from line %d on, lines outside of the results were not read: %d",
			t.outside[0],
			n,
		))
	}
	if t.open {
		return nil, t.errorf("the last result has no ruler (===) at its end: the file is truncated")
	}
	return results(t.runs, t.warnings)
}

// take reads a line that is not a ruler.
func (t *text) take(line string) error {
	name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
	indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
	switch {
	case strings.HasPrefix(line, begin) && t.open:
		return t.errorf(
			"a result begins inside another one: the ruler (===) between them is missing",
		)
	case strings.HasPrefix(line, begin) || name == "Report" && !t.open:
		t.open = true
		t.parts = nil
		t.seen = nil
	case strings.HasSuffix(line, failed) && !t.open:
		t.warnings = append(
			t.warnings,
			t.errorf("%s: one of its load tests failed, and it is left out", line).Error(),
		)
	case indented && ok && !t.open:
		return t.errorf(
			"%s stands outside of a result: a line %q is missing before it",
			record.QuoteImported(line),
			begin,
		)
	case !t.open:
		if t.outside[1]++; t.outside[0] == 0 {
			t.outside[0] = t.number
		}
	case name == "Grafana Dashboard" || name == "Report" && !indented:
	case !ok:
		return t.errorf("%s: want NAME: VALUE", record.QuoteImported(line))
	case !indented:
		if err := t.whole(); err != nil {
			return err
		}
		t.parts, t.seen = append(t.parts, part{label: name, line: t.number}), map[string]bool{}
	case len(t.parts) == 0:
		return t.errorf("%s stands before a build's name", record.QuoteImported(line))
	case t.seen[name]:
		return t.errorf("%s of %s is there twice", name, t.parts[len(t.parts)-1].label)
	default:
		t.seen[name] = true
		if err := t.parts[len(t.parts)-1].set(name, strings.TrimSpace(value), t.number); err != nil {
			return t.errorf("%w", err)
		}
	}
	return nil
}

// errorf returns an error that names the line.
func (t *text) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: "+format, append([]any{t.number}, args...)...)
}

// whole returns an error if the last part lacks a field.
func (t *text) whole() error {
	if len(t.parts) == 0 {
		return nil
	}
	p := t.parts[len(t.parts)-1]
	want := []string{"Type", "DB Engine", "Errors"}
	switch p.kind {
	case "bounded":
		want = append(want, "Duration", "Users")
	case "unbounded":
		want = append(want, "Supported Users")
	}
	for _, f := range want {
		if !t.seen[f] {
			return t.errorf("%s ends without %s: the file is truncated", p.label, f)
		}
	}
	return nil
}

// end ends the result that is open.
func (t *text) end() error {
	if err := t.whole(); err != nil {
		return err
	}
	if len(t.parts) != 2 {
		return t.errorf("%d load tests in a result, want base and new", len(t.parts))
	}
	for i, p := range t.parts {
		g, err := p.given(t.source, arms[i])
		if err != nil {
			return err
		}
		t.runs = append(t.runs, g)
	}
	t.open = false
	return nil
}

// set takes one field of results.txt.
func (p *part) set(name, value string, line int) (err error) {
	whole := func() int64 {
		n, nerr := strconv.ParseInt(value, 10, 64)
		if nerr != nil || n < 0 {
			err = fmt.Errorf("%s is %s, want a whole number", name, record.QuoteImported(value))
		}
		return n
	}
	switch name {
	case "Type":
		p.kind = value
	case "DB Engine":
		p.engine = value
	case "Duration":
		p.duration = value
	case "Users":
		p.users, p.line = int(whole()), line
	case "Supported Users":
		p.supported, p.line = int(whole()), line
	case "Errors":
		p.errors = whole()
	}
	return err
}
