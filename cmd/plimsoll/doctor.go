package main

import (
	"context"
	"flag"
	"strings"

	"plimsoll/plain"
	"plimsoll/probe"
)

// doctor is the verb that examines this host. It changes nothing. Its status is 0 whatever it finds: the other
// statuses have meanings of their own, and -json tells a script how bad each finding is.
func (a *app) doctor(_ context.Context, fs *flag.FlagSet, args []string) error {
	role := fs.String("role", "agent", "what this host is in the test: "+strings.Join(probe.Roles, ", "))
	asJSON := fs.Bool("json", false, "write the findings as JSON")
	all := fs.Bool("all", false, "show also what is good")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	findings, err := probe.Doctor(*role)
	if err != nil {
		return usagef("-role: %w", err)
	}
	if *asJSON {
		return a.json(struct {
			Role     string          `json:"role"`
			Findings []probe.Finding `json:"findings"`
		}{*role, findings})
	}
	counts := map[probe.Severity]int{}
	var b strings.Builder
	for _, f := range findings {
		counts[f.Severity]++
		if f.Severity == probe.Good && !*all {
			continue
		}
		plain.Fprintf(&b, "%-8s %s: %s", f.Severity, f.Check, f.Have)
		if f.Want != "" && f.Severity != probe.Good {
			plain.Fprintf(&b, ", want %s", f.Want)
		}
		b.WriteByte('\n')
		if f.Why != "" && f.Severity != probe.Unknown {
			plain.Fprintf(&b, "         %s\n", f.Why)
		}
		if f.Fix != "" {
			plain.Fprintf(&b, "         fix: %s\n", f.Fix)
		}
	}
	plain.Fprintf(&b, "\nas %s: %d problems, %d pieces of advice, %d unknown, %d good\n", *role, counts[probe.Problem], counts[probe.Advice],
		counts[probe.Unknown], counts[probe.Good])
	_, err = a.stdout.Write([]byte(b.String()))
	return err
}
