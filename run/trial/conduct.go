package trial

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// A Stormer is a Driver whose users can take part in storms.
type Stormer interface {
	// Storm begins a storm and returns at once.
	Storm(workload.Storm) *workload.StormState
}

// A TimedStorm is a storm of the measured phase.
type TimedStorm struct {
	At time.Duration // from the beginning of the phase
	workload.Storm
}

// Conduct configures the checks of a trial's users besides their operations. All fields may be
// empty.
type Conduct struct {
	Tally  *workload.Tally
	Ledger *workload.Ledger
	// Audit reads back the acknowledged messages, after the users have stopped, for a minute at
	// most.
	Audit func(context.Context) (workload.AuditResult, error)
	// Thrown returns the first exception of a script so far, as text; nil without scripts.
	Thrown func() string
	// Undelivered is the reason why no delivery is expected; empty for a target that delivers
	// messages.
	Undelivered string
}

// conductState is the state of these checks.
type conductState struct {
	users  record.Users
	tally  workload.Snapshot // at the beginning of the phase that counts
	ledger workload.LedgerCount
	storms []TimedStorm // to come, with At from the epoch
	under  []underway
	ended  bool
	// Counts of the phase that counts, by series: steady operations and expected answers.
	seen   map[string]*measure.Window
	logins logins // of the phase that counts
}

type underway struct {
	index int // of users.Storms
	state *workload.StormState
}

// beginConduct opens the phase that counts.
func (r *run) beginConduct() {
	r.conduct.users.Phase = r.phase
	r.conduct.users.Grace, r.conduct.users.Undelivered = r.Ledger.Grace(), r.Undelivered
	r.conduct.tally, r.conduct.ledger = r.Tally.Snapshot(), r.Ledger.Count()
	if r.Bounded == nil || r.phase != "measure" {
		return
	}
	for i, s := range r.Bounded.Storms {
		s.Index = i
		s.At += r.now()
		r.conduct.storms = append(r.conduct.storms, s)
	}
}

// answers counts the operations of the phase that counts, and which of their answers were expected
// ones.
func (r *run) answers(windows []*measure.Window) {
	c := &r.conduct
	if c.users.Phase == "" || c.ended || r.phase != c.users.Phase {
		return
	}
	if c.seen == nil {
		c.seen = map[string]*measure.Window{}
	}
	for _, w := range windows {
		if workload.OfLogins(w.Name) {
			c.logins.ops += w.Count()
			c.logins.failed += w.Errors()
		}
		if !workload.Steady(w.Name) && !workload.OfAnswers(w.Name) {
			continue
		}
		if c.seen[w.Name] == nil {
			c.seen[w.Name] = measure.NewWindow(w.Name)
		}
		for class, n := range w.Classes {
			c.seen[w.Name].Classes[class] += n
		}
	}
}

// endConduct ends the checks, and adds findings if users did not follow the plan.
func (r *run) endConduct() {
	c := &r.conduct
	if c.users.Phase == "" || c.ended {
		return
	}
	c.ended = true
	c.users.Mixes = r.Tally.Snapshot().Sub(c.tally).Mixes()
	c.users.Messages = r.Ledger.Count().Sub(c.ledger)
	for _, m := range c.users.Mixes {
		if f, bad := mixFinding(m, c.logins); bad {
			r.out.Validity.Add(f)
		}
	}
	r.unnamed()
	for _, e := range workload.Overdone(c.seen) {
		n := c.seen[e.Op].Count()
		share := 100 * float64(e.N) / float64(n)
		r.out.Validity.Add(record.Finding{
			Gate:  "expected answers",
			Level: record.Amber,
			Value: share,
			Limit: 100 * workload.MostExpected,
			Unit:  "%",
			Text: fmt.Sprintf(
				"%d of %d operations %s (%.1f %%) ended in an expected answer, and count as carried: that is more than users who cross each other's ways explain, so look at what they ask for",
				e.N,
				n,
				e.Op,
				share,
			),
		})
	}
	for _, u := range c.under { // not all back
		s := &c.users.Storms[u.index]
		s.Done, s.Missed, s.Back = u.state.Progress()
		s.To = r.now()
	}
	c.under = nil
}

