package trial

import (
	"fmt"
	"strings"

	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// BehaviorGate is the finding of a behavior whose users achieved nothing in the phase that counts:
// the measured load is not the plan's.
const BehaviorGate = "behavior"

// How many actions of a behavior decide that it succeeds in nothing: a single one that fails never
// does, and actions that found nothing to act on need more company, because users who have just
// come find little.
const (
	fewestFailed = 2
	fewestTried  = 10
)

// logins are the operations that bring users back in the phase that counts.
type logins struct{ ops, failed uint64 }

// mixFinding judges the operations of a behavior's users: red when none succeeded, or when no user
// acted because logins failed; amber when the mix differs from the plan's.
func mixFinding(m workload.Mix, l logins) (f record.Finding, bad bool) {
	f = record.Finding{Gate: BehaviorGate, Level: record.Red}
	switch {
	case m.OK == 0 && (m.Failed >= fewestFailed || m.Failed+m.Skipped >= fewestTried):
		f.Text = fmt.Sprintf(
			"the users of behavior %s succeeded in nothing: of %d actions %d failed and %d found nothing to act on",
			m.Behavior,
			m.Attempts,
			m.Failed,
			m.Skipped,
		)
		return f, true
	case m.Attempts == 0 && l.failed >= fewestFailed && 2*l.failed >= l.ops:
		f.Text = fmt.Sprintf(
			"the users of behavior %s did nothing: they began no action, and %d of %d operations of logins failed",
			m.Behavior,
			l.failed,
			l.ops,
		)
		return f, true
	case !m.Flagged:
		return f, false
	}
	f = record.Finding{
		Gate:  "mix",
		Level: record.Amber,
		Value: m.Distance * 100,
		Limit: max(workload.MixTolerance, m.Chance99) * 100,
		Unit:  "pp",
		Text: fmt.Sprintf(
			"the users of behavior %s did another mix than they were asked to: %.1f percentage points apart (chance alone: %.1f on average, %.1f in one run of a hundred)",
			m.Behavior,
			m.Distance*100,
			m.Chance*100,
			m.Chance99*100,
		),
	}
	if m.OK == 0 {
		f.Text = fmt.Sprintf(
			"the users of behavior %s succeeded in nothing that they tried",
			m.Behavior,
		)
	} else if far := m.Deviations(3); len(far) > 0 {
		f.Text += "; farthest off: " + strings.Join(far, ", ")
	}
	return f, true
}

// unnamed reports messages that the target accepted without an identifier, or under the identifier
// of another message. No audit can find them, so whether the target kept them is unknown. A bounded
// test with more of them than may fail is not valid; a search has counted the former as failed
// operations, by which it went.
func (r *run) unnamed() {
	c := r.conduct.users.Messages
	n := c.Unnamed + c.Repeated
	if n <= 0 {
		return
	}
	var how []string
	if c.Unnamed > 0 {
		how = append(how, fmt.Sprintf("%d by answers without their identifier", c.Unnamed))
	}
	if c.Repeated > 0 {
		how = append(how, fmt.Sprintf("%d under the identifier of another message", c.Repeated))
	}
	of := c.Acked + c.Unnamed
	f := record.Finding{
		Gate:  "audit",
		Level: record.Amber,
		Value: float64(n),
		Text: fmt.Sprintf(
			"%d of %d messages were accepted so that nobody can look for them: %s; whether the target kept them is not known",
			n,
			of,
			strings.Join(how, ", "),
		),
	}
	limit := plan.DefaultFailures()
	share := capacity.RuleReading{
		Value:    float64(n) / float64(of),
		OK:       true,
		Limit:    limit.Threshold,
		Less:     true,
		Rate:     true,
		Count:    uint64(of),
		MinCount: uint64(limit.Min),
	}
	if r.phase == "measure" && share.Status() == capacity.Violated {
		f.Level = record.Red
	}
	r.out.Validity.Add(f)
}
