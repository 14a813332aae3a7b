package verbs

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/mixfile"
	"plimsoll/cmd/internal/noplan"
	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/preflight"
	"plimsoll/run/session"
	"plimsoll/run/users"
)

// plan is the verb that validates and prints plans.
func (a *app) plan(ctx context.Context, fs *flag.FlagSet, args []string) error {
	asJSON := fs.Bool("json", false, "write the outcome as JSON")
	online := fs.Bool("online", false, "check: also the files, variables, addresses and accounts that the plan names, and this host, as every run does before it begins")
	root := a.storeFlag(fs)
	var mix mixfile.Source
	fs.StringVar(&mix.Prometheus, "prometheus", "", "mix: address of the Prometheus server that scrapes a production server")
	fs.StringVar(&mix.File, "file", "", "mix: saved answer of that server to the query, instead of asking it")
	fs.StringVar(&mix.TokenFile, "token-file", "", "mix: file with a bearer token for that server")
	fs.StringVar(&mix.At, "at", "", "mix: end of the window, such as 2026-05-07T18:00:00Z (default now)")
	fs.StringVar(&mix.Window, "window", "2h", "mix: the time over which calls are counted; best the busiest hours of a week")
	mixOut := fs.String("o", "", "mix: file to write (default standard output)")
	rest, err := parse(fs, args, 1, 2)
	if err != nil {
		return err
	}
	if rest[0] == "schema" && len(rest) == 1 {
		_, err := a.stdout.Write(plan.Schema())
		return err
	}
	if rest[0] == "mix" && len(rest) == 1 {
		return a.importMix(ctx, mix, *mixOut)
	}
	if (rest[0] != "check" && rest[0] != "print") || len(rest) != 2 {
		return plan.Usagef("want check FILE, print FILE, schema or mix; see plimsoll plan -h")
	}
	p, err := a.readPlan(rest[1])
	var forecasts []session.Outlook
	caution := ""
	var looked preflight.Result
	began := time.Now()
	switch {
	case err != nil || rest[0] != "check":
	case *online:
		pr := a.program()
		if looked, err = pr.Preflight(ctx, a.dialects().WithDefaultRules(p), *root); err != nil {
			return err
		}
		if len(looked.Problems) > 0 {
			err = pr.Grounded(looked, "%s cannot be carried out here", rest[1])
		}
		if !*asJSON {
			pr.Tell(looked)
		}
	default:
		if caution, err = users.CheckUsersFile(p); err != nil {
			return err
		}
	}
	took := time.Since(began)
	if err == nil {
		if forecasts, err = session.Outlooks(p); err != nil {
			return err
		}
	}
	if *asJSON {
		out := struct {
			File     string         `json:"file"`
			OK       bool           `json:"ok"`
			Digest   string         `json:"digest,omitempty"`
			Plan     string         `json:"plan,omitempty"`
			Search   []string       `json:"search,omitempty"`   // how long the search may take, and where its budget ends
			Warnings []string       `json:"warnings,omitempty"` // of a plan that is good
			Notes    []string       `json:"notes,omitempty"`    // what to know about a plan that is good
			Problems []plan.Problem `json:"problems,omitempty"`
			More     int            `json:"more,omitempty"` // problems that are not described
			// Mode is how this host carries the plan's comparison out, Why the reason for it, and Lacks the reason why it
			// cannot.
			Mode  string `json:"mode,omitempty"`
			Why   string `json:"mode_why,omitempty"`
			Lacks string `json:"mode_lacks,omitempty"`
			// HostsLack is why this host cannot make the hosts of the plan's topology.
			HostsLack string `json:"hosts_lack,omitempty"`
			// Unchecked is what -online could not look at in time.
			Unchecked []string `json:"unchecked,omitempty"`
		}{File: rest[1], OK: err == nil, Unchecked: looked.Left}
		for _, c := range looked.Cautions {
			out.Warnings = append(out.Warnings, c.String())
		}
		if bad := (*plan.Error)(nil); errors.As(err, &bad) {
			out.Problems, out.More = bad.Problems, bad.More
		} else if err != nil {
			return err
		} else {
			out.Digest, out.Plan = p.Digest(), p.String()
			if p.Compare != nil {
				m := preflight.ModeOf(p, false)
				out.Mode, out.Why, out.Lacks = m.Name(), m.Why, cmp.Or(p.Uncombined(), m.Lacks)
				if m.Caution != "" {
					out.Warnings = append(out.Warnings, m.Caution)
				}
			}
			if caution != "" {
				out.Warnings = append(out.Warnings, caution)
			}
			out.Notes = a.dialects().Notes(p)
			if why := sandbox.Unhostable(ctx, p); why != nil {
				out.HostsLack = why.Error()
			}
			for _, f := range forecasts {
				out.Search = append(out.Search, f.Text)
				if f.Short != "" {
					out.Warnings = append(out.Warnings, f.Short)
				}
			}
		}
		if jerr := a.json(out); jerr != nil {
			return jerr
		}
		if err != nil {
			return exit.StatusError(exit.Usage)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if rest[0] == "print" {
		_, err = io.WriteString(a.stdout, p.String())
		return err
	}
	if _, err = plain.Fprintf(a.stdout, "%s: good, %s\n", rest[1], p.Digest()); err != nil {
		return err
	}
	if *online {
		if _, err = plain.Fprintf(a.stdout, "  this host and the plan's addresses can carry it out (checked in %.1f s)\n", took.Seconds()); err != nil {
			return err
		}
	}
	if caution != "" {
		plain.Fprintf(a.stderr, "plimsoll: warning: %s\n", caution)
	}
	for _, note := range a.dialects().Notes(p) {
		if _, err = plain.Fprintf(a.stdout, "  %s\n", note); err != nil {
			return err
		}
	}
	if why := sandbox.Unhostable(ctx, p); why != nil {
		if _, err = plain.Fprintf(a.stdout, "  it cannot be carried out here: %v\n", why); err != nil {
			return err
		}
	}
	for _, f := range forecasts {
		if f.Short != "" {
			plain.Fprintf(a.stderr, "plimsoll: warning: %s\n", f.Short)
			continue
		}
		if _, err = plain.Fprintf(a.stdout, "  %s\n", f.Text); err != nil {
			return err
		}
	}
	if p.Compare == nil {
		return nil
	}
	m := preflight.ModeOf(p, false)
	if m.Caution != "" {
		plain.Fprintf(a.stderr, "plimsoll: warning: %s\n", m.Caution)
	}
	if _, err = plain.Fprintf(a.stdout, "  compare.mode: %s (%s)\n", m.Name(), m.Why); err != nil {
		return err
	}
	if why := cmp.Or(p.Uncombined(), m.Lacks); why != "" {
		_, err = plain.Fprintf(a.stdout, "  it cannot be compared here: %s\n", why)
	}
	return err
}

// readPlan reads a plan and checks it against the dialects of this program. All errors are the
// caller's.
func (a *app) readPlan(path string) (*plan.Plan, error) { return a.readPlanFor(path, a.known()) }

// readPlanFor is readPlan with the names and parts that a plan may have.
func (a *app) readPlanFor(path string, k plan.Known) (*plan.Plan, error) {
	var src []byte
	var err error
	if path == "-" {
		if src, err = files.ReadUpTo(a.stdin, plan.MaxSource); errors.Is(err, files.ErrTooLarge) {
			err = fmt.Errorf("standard input is larger than %d bytes; plans are small, is this another file?", plan.MaxSource)
		}
	} else {
		src, err = files.Read(path, plan.MaxSource)
		err = noplan.Hint(path, orStdin(err))
	}
	if err != nil {
		return nil, plan.UsageError{Err: err}
	}
	p, err := k.Parse(src)
	if err != nil {
		return nil, plan.UsageError{Err: plain.Below(err, "%s is no good plan", path)}
	}
	if a.clearance != nil {
		a.clearance.Source = src
	}
	return a.inline(p, path)
}

// orStdin adds to the error of an input that is not a file the use of standard input.
func orStdin(err error) error {
	if _, irregular := errors.AsType[*files.IrregularError](err); irregular {
		return fmt.Errorf("%w, or - for standard input", err)
	}
	return err
}
