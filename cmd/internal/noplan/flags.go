package noplan

import (
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"plimsoll/plan"
	"plimsoll/plan/draft"
)

// Flags are the flags of a test without a plan.
type Flags struct {
	length             *time.Duration
	behavior, save, ca *string
	script             *string
}

// AddFlags adds them to a verb's.
func AddFlags(fs *flag.FlagSet) *Flags {
	return &Flags{
		length: fs.Duration(
			"for",
			0,
			"with a URL: how long the users are there: run 1m in all, capacity at most 10m, sizing 1m at each step",
		),
		behavior: fs.String("behavior", "", "with a URL: `name` of what each user does"),
		script: fs.String(
			"script",
			"",
			"with a URL: `file` of a script, JavaScript or TypeScript, that users follow",
		),
		save: fs.String(
			"save",
			"",
			"with a URL: new `file` that the plan is written to, with comments",
		),
		ca: fs.String(
			"ca",
			"",
			"with a URL: `file` with the certificate of a private authority, in PEM",
		),
	}
}

// Unused refuses flags beside the file of a plan.
func (f *Flags) Unused() error {
	for name, set := range map[string]bool{
		"for":      *f.length != 0,
		"behavior": *f.behavior != "",
		"script":   *f.script != "",
		"save":     *f.save != "",
		"ca":       *f.ca != "",
	} {
		if set {
			return plan.Usagef("-%s goes with the URL of a server; write it into the plan", name)
		}
	}
	return nil
}

// Beside returns the path of a script as a plan in a file names it; "" is the working directory, and
// no script.
func Beside(script, file string) string {
	if script == "" || filepath.IsAbs(script) {
		return script
	}
	at, err := filepath.Rel(filepath.Dir(file), script)
	if err != nil { // one of them is a whole path
		at, err = filepath.Abs(script)
	}
	if err != nil {
		return script
	}
	return at
}

// Next is the line after the result of a test without a plan.
func (f *Flags) Next(q draft.Question, at string) string {
	text := "-save plan.yaml writes the plan of this test, to be changed"
	if *f.save != "" {
		text = fmt.Sprintf("change %s, and plimsoll %s %s", *f.save, q, *f.save)
	}
	verb, finds := draft.Supported, "how many users it supports"
	if q != draft.Hold {
		verb, finds = draft.Hold, "one number of users, -users N"
	}
	return fmt.Sprintf("next: %s; plimsoll %s %s (%s); docs/own-server.md", text, verb, at, finds)
}
