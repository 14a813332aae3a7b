package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
)

// users fills Document.Users.
func (b *builder) users() {
	for _, e := range b.Engines {
		for _, a := range b.Arms {
			if u, ok := usersOf(b.of(e.Key, a.Name)); ok {
				u.Engine, u.Arm = e.Key, a.Name
				b.Users = append(b.Users, u)
			}
		}
	}
	if b.in.Plan != nil {
		b.Login, b.Mix = b.in.Plan.Workload.Login, mixText(b.in.Plan.Workload)
	}
}

// mixText names the mix of a plan.
func mixText(w plan.Workload) string {
	if n := len(w.Weights); n > 0 && w.ActionMix != plan.MixCustom {
		return fmt.Sprintf(
			"%s, with %s of the plan's own",
			w.ActionMix,
			count(n, "weight", "weights"),
		)
	}
	return w.ActionMix
}

// usersOf adds up runs; false if there is nothing to report.
func usersOf(runs []RunData) (UsersOf, bool) {
	var u UsersOf
	var did workload.Snapshot
	login := map[string]*measure.Window{}
	var storms []map[string]*measure.Window
	for _, r := range runs {
		merge(login, r.Outside.Login)
		x := r.Users
		if x == nil {
			continue
		}
		u.Runs++
		u.Grace, u.Undelivered = max(u.Grace, x.Grace), cmp.Or(u.Undelivered, x.Undelivered)
		for _, m := range x.Mixes {
			did = did.Add(workload.Snapshot{m.Count()})
		}
		u.Messages = u.Messages.Add(x.Whole)
		if a := x.Audit; a != nil {
			u.audit(*a, r.Manifest.ID)
		}
		measured, _ := r.Manifest.Phase("measure")
		for i, s := range x.Storms {
			if i == len(u.Storms) {
				u.Storms = append(u.Storms, StormOf{StormOutcome: s, Begin: s.From - measured.From})
				storms = append(storms, map[string]*measure.Window{})
			} else {
				t := &u.Storms[i]
				t.Affected += s.Affected
				t.Done += s.Done
				t.Missed += s.Missed
				t.Back = max(t.Back, s.Back)

				t.To = max(t.To, s.To)
			}
			if i < len(r.Outside.Storms) {
				merge(storms[i], r.Outside.Storms[i])
			}
		}
	}
	u.Mixes = did.Mixes()
	u.Login, _ = opLines(login)
	for i := range u.Storms {
		u.Storms[i].Ops, u.Storms[i].All = opLines(storms[i])
	}
	return u, len(u.Mixes) > 0 || u.Audit != nil || u.Messages != (workload.LedgerCount{}) ||
		len(u.Login) > 0 || len(u.Storms) > 0
}

func (u *UsersOf) audit(a record.Audit, run string) {
	if u.Audit == nil {
		u.Audit = &workload.AuditResult{Part: 1}
	}
	t := u.Audit
	t.Expected += a.Expected
	t.Readable += a.Readable
	t.Missing += a.Missing
	t.Refuse(a.NotAudited, a.Refusals...)
	t.MissingIDs = append(
		t.MissingIDs,
		a.MissingIDs[:min(len(a.MissingIDs), 10-len(t.MissingIDs))]...)
	t.Part = min(t.Part, a.Part)
	t.Rows = addRows(t.Rows, a.Rows)
	t.Note = cmp.Or(t.Note, a.Note)
	if a.Error != "" {
		u.AuditErrors = append(u.AuditErrors, run+": "+a.Error)
	}
}

func merge(into, from map[string]*measure.Window) {
	for name, w := range from {
		if into[name] == nil {
			into[name] = measure.NewWindow(name)
		}
		into[name].Merge(w)
	}
}

