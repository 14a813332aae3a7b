package verbs

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/rig"
)

// ranWith returns the status and output of a command line.
func ranWith(tb testing.TB, args ...string) (status int, stdout, stderr string) {
	tb.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, env: func(string) string { return "" }}
	status = a.run(tb.Context(), args)
	return status, out.String(), errs.String()
}

// Help that is asked for is data: on stdout, within 80 columns, with status 0, and the same in each spelling.
func TestHelp(t *testing.T) {
	of := [][]string{nil, {"report", "trend"}, {"data", "generate"}}
	for _, v := range new(app).verbs() {
		of = append(of, []string{v.name})
	}
	for _, command := range of {
		_, want, _ := ranWith(t, append([]string{"help"}, command...)...)
		for _, spelling := range []string{"-h", "-help", "--help"} {
			status, out, errs := ranWith(t, append(slices.Clip(command), spelling)...)
			if status != rig.ExitOK || errs != "" || out != want || !strings.Contains(out, "usage: ") && !strings.HasPrefix(out, "Usage of ") {
				t.Errorf("%v %s: status %d, stderr %q, stdout\n%s\nwant, as help prints it,\n%s", command, spelling, status, errs, out, want)
			}
		}
		for line := range strings.Lines(want) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 || strings.Contains(line, "\t") {
				t.Errorf("%v: a line is too long: %q", command, line)
			}
		}
	}
}

func TestVersionFlag(t *testing.T) {
	_, want, _ := ranWith(t, "version")
	for _, spelling := range []string{"-version", "--version"} {
		if status, out, errs := ranWith(t, spelling); status != rig.ExitOK || out != want || errs != "" {
			t.Errorf("%s: status %d, %q, %q; want %q", spelling, status, out, errs, want)
		}
	}
}

// Each mistake has one line on stderr, with its remedy.
func TestCommandLineMistakes(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"capcity plan.yaml", []string{`plimsoll: no verb "capcity"; did you mean "capacity"?`}},
		{"help capcity", []string{`plimsoll: no verb "capcity"; did you mean "capacity"?`}},
		{"conquer", []string{`plimsoll: no verb "conquer"; "plimsoll help" lists them`}},
		{"run -usrs 5 plan.yaml", []string{`plimsoll run: no flag -usrs; did you mean "-users"?`}},
		{"run -bogus -sotre=x plan.yaml -users 5", []string{`plimsoll run: no flag -bogus; "plimsoll help run" lists them`,
			`plimsoll run: no flag -sotre; did you mean "-store"?`}},
		{"run -users many plan.yaml", []string{`plimsoll run: invalid value "many" for flag -users: parse error`}},
		{"run ---users plan.yaml", []string{"plimsoll run: bad flag syntax: ---users"}},
		{"refchat -bogus", []string{"plimsoll refchat: usage: flag provided but not defined: -bogus"}},
		{"refnull -bogus", []string{"plimsoll refnull: usage: flag provided but not defined: -bogus"}},
	} {
		status, out, errs := ranWith(t, strings.Fields(tt.line)...)
		if want := strings.Join(tt.want, "\n") + "\n"; status != rig.ExitUsage || out != "" || errs != want {
			t.Errorf("%s: status %d, stdout %q, stderr\n%swant\n%s", tt.line, status, out, errs, want)
		}
	}
}
