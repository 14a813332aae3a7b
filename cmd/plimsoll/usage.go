package main

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

// helpWidth is the widest line of help, in signs.
const helpWidth = 80

// helpFlags are the spellings of the flag that prints help.
var helpFlags = []string{"-h", "-help", "--help", "--h"}

// help prints the verbs.
func (a *app) help() {
	w := a.stdout
	plain.Fprintf(w, "plimsoll loads a messaging server with simulated users and reports how many it\n"+
		"supports, whether that has changed, and its limiter.\n\nusage: plimsoll VERB [flags] ARG\n\n")
	const indent = 13
	for _, v := range verbs() {
		for i, line := range report.Fold(v.short, helpWidth-indent) {
			if i == 0 {
				plain.Fprintf(w, "  %-*s%s\n", indent-2, v.name, line)
			} else {
				plain.Fprintf(w, "%*s%s\n", indent, "", line)
			}
		}
	}
	plain.Fprintf(w, "\nplimsoll help VERB prints the arguments and flags of one.\n\n"+
		"exit status: 0 done, 1 the tool failed, 2 usage or bad plan, 3 worse,\n"+
		"4 inconclusive or indicative, 5 run invalid, 6 a rule did not hold or\n"+
		"acknowledged messages are gone, 130 interrupted by Ctrl-C\n")
}

// usage prints the arguments and flags of a verb.
func (v verb) usage(w io.Writer, fs *flag.FlagSet) {
	var text bytes.Buffer
	plain.Fprintf(&text, "usage: plimsoll %s [flags] %s\n\n%s\n", v.name, v.args, v.short)
	some := false
	fs.VisitAll(func(*flag.Flag) { some = true })
	if some {
		plain.Fprintf(&text, "\nflags:\n")
		fs.SetOutput(&text)
		fs.PrintDefaults()
	}
	foldHelp(w, text.String())
}

// foldHelp writes a help text, as package flag lays it out, in lines of at most [helpWidth] signs. The rest of a line
// that is too long goes on below its first word.
func foldHelp(w io.Writer, text string) {
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "    \t", "        ")
		body := strings.TrimLeft(line, " ")
		indent := len(line) - len(body)
		if len([]rune(line)) <= helpWidth {
			plain.Fprintf(w, "%s\n", line)
			continue
		}
		for _, part := range report.Fold(body, helpWidth-indent) {
			plain.Fprintf(w, "%*s%s\n", indent, "", part)
		}
	}
}

// server carries out the command of a server with flags of its own. Its help goes to stdout, folded.
func (a *app) server(args []string, usage error, command func(stdout io.Writer) error) error {
	if !slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(helpFlags, arg) }) {
		err := command(a.stdout)
		if errors.Is(err, usage) {
			return plan.UsageError{Err: err}
		}
		return err
	}
	var text bytes.Buffer
	err := command(&text)
	foldHelp(a.stdout, text.String())
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	return err
}

// A flagsError lists the mistakes in the flags of a command line, one for each flag.
type flagsError []string

// Error implements error with a line for each.
func (e flagsError) Error() string { return strings.Join(e, "\n") }

// parse parses flags and checks how many arguments are left, in any order of flags and arguments.
func parse(fs *flag.FlagSet, args []string, least, most int) ([]string, error) {
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	var rest []string
	var bad flagsError
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		if err != nil {
			bad = append(bad, flagMistake(fs, err))
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
		return nil, plan.Usagef("%d arguments, want %s; see plimsoll %s -h", len(rest), want, fs.Name())
	}
	return rest, nil
}

// flagMistake is the message for an error of [flag.FlagSet.Parse]: of an unknown flag with its nearest one.
func flagMistake(fs *flag.FlagSet, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err.Error()
	}
	var flags []string
	fs.VisitAll(func(f *flag.Flag) { flags = append(flags, "-"+f.Name) })
	remedy := plan.Nearest("-"+name, flags)
	if remedy == "" {
		remedy = "plimsoll help " + fs.Name() + " lists them"
	}
	return fmt.Sprintf("no flag -%s; %s", name, remedy)
}

// noVerb is the message for an unknown verb.
func noVerb(name string) string {
	names := []string{"help"}
	for _, v := range verbs() {
		names = append(names, v.name)
	}
	remedy := plan.Nearest(name, names)
	if remedy == "" {
		remedy = `"plimsoll help" lists them`
	}
	return fmt.Sprintf("no verb %q; %s", name, remedy)
}