// opLines returns the series by name, and all of them together.
func opLines(ws map[string]*measure.Window) ([]OpLine, OpCell) {
	all := measure.NewWindow("")
	var out []OpLine
	for _, name := range slices.Sorted(maps.Keys(ws)) {
		all.Merge(ws[name])
		out = append(out, OpLine{name, opCell(ws[name], 0, record.TailOp{}, nil)})
	}
	if all.Count() == 0 {
		return out, opCell(nil, 0, record.TailOp{}, nil)
	}
	return out, opCell(all, 0, record.TailOp{}, nil)
}

// userNotices are the warnings about users.
func userNotices(us []UsersOf, label func(UsersOf) string) []notice {
	var out []notice
	add := func(cause, format string, a ...any) {
		out = append(out,
			notice{cause: cause, text: fmt.Sprintf(format, a...), changes: cause != causeDelivery})
	}
	for _, u := range us {
		at := inParens(label(u))
		if a := u.Audit; a != nil && a.Missing > 0 {
			add(
				causeLost,
				"the target lost messages that it had acknowledged%s: %d of %d cannot be read",
				at,
				a.Missing,
				a.Expected,
			)
		}
		if a := u.Audit; a != nil && a.NotAudited > 0 {
			add(
				causeDelivery,
				"not all acknowledged messages could be audited%s: nobody may read %d of %d",
				at,
				a.NotAudited,
				a.Expected,
			)
		}
		if m := u.Messages; m.Lost > 0 || m.Duplicated > 0 || m.Misordered > 0 {
			add(
				causeDelivery,
				"not every message came once and in order%s: of %d deliveries %d lost, %d duplicated, %d misordered",
				at,
				m.Expected(),
				m.Lost,
				m.Duplicated,
				m.Misordered,
			)
		}
		if m := u.Messages; m.Unnamed > 0 || m.Repeated > 0 {
			add(
				causeDelivery,
				"nobody can look for some messages that were accepted%s: %d without an identifier, %d under that of another message",
				at,
				m.Unnamed,
				m.Repeated,
			)
		}
		for _, m := range u.Mixes {
			if m.Flagged && m.OK == 0 {
				add(
					causeMix,
					"users of behavior %s succeeded in nothing that they tried%s",
					m.Behavior,
					at,
				)
			} else if m.Flagged {
				add(causeMix,
					"users of behavior %s did another mix than they were asked to%s: %s percentage points apart",
					m.Behavior, at, fixed(100*m.Distance, 1))
			}
		}
	}
	return out
}

// mostActions is the largest number of actions in a table; the others are added up.
const mostActions = 12

// userSections are the sections about users.
func (d Document) userSections() []section {
	return usersPart{d.Users, d.Login, d.Mix, d.userLabel}.sections()
}

func (p usersPart) sections() []section {
	if len(p.us) == 0 {
		return nil
	}
	return slices.Concat(p.mixSections(), p.messageSection(), p.rowSection(), p.loginSection(),
		p.stormSection())
}

func (p usersPart) mixSections() []section {
	t := p.head("Action", ">Requested", ">Achieved", ">Attempts", ">Done", ">Failed", ">Skipped",
		"Why skipped")
	var notes []string
	for _, u := range p.us {
		for _, m := range u.Mixes {
			top, others := folded(m)
			for _, a := range append(top, others...) {
				n, why := skips(a.Skipped)
				t.add(p.row(
					a.Name,
					u,
					share(a.Requested),
					share(a.Achieved),
					a.Attempts,
					a.OK,
					a.Failed,
					n,
					why,
				))
			}
			at := m.Behavior
			if l := p.label(u); l != "" {
				at += ", " + l
			}
			text := fmt.Sprintf(
				"%s: %s percentage points between the requested and the achieved mix (total variation), %d actions done; chance alone would bring %s on average and %s in one run of a hundred.",
				at,
				fixed(100*m.Distance, 1),
				m.OK,
				fixed(100*m.Chance, 1),
				fixed(100*m.Chance99, 1),
			)
			if m.OK == 0 {
				text = at + ": nothing was done."
			}
			if m.Flagged {
				text += " NOT the requested mix: " + strings.Join(m.Deviations(3), "; ") + "."
			}
			notes = append(notes, text)
			if absent := absences(m); absent != "" {
				notes = append(notes, at+": this server cannot "+absent+".")
			}
		}
	}
	title := "What the users did"
	if p.mix != "" {
		title += " (mix: " + p.mix + ")"
	}
	return t.section(title, notes...)
}

