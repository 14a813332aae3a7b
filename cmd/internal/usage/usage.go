// Package usage parses the flags of a command, in any order of flags and arguments, and prints help
// on them within [Width] columns. It knows no verb.
package usage

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/report"
)

// Width is the widest line of help, in signs.
const Width = 80

// Flags prints a text and the flags of a command below it.
func Flags(w io.Writer, head string, fs *flag.FlagSet) {
	var text bytes.Buffer
	plain.Fprintf(&text, "%s\n", plain.Block(head))
	some := false
	fs.VisitAll(func(*flag.Flag) { some = true })
	if some {
		plain.Fprintf(&text, "\nflags:\n")
		fs.SetOutput(&text)
		fs.PrintDefaults()
	}
	Fold(w, text.String())
}

// List prints names with a text beside each.
func List(w io.Writer, rows [][2]string) {
	const indent = 13
	for _, row := range rows {
		for i, line := range report.Fold(row[1], Width-indent) {
			name := row[0]
			if i > 0 {
				name = ""
			}
			plain.Fprintf(w, "  %-*s%s\n", indent-2, name, line)
		}
	}
}

// Fold writes a help text, as package flag lays it out, in lines of at most [Width] signs. The rest
// of a line that is too long goes on below its first word.
func Fold(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "    \t", "        ")
		body := strings.TrimLeft(line, " ")
		indent := len(line) - len(body)
		if len([]rune(line)) <= Width {
			plain.Fprintf(w, "%s\n", line)
			continue
		}
		for _, part := range report.Fold(body, Width-indent) {
			plain.Fprintf(w, "%*s%s\n", indent, "", part)
		}
	}
}

// AsksHelp reports whether an argument is the flag that prints help.
func AsksHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		return slices.Contains([]string{"-h", "-help", "--help", "--h"}, arg)
	})
}

// Foreign runs a command that parses its own flags, and whose errors of usage wrap bad. Its help
// goes to stdout, folded, and is not an error.
func Foreign(
	stdout io.Writer,
	args []string,
	bad error,
	command func(stdout io.Writer) error,
) error {
	out := stdout
	var help bytes.Buffer
	if AsksHelp(args) {
		out = &help
	}
	err := command(out)
	Fold(stdout, help.String())
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case errors.Is(err, bad):
		return plan.UsageError{Err: err}
	}
	return err
}

// Errors lists the mistakes in the flags of a command line, one for each flag.
type Errors []string

// Error implements error with a line for each.
func (e Errors) Error() string { return strings.Join(e, "\n") }

// Nearest is the remedy for an unknown name: the nearest one, or the command that lists all.
func Nearest(name string, names []string, lister string) string {
	if near := plan.Nearest(name, names); near != "" {
		return near
	}
	return fmt.Sprintf("%q lists them", lister)
}
