package report

import (
	"strconv"

	"plimsoll/internal/plain"
	"plimsoll/record"
)

// acknowledgedLost counts the messages that arms acknowledged and did not keep, in all runs except
// cut ones and pilots. The losses of judged runs are in Document.Users too; the others are named by
// their run.
func (b *builder) acknowledgedLost() {
	judged := b.c.Judged()
	for _, r := range b.in.Runs {
		if r.Users == nil || r.Users.Audit == nil || r.Cell.Cut || r.Cell.Pilot {
			continue
		}
		a := r.Users.Audit
		b.AcknowledgedLost += a.Missing
		if a.Missing > 0 && !judged(r.Cell) {
			b.LostElsewhere = append(b.LostElsewhere,
				LostRun{Run: r.Cell.Run, Engine: r.Cell.Engine, Arm: r.Cell.Arm, Missing: a.Missing,
					Expected: a.Expected})
		}
	}
}

// lostWarnings warn of messages that are gone although no verdict has their run: a repeated block
// does not bring them back.
func (d *Document) lostWarnings() []string {
	var out prose
	for _, l := range d.LostElsewhere {
		out.add(
			"the target lost messages that it had acknowledged (%s, run %s, on which no verdict rests): %d of %d cannot be read",
			d.userLabel(UsersOf{Engine: l.Engine, Arm: l.Arm}),
			l.Run,
			l.Missing,
			l.Expected,
		)
	}
	return out
}

// Audited adds the audit of a run of a step with this number of users, 0 for the first search. u is
// nil for a run without records of its users; err is the reason why they could not be read.
func (d *SizingPart) Audited(run string, users int, u *record.Users, err error) {
	switch {
	case err != nil:
		d.LostIn = append(d.LostIn, StepLoss{Run: run, Users: users, Unknown: plain.Error(err)})
	case u != nil && u.Audit != nil && u.Audit.Missing > 0:
		d.AcknowledgedLost += u.Audit.Missing
		d.LostIn = append(d.LostIn,
			StepLoss{Run: run, Users: users, Missing: u.Audit.Missing, Expected: u.Audit.Expected})
	}
}

// lostText is the number of messages that a run of the sizing is known to have lost; empty for
// none.
func (d *SizingPart) lostText(run string) string {
	for _, l := range d.LostIn {
		if l.Run == run && l.Missing > 0 {
			return strconv.Itoa(l.Missing)
		}
	}
	return ""
}

// LostWarnings warn of the acknowledged messages that are gone, one for each run.
func (d *SizingPart) LostWarnings() []string {
	var out prose
	for _, l := range d.LostIn {
		at := "first search"
		if l.Users > 0 {
			at = count(l.Users, "user", "users")
		}
		if l.Unknown != "" {
			out.add(
				"it is not known whether the target lost messages that it had acknowledged (%s, run %s): %s",
				at,
				l.Run,
				l.Unknown,
			)
			continue
		}
		out.add(
			"the target lost messages that it had acknowledged (%s, run %s): %d of %d cannot be read",
			at,
			l.Run,
			l.Missing,
			l.Expected,
		)
	}
	return out
}