// folded returns the actions with the largest requested shares and the largest deviations, and the
// others added up.
func folded(m workload.Mix) (top, others []workload.MixAction) {
	var can []workload.MixAction
	for _, a := range m.Actions {
		if a.Absent == "" && (a.Requested > 0 || a.Attempts > 0) {
			can = append(can, a)
		}
	}
	slices.SortStableFunc(can,
		func(a, b workload.MixAction) int { return cmp.Compare(b.Requested, a.Requested) })
	if len(can) <= mostActions+1 {
		return can, nil
	}
	rest := workload.MixAction{}
	rest.Skipped = map[string]int64{}
	n := 0
	far := m.Deviations(3)
	for i, a := range can {
		if i < mostActions || m.Flagged &&
			slices.ContainsFunc(far, func(s string) bool {
				return strings.HasPrefix(s, a.Name+" ")
			}) {
			top = append(top, a)
			continue
		}
		n++
		rest.Requested += a.Requested
		rest.Achieved += a.Achieved
		rest.Attempts += a.Attempts
		rest.OK += a.OK
		rest.Failed += a.Failed
		for why, k := range a.Skipped {
			rest.Skipped[why] += k
		}
	}
	rest.Name = count(n, "other", "others")
	return top, []workload.MixAction{rest}
}

