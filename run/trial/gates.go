package trial

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/plan"
	"plimsoll/record"
)

// grace is the time that a signal may be without data.
const grace = 5 * time.Second

// read takes one gate's reading over a stretch.
func (r *run) read(g plan.Gate, st stretch) Reading {
	if f := readers[g.Name]; f != nil {
		if _, ok := r.Driver.(Counter); !ok && g.Over == plan.WholePhase {
			return Unread("this driver does not count actions")
		}
		rd := f(st)
		if rd.Note == "" {
			rd.Note = r.thrown(g)
		}
		return rd
	}
	return st.health(g)
}

// watch takes all readings over the last second, writes them as an event, and counts the seconds
// beyond a limit in the phases that count.
func (r *run) watch() {
	second := r.trail.last(time.Second)
	ev := record.Event{Kind: "gates", Phase: r.phase, Readings: map[string]float64{}}
	for i := range r.gates {
		g := &r.gates[i]
		st := second
		if g.Over == plan.WholePhase {
			if r.phase != "measure" || len(r.measured.in) == 0 {
				r.watching.gates[i] = gateNow{why: "it is read over the measured phase"}
				continue
			}
			st = r.measured
		}
		rd := r.read(g.Gate, st)
		r.watching.gates[i] = gateNow{rd.Value, rd.Why}
		if rd.Why != "" {
			g.why, g.na = rd.Why, rd.Inapplicable
			continue
		}
		ev.Readings[g.Name] = rd.Value
		if r.phase != "measure" && (r.phase != "search" || g.Search == plan.HeldWindows) {
			continue
		}
		if g.seconds == 0 || g.worse(rd.Value, g.worst) {
			g.worst, g.note = rd.Value, rd.Note
		}
		r.until.note(i, g, rd.Value)
		g.seconds++
		g.sum += rd.Value
		switch g.Gate.Level(rd.Value) {
		case record.Red:
			g.red++
		case record.Amber:
			g.amber++
		}
	}
	r.event(ev)
	r.exportGates(ev)
}

// watched is a gate and its readings.
type watched struct {
	plan.Gate
	seconds, amber, red int
	sum, worst          float64
	why                 string   // the last reason why there was no reading
	na                  bool     // there is nothing to read in this run
	note                string   // of the worst reading
	value               *float64 // over the measured phase
	level               string
}

// worse reports whether a reading lies farther on the bad side than another.
func (g *watched) worse(v, than float64) bool {
	if g.Floor {
		return v < than
	}
	return v > than
}

func newWatched(gates []plan.Gate) []watched {
	if gates == nil {
		gates = plan.DefaultGates()
	}
	out := make([]watched, len(gates))
	for i, g := range gates {
		out[i] = watched{Gate: g, why: "nothing was measured"}
	}
	return out
}

// judge decides a gate over the measured phase: by its reading of the whole phase, and by the
// seconds beyond a limit when those are more than one in ten (and three).
func (g *watched) judge(rd Reading) (record.Finding, bool) {
	if rd.Why != "" {
		g.why, g.na = rd.Why, rd.Inapplicable
		return record.Finding{}, false
	}
	g.value = &rd.Value
	if g.Over != plan.SecondsAlone {
		g.level = g.Gate.Level(rd.Value)
	}
	text := fmt.Sprintf(
		"%s: %s in the measured phase%s",
		g.What,
		g.Format(rd.Value),
		noted(rd.Note),
	)
	value := rd.Value
	many := record.Tolerated(g.seconds)
	beyond := func(seconds int) string {
		return fmt.Sprintf("%s: beyond the limit in %d of %d seconds, worst %s%s",
			g.What, seconds, g.seconds, g.Format(g.worst), noted(g.note))
	}
	switch {
	case g.Over == plan.WholePhase: // its seconds are all of the phase so far
	case g.red > many && g.level != record.Red:
		g.level = record.Red
		text, value = beyond(g.red), g.worst
	case g.red+g.amber > many && g.level == "":
		g.level = record.Amber
		text, value = beyond(g.red+g.amber), g.worst
	}
	if g.level == "" {
		return record.Finding{}, false
	}
	return g.finding(g.level, value, text), true
}

// noted is a reading's note as the end of a sentence.
func noted(note string) string {
	if note == "" {
		return ""
	}
	return ": " + note
}

func (g *watched) finding(level string, value float64, text string) record.Finding {
	limit := g.Amber
	if level == record.Red {
		limit = g.Red
	}
	return record.Finding{
		Gate:  g.Name,
		Level: level,
		Value: value,
		Limit: limit,
		Unit:  g.Unit,
		Text:  text,
	}
}

