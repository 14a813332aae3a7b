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

// Parse parses flags and checks how many arguments are left. The error is [flag.ErrHelp], or a
// [plan.UsageError], of [Errors] if it is one of flags.
func Parse(fs *flag.FlagSet, args []string, least, most int) ([]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	var rest []string
	var bad Errors
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		if err != nil {
			bad = append(bad, mistake(fs, err))
		}
		left := fs.Args()
		if len(left) == 0 || err != nil && len(left) == len(args) {
			break
		}
		if args = left; err == nil {
			rest, args = append(rest, left[0]), left[1:]
		}
	}
	if len(bad) > 0 {
		return nil, plan.UsageError{Err: bad}
	}
	if len(rest) < least || len(rest) > most {
		want := fmt.Sprint(least)
		if most > least {
			want = fmt.Sprintf("%d to %d", least, most)
		}
		return nil, plan.Usagef(
			"%d arguments, want %s; see plimsoll %s -h",
			len(rest),
			want,
			fs.Name(),
		)
	}
	return rest, nil
}

// mistake is the message for an error of [flag.FlagSet.Parse]: of an unknown flag with its nearest
// one.
func mistake(fs *flag.FlagSet, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err.Error()
	}
	var flags []string
	fs.VisitAll(func(f *flag.Flag) { flags = append(flags, "-"+f.Name) })
	return fmt.Sprintf(
		"no flag -%s; %s",
		name,
		Nearest("-"+name, flags, "plimsoll help "+fs.Name()),
	)
}

// Nearest is the remedy for an unknown name: the nearest one, or the command that lists all.
func Nearest(name string, names []string, lister string) string {
	if near := plan.Nearest(name, names); near != "" {
		return near
	}
	return fmt.Sprintf("%q lists them", lister)
}