func skips(by map[string]int64) (n int64, why string) {
	reasons := slices.SortedFunc(maps.Keys(by),
		func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	var texts prose
	for _, r := range reasons {
		n += by[r]
		texts.add("%s %d", r, by[r])
	}
	if len(texts) > 3 {
		texts = append(texts[:3], "…")
	}
	return n, strings.Join(texts, ", ")
}

func (p usersPart) messageSection() []section {
	t := p.head(">Accepted", ">Deliveries expected", ">Late", ">Lost", ">Duplicated", ">Misordered",
		"Read back at the end")
	var notes prose
	grace, judged := time.Duration(0), false
	for _, u := range p.us {
		m := u.Messages
		if m.Acked == 0 && m.Expected() == 0 && u.Audit == nil {
			continue
		}
		grace = max(grace, u.Grace)
		back := dash
		if a := u.Audit; a != nil {
			back = fmt.Sprintf("%d of %d", a.Readable, a.Expected)
			if a.Missing > 0 {
				back += fmt.Sprintf(", %d MISSING", a.Missing)
				notes = append(notes,
					"Accepted and not there at the end: "+strings.Join(a.MissingIDs, ", ")+".")
			}
			if a.NotAudited > 0 {
				back += fmt.Sprintf(", %d not audited", a.NotAudited)
				notes = append(
					notes,
					"Nobody may read the messages that are not audited; whether they were kept is not known: "+strings.Join(
						a.Refusals,
						"; ",
					)+".",
				)
			}
			if a.Part < 1 {
				back += fmt.Sprintf(" (a sample of 1 in %d)", int(1/a.Part+0.5))
			}
			if a.Note != "" {
				back += "; " + a.Note
			}
		}
		for i, e := range u.AuditErrors {
			if i == 3 {
				notes.add("Reading back failed in %d more runs.", len(u.AuditErrors)-i)
				break
			}
			notes = append(notes, "Reading back failed: "+e+".")
		}
		fates := cells(m.Expected(), faultText(m.Late, m), faultText(m.Lost, m),
			faultText(m.Duplicated, m), faultText(m.Misordered, m))
		if u.Undelivered != "" {
			fates = slices.Repeat([]string{dash}, len(fates))
			notes = append(notes, "Deliveries are not judged: "+u.Undelivered+".")
		} else {
			judged = true
		}
		t.add(p.row(m.Acked, u, fates, back))
	}
	if !judged {
		return t.section("Messages", append(notes, "Whole runs.")...)
	}
	notes.add(
		"Whole runs. Lost: the recipient was a member and connected from before the message was sent until %v after the server accepted it, and no event came. "+
			"Late: it came after that. Misordered: an event of a message came after that of one that was sent when it had already been accepted.",
		grace,
	)
	return t.section("Messages", notes...)
}

func faultText(n int64, m workload.LedgerCount) string {
	if n <= 0 || m.Expected() <= 0 {
		return strconv.FormatInt(max(n, 0), 10)
	}
	return fmt.Sprintf("%d (%s %%)", n, sig(100*float64(n)/float64(m.Expected()), 2))
}

func (p usersPart) loginSection() []section {
	t := p.head("Operation", ">Count", ">p50 ms", ">p95 ms", ">p99 ms", ">Errors")
	for _, u := range p.us {
		for _, l := range u.Login {
			t.add(p.row(l.Name, u, l.cells()))
		}
	}
	title, note := "Login and sign-up", ""
	switch p.login {
	case plan.LoginWarm:
		title, note = title+" (warm)", "Warm: users had their tokens before the ramp; what is here is what a client does at its start. "
	case plan.LoginCold:
		title, note = title+" (cold)", "Cold: users log in with their password during the run. "
	}
	return t.section(title,
		note+"Over the whole runs; none of it is in the operations of the steady state.")
}

// cells are the operations and their latencies, and at last the errors.
func (c OpCell) cells() []string { return cells(c.Count, c.P50, c.P95, c.P99, errorText(c)) }

func (p usersPart) stormSection() []section {
	t := p.head(
		"Storm",
		">Seconds",
		">Users",
		">Missed",
		">All back after",
		">Operations",
		">p50 ms",
		">p95 ms",
		">p99 ms",
		">Errors",
	)
	for _, u := range p.us {
		for _, s := range u.Storms {
			secs := fmt.Sprintf("%s to %s", sig(s.Begin.Seconds(), 3),
				sig((s.Begin+s.To-s.From).Seconds(), 3))
			back := "not in the phase"
			switch {
			case s.Done+s.Missed < s.Affected:
			case s.Done == 0:
				back = "none is back"
			default:
				back = sig(s.Back.Seconds(), 3) + " s"
			}
			t.add(p.row(
				s.Kind,
				u,
				secs,
				s.Affected,
				s.Missed,
				back,
				s.All.cells(),
			))
			if len(s.Ops) == 1 {
				continue
			}
			for _, l := range s.Ops {
				t.add(p.row(
					s.Kind+": "+strings.TrimPrefix(l.Name, workload.StormPrefix+s.Kind+"_"),
					u,
					"",
					"",
					"",
					"",
					l.cells(),
				))
			}
		}
	}
	return t.section(
		"Storms",
		"Seconds count from the beginning of the measured phase. The storms' own operations are only here; what the other users felt meanwhile is in the operations of the bounded test.",
	)
}

// RunText describes the users of one run, for people, as plain text; nothing if there is nothing to
// report. p may be nil.
func RunText(w io.Writer, r RunData, p *plan.Plan) error {
	u, ok := usersOf([]RunData{r})
	if !ok {
		return nil
	}
	login, mix := "", ""
	if p != nil {
		login, mix = p.Workload.Login, mixText(p.Workload)
	}
	none := func(UsersOf) string { return "" }
	var b strings.Builder
	for _, n := range userNotices([]UsersOf{u}, none) {
		b.WriteString("\nATTENTION: " + plain.OneLine(n.text) + "\n")
	}
	for _, s := range (usersPart{[]UsersOf{u}, login, mix, none}).sections() {
		b.WriteString("\n" + plain.OneLine(s.Title) + ":\n")
		for _, l := range s.Table.text() {
			b.WriteString(l + "\n")
		}
		for _, n := range s.Notes {
			for _, l := range wrap(plain.OneLine(n), 118, 20) {
				b.WriteString("  " + l + "\n")
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