// summary is the gate's line in validity.json.
func (g *watched) summary() record.GateOutcome {
	out := record.GateOutcome{
		Name:         g.Name,
		What:         g.What,
		Unit:         g.Unit,
		Amber:        g.Amber,
		Red:          g.Red,
		Floor:        g.Floor,
		Source:       g.Source,
		Seconds:      g.seconds,
		AmberSeconds: g.amber,
		RedSeconds:   g.red,
		Value:        g.value,
		Level:        g.level,
	}
	if g.seconds > 0 {
		worst := g.worst
		out.Worst = &worst
		if g.value == nil && g.Search != plan.HeldWindows {
			mean := g.sum / float64(g.seconds)
			out.Value = &mean
		}
	}
	switch {
	case out.Value == nil && g.na:
		out.Level, out.Why = record.NotApplicable, g.why
	case out.Value == nil:
		out.Level, out.Why = record.NotMeasured, g.why
	case out.Level == "" && g.value == nil && g.red+g.amber > record.Tolerated(g.seconds):
		out.Level = record.Amber // of a search, which went on
	case out.Level == "":
		out.Level = record.Green
		if beyond := g.red + g.amber; beyond > 0 && g.Over != plan.WholePhase {
			out.Why = fmt.Sprintf("beyond a limit in %d of %d seconds; more than %d would count",
				beyond, g.seconds, record.Tolerated(g.seconds))
		}
	}
	return out
}

// generatorFault returns the first red gate among the gates that end a search.
func (r *run) generatorFault(st stretch) (record.Finding, bool) {
	for i := range r.gates {
		g := &r.gates[i]
		if g.Search != plan.EndsSearch {
			continue
		}
		if rd := r.read(g.Gate, st); rd.Why == "" && g.Gate.Level(rd.Value) == record.Red {
			text := fmt.Sprintf("%s: %s%s", g.What, g.Format(rd.Value), noted(rd.Note))
			return g.finding(record.Red, rd.Value, text), true
		}
	}
	return record.Finding{}, false
}

// busySeconds returns the number of readings of the CPU use of the generator so far.
func (r *run) busySeconds() int {
	n := 0
	for i := range r.gates {
		if g := &r.gates[i]; g.UseOfCPU {
			n += g.seconds
		}
	}
	return n
}

// mark notes in the gates' table that one ended the search.
func (r *run) mark(f record.Finding) {
	for i := range r.gates {
		if g := &r.gates[i]; g.Name == f.Gate && g.level == "" {
			g.level = f.Level
		}
	}
}

// gateMeasure judges the measured phase.
func (r *run) gateMeasure(st stretch) {
	busy := false
	for i := range r.gates {
		g := &r.gates[i]
		f, bad := g.judge(r.read(g.Gate, st))
		if bad {
			r.out.Validity.Add(f)
		}
		busy = busy || g.value != nil && g.UseOfCPU
	}
	if !busy {
		r.red("core", "the CPU use of the generator was not measured")
	}
	if st.steady().Count() == 0 {
		r.red("operations", "not one operation ended in the measured phase")
	}
}

// overall adds the findings that are of the whole run, and the table of the gates.
func (r *run) overall() {
	for i := range r.gates {
		r.out.Validity.Gates = append(r.out.Validity.Gates, r.gates[i].summary())
	}
	if r.Signals == nil {
		return
	}
	_, _, failed := r.Driver.Users()
	if failed > 0 {
		r.out.Validity.Add(record.Finding{
			Gate:  "failed users",
			Level: record.Red,
			Value: float64(failed),
			Text:  fmt.Sprintf("%d simulated users could not go on; see the events", failed),
		})
	}
	fails := r.Signals.Failing()
	for _, name := range slices.Sorted(maps.Keys(fails)) {
		switch f := fails[name]; {
		case !f.Until.IsZero() && f.Until.Sub(f.Since) > grace:
			r.amber("signals", fmt.Sprintf(
				"%s had no data from %s to %s: %s",
				name,
				f.Since.UTC().Format(time.TimeOnly),
				f.Until.UTC().Format(time.TimeOnly),
				f.Why,
			))
		case f.Until.IsZero() && r.Clock.Date(r.Clock.Now()).Sub(f.Since) > grace:
			r.red("signals", fmt.Sprintf(
				"%s has had no data since %s: %s",
				name,
				f.Since.UTC().Format(time.TimeOnly),
				f.Why,
			))
		}
	}
	for _, f := range r.out.Validity.Findings {
		r.event(f.Event())
	}
}
