package evidence

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/judge/drift"
	"plimsoll/judge/sizing"
	"plimsoll/record"
	"plimsoll/report"
)

// Sizing reads the runs of a stored ladder of load steps and draws the conclusions: grades, advice
// and the limiter. load opens a run of the store.
func (c *Catalog) Sizing(ctx context.Context, z *record.Sizing,
	load comparison.Load) (report.Document, error) {
	d := &report.SizingPart{Format: report.SizingFormat, ID: z.ID, Name: z.Name, Tool: z.Tool,
		Search: z.Capacity, PlanText: z.Plan,
		Complete: z.State == record.Sealed && len(z.Steps) == len(z.Planned) && len(z.Steps) > 0,
		Why:      z.Why}
	doc := report.Document{Sizing: d}
	if !d.Complete && d.Why == "" {
		d.Why = fmt.Sprintf("%d of %d steps were done", len(z.Steps), len(z.Planned))
	}
	p, err := Plan(z.Plan)
	if err != nil {
		return doc, fmt.Errorf("the stored plan of %s: %w", z.ID, err)
	}
	d.Plan = p
	var steps []sizing.Step
	var machine sizing.Machine
	var runs []*Run
	for _, step := range z.Steps {
		r, err := load(step.Run)
		if err != nil {
			return doc, err
		}
		x := c.Of(r)
		runs = append(runs, x)
		s, err := x.Step(ctx, step.Users)
		if err != nil {
			return doc, fmt.Errorf("run %s: %w", step.Run, err)
		}
		changed, err := r.VerifyNumbers()
		if err != nil {
			return doc, fmt.Errorf("run %s: %w", step.Run, err)
		}
		if digest, err := record.DigestFile(filepath.Join(r.Dir,
			record.ManifestFile)); err != nil || digest != step.Digest || len(changed) > 0 {
			s.Valid, s.Why = false, "the run was changed since it was sealed"
		}
		users, unread := r.Users()
		d.Audited(step.Run, step.Users, users, unread)
		if r.Manifest.InDigests && z.Undigested {
			return doc, fmt.Errorf(
				"sizing %s %w: steps.json has lost the digests that it was written with; bring it back as it was, or repeat the steps",
				z.ID,
				record.ErrAltered,
			)
		}
		steps = append(steps, s)
		signals, err := x.Drift(ctx)
		if err != nil {
			return doc, fmt.Errorf("run %s: %w", step.Run, err)
		}
		if s.Valid && Seen(signals) {
			d.Drift = append(d.Drift, report.StepDrift{Users: step.Users, Signals: signals})
		}
		machine.Cores = float64(len(r.Manifest.TargetCPUs))
		d.Setup = Setup(r.Manifest)
		if t, ok := TargetOf(r.Manifest); ok && t.Database != nil {
			d.Setup = append(d.Setup, record.Row{Name: "Database", Value: ServerOf(t)})
		}
	}
	auditOthers(d, z, load)
	for _, o := range p.Prices {
		if o.Name == p.Sizing.Offer {
			machine.Name, machine.Memory = o.Name, float64(o.Memory)
			if machine.Cores == 0 { // the target is elsewhere
				machine.Cores = float64(o.VCPU)
			}
		}
	}
	if row, ok := unwatched(steps); ok {
		d.Setup = append(d.Setup, row)
	}
	for _, r := range p.Setup {
		d.Setup = append(d.Setup, record.Row{Name: r.Name, Value: r.Value})
	}
	d.Result = sizing.Size(steps, machine, p.Prices)
	l, err := limiterOfSteps(ctx, p, runs, d.Steps)
	d.Limit(l, p.Prices)
	return doc, err
}

// unwatched names the roles whose CPU no measured step has seen; ok is false where app and database
// were watched, or nothing was measured. It also names the database of a target without one.
func unwatched(steps []sizing.Step) (row record.Row, ok bool) {
	steps = slices.DeleteFunc(slices.Clone(steps), func(s sizing.Step) bool { return s.Count == 0 })
	var roles []string
	for _, role := range []string{"app", "db"} {
		if !slices.ContainsFunc(steps, func(s sizing.Step) bool {
			_, seen := s.CPU[role]
			return seen
		}) {
			roles = append(roles, role)
		}
	}
	return record.Row{
		Name: "Not watched",
		Value: fmt.Sprintf(
			"CPU and memory of %s: list the processes in probes (kind pid or container on this host, agent elsewhere)",
			strings.Join(roles, " and "),
		),
	}, len(steps) > 0 && len(roles) > 0
}

// auditOthers adds the audits of the runs that carry no grade: the first search, and the steps that
// were repeated. An audit that cannot be read does not stop the report.
func auditOthers(d *report.SizingPart, z *record.Sizing,
	load comparison.Load) {
	others := z.Repeated
	if z.Search != "" {
		others = append([]record.SizingStep{{Run: z.Search}}, others...)
	}
	for _, o := range others {
		users, err := intactUsers(o.Run, load)
		d.Audited(o.Run, o.Users, users, err)
	}
}

// intactUsers returns the records of the users of a run that was not changed.
func intactUsers(id string, load comparison.Load) (*record.Users, error) {
	r, err := load(id)
	if err != nil {
		return nil, err
	}
	changed, err := r.VerifyNumbers()
	if err != nil {
		return nil, err
	}
	if len(changed) > 0 {
		return nil, fmt.Errorf("%w since it was sealed", record.ErrAltered)
	}
	return r.Users()
}

// Seen reports whether a run was long enough to see any drift.
func Seen(signals []drift.Drift) bool {
	return slices.ContainsFunc(signals, func(d drift.Drift) bool {
		return d.State != drift.TooShort
	})
}