// storm begins the storms that are due before the next tick, each at its time.
func (r *run) storm(ctx context.Context) error {
	c := &r.conduct
	for len(c.storms) > 0 && c.storms[0].At < r.now()+r.tick {
		s := c.storms[0]
		c.storms = c.storms[1:]
		if err := r.Clock.SleepUntil(ctx, s.At); err != nil {
			return err
		}
		d, ok := r.Driver.(Stormer)
		if !ok {
			return errors.New("this driver's users take part in no storms")
		}
		r.beginStorm(d, s)
	}
	return nil
}

// beginStorm begins a storm, and keeps its outcome.
func (r *run) beginStorm(d Stormer, s TimedStorm) {
	c, state := &r.conduct, d.Storm(s.Storm)
	c.under = append(c.under, underway{len(c.users.Storms), state})
	c.users.Storms = append(c.users.Storms, record.StormOutcome{
		Kind:     s.Kind,
		Share:    s.Share,
		Over:     s.Over,
		Params:   s.Params,
		From:     s.At,
		Affected: state.Affected,
	})
	r.keep(r.Writer.Event(record.Event{
		At:    s.At,
		Kind:  "storm",
		Rule:  s.Kind,
		Users: state.Affected,
		Phase: r.phase,
		Text:  fmt.Sprintf("%s: %d users over %v", s.Kind, state.Affected, s.Over),
	}))
}

// back notices storms that are over.
func (r *run) back() {
	c := &r.conduct
	left := c.under[:0]
	for _, u := range c.under {
		done, missed, back := u.state.Progress()
		if done+missed < u.state.Affected {
			left = append(left, u)
			continue
		}
		s := &c.users.Storms[u.index]
		s.Done, s.Missed, s.Back, s.To = done, missed, back, r.now()
		r.event(record.Event{
			Kind:  "storm over",
			Rule:  s.Kind,
			Users: done,
			Phase: r.phase,
			Text: fmt.Sprintf(
				"%s: %d users back after %v, %d missed",
				s.Kind,
				done,
				back.Round(time.Millisecond),
				missed,
			),
		})
	}
	c.under = left
}

// audit reads back the acknowledged messages, while the seconds go on.
func (r *run) audit(ctx context.Context) error {
	if r.Audit == nil {
		return nil
	}
	r.beginPhase("audit")
	defer r.endPhase()
	type answer struct {
		res  workload.AuditResult
		err  error
		late bool // the time was over
	}
	began := r.Clock.Now()
	actx, cancel := r.Clock.WithTimeout(ctx, time.Minute)
	defer cancel()
	done := make(chan answer, 1)
	go func() {
		res, err := r.Audit(actx)
		done <- answer{res, err, actx.Err() != nil}
	}()
	for {
		err := r.advance(ctx)
		select {
		case a := <-done:
			r.audited(a.res, a.err, r.Clock.Now()-began)
			if ctx.Err() == nil { // otherwise the run is void for being interrupted
				r.unread(a.res, a.err, a.late)
			}
			return err
		default:
		}
		if err != nil {
			cancel()
			a := <-done
			r.audited(a.res, errors.Join(a.err, err), r.Clock.Now()-began)
			return err
		}
	}
}

// audited records the outcome. Missing messages break a promise of the target; they do not make the
// run invalid.
func (r *run) audited(res workload.AuditResult, err error, took time.Duration) {
	a := &record.Audit{AuditResult: res, Took: took}
	e := record.Event{
		Kind:  "audit",
		Value: float64(res.Missing),
		Count: uint64(res.Expected),
		Text: fmt.Sprintf(
			"%d of %d acknowledged messages can be read, %d cannot",
			res.Readable,
			res.Expected,
			res.Missing,
		),
	}
	if res.NotAudited > 0 {
		e.Text += fmt.Sprintf(", %d are not audited", res.NotAudited)
	}
	if err != nil {
		a.Error = err.Error()
		e.Text += ": " + a.Error
	}
	r.conduct.users.Audit = a
	r.counted(res.Rows)
	if res.Missing > 0 {
		e.Violated = true
		text := fmt.Sprintf(
			"the target lost messages that it had acknowledged: %d of %d cannot be read",
			res.Missing,
			res.Expected,
		)
		if len(res.MissingIDs) > 0 {
			text += " (" + strings.Join(res.MissingIDs, ", ") + ")"
		}
		r.out.Broken = append(r.out.Broken, text)
	}
	r.event(e)
}

