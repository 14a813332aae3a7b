package verbs

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
)

// ranWith returns the status and output of a command line.
func ranWith(tb testing.TB, args ...string) (status int, stdout, stderr string) {
	tb.Helper()
	var out, errs bytes.Buffer
	a := &app.App{
		Stdin:  strings.NewReader(""),
		Stdout: &out,
		Stderr: &errs,
		Env:    func(string) string { return "" },
	}
	status = run(tb.Context(), a, args)
	return status, out.String(), errs.String()
}

// On another system than Linux a verb that needs its kernel ends with a sentence, which its help
// has too; the others are what they are.
func TestVerbsThatNeedLinux(t *testing.T) {
	for _, name := range onLinux {
		if !slices.ContainsFunc(verbs(new(app.App)), func(v verb) bool { return v.name == name }) {
			t.Errorf("onLinux has %s, which is no verb", name)
		}
	}
	const sentence = "this is plan9"
	with := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		a := &app.App{
			Stdin:   strings.NewReader(""),
			Stdout:  &out,
			Stderr:  &errs,
			Env:     func(string) string { return "" },
			Missing: errors.New(sentence),
		}
		status := run(t.Context(), a, args)
		return status, out.String(), errs.String()
	}
	for _, c := range []struct {
		args      []string
		status    int
		out, errs bool
	}{
		{[]string{"run", "PLAN.yaml"}, exit.Tool, false, true}, {[]string{"doctor"}, exit.Tool, false, true},
		{[]string{"run", "-h"}, exit.OK, true, false}, {[]string{"help", "demo"}, exit.OK, true, false},
		{[]string{"judge", "-h"}, exit.OK, false, false}, {[]string{"version"}, exit.OK, false, false},
	} {
		if status, out, errs := with(c.args...); status != c.status ||
			strings.Contains(out, sentence) != c.out ||
			strings.Contains(errs, sentence) != c.errs {
			t.Errorf("%v: status %d, stdout %q, stderr %q", c.args, status, out, errs)
		}
	}
}

// Help that is asked for is data: on stdout, within 80 columns, with status 0, and the same in each
// spelling.
func TestHelp(t *testing.T) {
	of := [][]string{nil, {"report", "trend"}, {"data", "generate"}}
	for _, v := range verbs(new(app.App)) {
		of = append(of, []string{v.name})
	}
	for _, command := range of {
		_, want, _ := ranWith(t, append([]string{"help"}, command...)...)
		for _, spelling := range []string{"-h", "-help", "--help"} {
			status, out, errs := ranWith(t, append(slices.Clip(command), spelling)...)
			if status != exit.OK || errs != "" || out != want ||
				!strings.Contains(out, "usage: ") && !strings.HasPrefix(out, "Usage of ") {
				t.Errorf(
					"%v %s: status %d, stderr %q, stdout\n%s\nwant, as help prints it,\n%s",
					command,
					spelling,
					status,
					errs,
					out,
					want,
				)
			}
		}
		for line := range strings.Lines(want) {
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > 80 ||
				strings.Contains(line, "\t") {
				t.Errorf("%v: a line is too long: %q", command, line)
			}
		}
	}
}
