package evidence

import (
	"context"
	"slices"
	"strings"

	"plimsoll/judge/sizing"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// Step returns the measurements of the run, a load step of this number of users. The caller grades
// it.
func (r *Run) Step(ctx context.Context, users int) (sizing.Step, error) {
	s := sizing.Step{Run: r.Manifest.ID, Users: users, Valid: r.Validity.Valid}
	var why []string
	for _, f := range r.Validity.Findings {
		if f.Level == record.Red {
			why = append(why, f.Gate+": "+f.Text)
		}
	}
	s.Why = strings.Join(why, "; ")
	events, err := r.Events()
	if err != nil {
		return s, err
	}
	s.Proxy = r.catalog.refusals(events)
	ph, ok := r.Manifest.Phase("measure")
	if !ok {
		s.Valid, s.Why = false, strings.TrimPrefix(s.Why+"; it was not measured", "; ")
		return s, nil
	}
	merged, err := r.Merged(ph.From, ph.To)
	if err != nil {
		return s, err
	}
	all := workload.Together(allOps, merged, workload.Steady)
	p := percentilesOf(all.Response)
	s.P50, s.P95, s.P99 = p.P50, p.P95, p.P99
	s.Count, s.Max = all.Count(), p.Max
	// operations that ended after the phase do not count as its throughput
	if span := ph.To - ph.From; span > 0 {
		drained := min(ph.Tail.Of(workload.Steady).Drained, s.Count)
		s.Throughput = float64(s.Count-drained) / span.Seconds()
	}
	s.Classes = all.ByClass()
	if s.Count > 0 {
		s.Failures = float64(all.Errors()) / float64(s.Count)
	}
	x, err := r.readPhase(ph)
	if err != nil {
		return s, err
	}
	defer x.db.Close()
	s.CPU, s.Memory, err = x.load(ctx)
	return s, err
}

// refusals returns the texts of the events by which something between users and server refused,
// each once and at most five.
func (c *Catalog) refusals(events []record.Event) []string {
	var out []string
	for _, e := range events {
		if e.Kind != "error" || !c.Dialects.Refused(e.Text) {
			continue
		}
		_, text, found := strings.Cut(e.Text, "first failure of its kind: ")
		if !found {
			_, text, _ = strings.Cut(e.Text, ": ") // of a user who could not log in
		}
		if !slices.Contains(out, text) && len(out) < 5 {
			out = append(out, text)
		}
	}
	return out
}