// unread voids a run whose messages could not be checked: an unchecked message is not known to be
// there. Messages that the target refused to return are amber: they were checked, and the answer
// proves no loss.
func (r *run) unread(res workload.AuditResult, err error, late bool) {
	if res.NotAudited > 0 {
		r.out.Validity.Add(record.Finding{
			Gate:  "audit",
			Level: record.Amber,
			Value: float64(res.NotAudited),
			Text:  notAudited(res),
		})
	}
	left := res.Expected - res.Readable - res.Missing - res.NotAudited
	f := record.Finding{
		Gate:  "audit",
		Level: record.Red,
		Value: float64(left),
		Text:  fmt.Sprintf("%d of %d acknowledged messages were not read back", left, res.Expected),
	}
	switch {
	case late && res.Readable+res.Missing > 0:
		// There were too many for the time. The checked ones represent the others as a sample does.
		f.Level, f.Text = record.Amber, f.Text+": the time was over"
	case err != nil:
		f.Text += ": " + err.Error()
	case left == 0:
		return
	case late:
		f.Text += ": the time was over"
	default: // left out on purpose
		f.Level = record.Amber
		if res.Note != "" {
			f.Text += ": " + res.Note
		}
	}
	r.out.Validity.Add(f)
}

// notAudited describes how many messages could not be read, and why.
func notAudited(res workload.AuditResult) string {
	most := ""
	if 2*res.NotAudited > res.Expected {
		most = ", most of them,"
	}
	text := fmt.Sprintf(
		"%d of %d acknowledged messages%s are not audited: nobody may read them, and whether the target kept them is not known",
		res.NotAudited,
		res.Expected,
		most,
	)
	if len(res.Refusals) > 0 {
		text += " (" + strings.Join(res.Refusals, "; ") + ")"
	}
	return text
}

// counted voids a run whose target holds fewer or more messages than it acknowledged: the run
// measured other work than the recorded operations.
func (r *run) counted(rows []workload.RowCount) {
	var wrong []string
	for _, c := range rows {
		if !c.Right() {
			wrong = append(wrong, c.String())
		}
	}
	if len(wrong) == 0 {
		return
	}
	f := record.Finding{
		Gate:  "rows",
		Level: record.Red,
		Value: float64(len(wrong)),
		Text:  "the stores do not hold what was acknowledged: " + strings.Join(wrong, "; "),
	}
	r.out.Validity.Add(f)
	r.event(f.Event())
}

// keepConduct writes the results so far.
func (r *run) keepConduct() {
	if r.Tally == nil && r.Ledger == nil && r.Audit == nil && len(r.conduct.users.Storms) == 0 {
		return
	}
	r.conduct.users.Whole = r.Ledger.Count()
	r.keep(r.Writer.Users(r.conduct.users))
}

// messages returns the ledger's counts over a stretch.
func (s stretch) messages() (workload.LedgerCount, bool) {
	if s.before == nil || len(s.in) == 0 {
		return workload.LedgerCount{}, false
	}
	return s.in[len(s.in)-1].messages.Sub(s.before.messages), true
}

// faults returns a message fault's part of the deliveries that were expected, and how many these
// were.
func (s stretch) faults(kind string) (v float64, n uint64, ok bool) {
	c, ok := s.messages()
	if !ok || c.Expected() <= 0 {
		return 0, 0, false
	}
	bad := map[string]int64{
		"lost":       c.Lost,
		"duplicated": c.Duplicated,
		"misordered": c.Misordered,
	}[kind]
	return float64(max(bad, 0)) / float64(c.Expected()), uint64(c.Expected()), true
}

// disconnected returns how many event connections were refused, cut off or missed events, as a part
// of the wanted users, and how many these are. One user may lose many; more than all users do no
// harm.
func (s stretch) disconnected() (v float64, n uint64, ok bool) {
	if len(s.in) == 0 || s.in[len(s.in)-1].desired <= 0 {
		return 0, 0, false
	}
	n = uint64(s.in[len(s.in)-1].desired)
	return float64(min(s.merged(workload.OfSockets).Errors(), n)) / float64(n), n, true
}
