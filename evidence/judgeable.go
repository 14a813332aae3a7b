package evidence

import (
	"fmt"
	"strings"

	"plimsoll/judge/comparison"
	"plimsoll/record"
)

// Judgeable returns why no verdict may rest on a run; nil for a run that is sealed, valid,
// unaltered and not a pilot.
func Judgeable(r *record.Run) error {
	m := r.Manifest
	switch {
	case m.State != record.Sealed:
		return fmt.Errorf("run %s is truncated: it is %s, not sealed", m.ID, m.State)
	case !r.Validity.Valid:
		for _, finding := range r.Validity.Findings {
			if finding.Level == record.Red {
				return fmt.Errorf(
					"run %s is not valid (%s: %s): no verdict rests on it",
					m.ID,
					finding.Gate,
					finding.Text,
				)
			}
		}
		return fmt.Errorf("run %s is not valid: no verdict rests on it", m.ID)
	case m.Pilot:
		return fmt.Errorf(
			"run %s is a pilot, which only finds numbers of users for other runs: leave it out",
			m.ID,
		)
	case comparison.VoidOf(m.Capacity) != "":
		return fmt.Errorf("run %s: %s; leave it out", m.ID, comparison.VoidOf(m.Capacity))
	}
	if changed, err := r.Verify(); err != nil || len(changed) > 0 {
		return fmt.Errorf(
			"run %s was changed since it was sealed: %s",
			m.ID,
			strings.Join(changed, ", "),
		)
	}
	return nil
}
