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
