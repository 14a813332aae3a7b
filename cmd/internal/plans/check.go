package plans

import (
	"cmp"
	"context"
	"errors"
	"time"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/run/deploy/sandbox"
	"plimsoll/run/preflight"
	"plimsoll/run/session"
	"plimsoll/run/users"
)

// A check is a plan with what was found in it.
type check struct {
	app       *app.App
	file      string
	plan      *plan.Plan
	bad       error // why the plan cannot be carried out
	online    bool
	looked    preflight.Result // of online
	took      time.Duration    // by online
	caution   string           // about the file of accounts
	forecasts []session.Outlook
}

// look examines what a good plan names: with online also this host and the plan's addresses.
func (c *check) look(ctx context.Context, root string, asJSON bool) (err error) {
	if !c.online {
		c.caution, err = users.CheckUsersFile(c.plan)
		return err
	}
	began := time.Now()
	pr := c.app.Program()
	c.looked, err = pr.Preflight(ctx, c.app.Dialects().WithDefaultRules(c.plan), root)
	if err != nil {
		return err
	}
	if len(c.looked.Problems) > 0 {
		c.bad = pr.Grounded(c.looked, "%s cannot be carried out here", c.file)
	}
	if !asJSON {
		pr.Tell(c.looked)
	}
	c.took = time.Since(began)
	return nil
}

// An outcome is a check as JSON.
type outcome struct {
	File   string `json:"file"`
	OK     bool   `json:"ok"`
	Digest string `json:"digest,omitempty"`
	Plan   string `json:"plan,omitempty"`
	// how long the search may take, and where its budget ends
	Search   []string       `json:"search,omitempty"`
	Warnings []string       `json:"warnings,omitempty"` // of a plan that is good
	Notes    []string       `json:"notes,omitempty"`    // what to know about a plan that is good
	Problems []plan.Problem `json:"problems,omitempty"`
	More     int            `json:"more,omitempty"` // problems that are not described
	// Mode is the way in which this host carries out the plan's comparison, Why the reason for it,
	// and Lacks the reason why it cannot.
	Mode  string `json:"mode,omitempty"`
	Why   string `json:"mode_why,omitempty"`
	Lacks string `json:"mode_lacks,omitempty"`
	// HostsLack is the reason why this host cannot make the hosts of the plan's topology.
	HostsLack string `json:"hosts_lack,omitempty"`
	// Unchecked is what -online could not look at in time.
	Unchecked []string `json:"unchecked,omitempty"`
}

// json writes the outcome as JSON.
func (c *check) json(ctx context.Context) error {
	out := outcome{File: c.file, OK: c.bad == nil, Unchecked: c.looked.Left}
	for _, w := range c.looked.Cautions {
		out.Warnings = append(out.Warnings, w.String())
	}
	if bad, ok := errors.AsType[*plan.Error](c.bad); ok {
		out.Problems, out.More = bad.Problems, bad.More
	} else if c.bad != nil {
		return c.bad
	} else {
		c.describe(ctx, &out)
	}
	if err := c.app.JSON(out); err != nil {
		return err
	}
	if c.bad != nil {
		return exit.StatusError(exit.Usage)
	}
	return nil
}

// describe adds what is known of a good plan.
func (c *check) describe(ctx context.Context, out *outcome) {
	out.Digest, out.Plan = c.plan.Digest(), c.plan.String()
	if c.plan.Compare != nil {
		m := preflight.ModeOf(c.plan, false)
		out.Mode, out.Why = m.Name(), m.Why
		out.Lacks = cmp.Or(c.plan.Uncombined(), m.Lacks)
		if m.Caution != "" {
			out.Warnings = append(out.Warnings, m.Caution)
		}
	}
	if c.caution != "" {
		out.Warnings = append(out.Warnings, c.caution)
	}
	out.Notes = c.app.Dialects().Notes(c.plan)
	if why := sandbox.Unhostable(ctx, c.plan); why != nil {
		out.HostsLack = why.Error()
	}
	for _, f := range c.forecasts {
		out.Search = append(out.Search, f.Text)
		if f.Short != "" {
			out.Warnings = append(out.Warnings, f.Short)
		}
	}
}

// text writes the outcome of a good plan for people: warnings to standard error.
func (c *check) text(ctx context.Context) error {
	var failed error
	line := func(format string, args ...any) {
		if failed == nil {
			_, failed = plain.Fprintf(c.app.Stdout, format+"\n", args...)
		}
	}
	warn := func(text string) { c.app.Tellf("plimsoll: warning: %s\n", text) }
	line("%s: good, %s", c.file, c.plan.Digest())
	if c.online {
		line(
			"  this host and the plan's addresses can carry it out (checked in %.1f s)",
			c.took.Seconds(),
		)
	}
	if c.caution != "" {
		warn(c.caution)
	}
	for _, note := range c.app.Dialects().Notes(c.plan) {
		line("  %s", note)
	}
	if why := sandbox.Unhostable(ctx, c.plan); why != nil {
		line("  it cannot be carried out here: %v", why)
	}
	for _, f := range c.forecasts {
		if f.Short != "" {
			warn(f.Short)
		} else {
			line("  %s", f.Text)
		}
	}
	if c.plan.Compare == nil {
		return failed
	}
	m := preflight.ModeOf(c.plan, false)
	if m.Caution != "" {
		warn(m.Caution)
	}
	line("  compare.mode: %s (%s)", m.Name(), m.Why)
	if why := cmp.Or(c.plan.Uncombined(), m.Lacks); why != "" {
		line("  it cannot be compared here: %s", why)
	}
	return failed
}
