package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/live"
)

// ofID opens the stored object with the whole id in a path, and passes it to f.
func ofID[T any](
	what string,
	load func(id string) (T, error),
	idOf func(T) string,
	f func(w http.ResponseWriter, r *http.Request, it T),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("id")
		var it T
		err := store.ErrNotFound
		if wholeID(id) {
			it, err = load(id)
		}
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && idOf(it) != id:
			refuse(w, http.StatusNotFound, "the store has no such "+what)
		case err != nil:
			refuse(w, http.StatusInternalServerError, plain.Error(err))
		default:
			f(w, r, it)
		}
	}
}

// ofRun opens the run that a path names.
func (s *Console) ofRun(
	f func(w http.ResponseWriter, r *http.Request, run *record.Run),
) http.HandlerFunc {
	return ofID("run", s.store.Run, func(r *record.Run) string { return r.Manifest.ID }, f)
}

// A queryError is an error of a request.
type queryError struct{ error }

// respondWith answers with out, or refuses the request for err.
func respondWith(w http.ResponseWriter, out any, err error) {
	switch {
	case errors.As(err, new(queryError)):
		refuse(w, http.StatusBadRequest, err.Error())
	case err != nil:
		refuse(w, http.StatusInternalServerError, plain.Error(err))
	default:
		answer(w, out)
	}
}

// few lets few requests at a time read the files of runs, and answers what f makes of them.
func (s *Console) few(
	f func(r *http.Request, run *record.Run) (any, error),
) func(http.ResponseWriter, *http.Request, *record.Run) {
	return func(w http.ResponseWriter, r *http.Request, run *record.Run) {
		select {
		case s.reading <- struct{}{}:
			defer func() { <-s.reading }()
			out, err := f(r, run)
			respondWith(w, out, err)
		case <-r.Context().Done():
		}
	}
}

func phasesOf(m record.Manifest) []map[string]any {
	out := []map[string]any{}
	for _, p := range m.Phases {
		one := map[string]any{"name": p.Name, "from": p.From.Seconds()}
		if p.To > p.From {
			one["to"] = p.To.Seconds()
		}
		out = append(out, one)
	}
	return out
}

// addTexts adds the texts that are not empty.
func addTexts(to map[string]any, texts map[string]string) {
	for name, text := range texts {
		if text != "" {
			to[name] = text
		}
	}
}

func (s *Console) run(_ *http.Request, r *record.Run) (any, error) {
	if err := r.LookAtAll(); err != nil {
		return nil, err
	}
	m := r.Manifest
	it := map[string]any{
		"kind":      "run",
		"id":        m.ID,
		"plan":      m.Name,
		"began":     m.Epoch,
		"state":     s.state(m.ID, m.State),
		"valid":     r.Validity.Valid,
		"arm":       m.Arm,
		"digest":    m.PlanDigest,
		"documents": documents(s.store, "runs", m.ID),
		"phases":    phasesOf(m),
		"plan_text": m.Plan,
	}
	if it["state"] != string(record.Running) { // its seal has the answer
		it["believe"] = believed(m, r.Validity)
	}
	addTexts(it, map[string]string{
		"engine":      m.Engine,
		"of":          m.Comparison,
		"why":         m.Why,
		"exploratory": m.Exploratory,
	})
	if n := len(m.Phases); n > 0 {
		it["length"] = m.Phases[n-1].To.Seconds()
	}
	if c := m.Capacity; c != nil {
		it["capacity"], it["result"] = c, record.CapacityText(c.Kind, c.Users)
	}
	findings := []map[string]any{}
	why := map[string]string{}
	for _, f := range r.Validity.Findings {
		findings = append(findings, map[string]any{
			"gate":  f.Gate,
			"level": f.Level,
			"text":  f.Text,
		})
		why[f.Gate] = f.Text
	}
	it["findings"] = findings
	gates := []map[string]any{}
	for _, g := range r.Validity.Gates {
		color, text := g.Level, why[g.Name]
		if color != record.Green && color != record.Amber && color != record.Red {
			color = "gray"
		}
		if text == "" {
			switch text = g.What; {
			case g.Why != "":
				text += ": " + g.Why
			case g.Value != nil:
				text = strings.TrimSpace(fmt.Sprintf("%s: %.4g %s", text, *g.Value, g.Unit))
			}
		}
		gates = append(gates, map[string]any{"name": g.Name, "color": color, "text": text})
	}
	it["gates"] = gates
	for name, raw := range map[string]json.RawMessage{"target": m.Target, "host": m.Host} {
		if len(raw) > 0 {
			it[name] = raw
		}
	}
	return it, nil
}

// maxReading bounds the runs whose seconds are read at a time: a day of them takes some ten
// megabytes.
const maxReading = 2

// series answers the columns of a run with its rules and its search windows; with the parameter op
// it answers the columns of that operation alone.
func (s *Console) series(r *http.Request, run *record.Run) (any, error) {
	most, err := number(r, "points", mostPoints, 10, mostPoints)
	if err != nil {
		return nil, err
	}
	if op := r.URL.Query().Get("op"); op != "" {
		return ofOperation(run, op, most)
	}
	rec, err := recordedOf(r.Context(), s.catalog.Of(run), newColumns(most, mostSeconds))
	if err != nil {
		return nil, err
	}
	return rec.past(), nil
}

// ofOperation returns the columns of one operation. The windows of a second that comes in two
// frames are added up.
func ofOperation(run *record.Run, op string, most int) (map[string]any, error) {
	cols := newColumns(most, mostSeconds)
	at := -1
	sum := measure.NewWindow(op)
	end := func() {
		if at < 0 {
			return
		}
		values := map[string]float64{"rate": float64(sum.Count()), "errors": float64(sum.Errors())}
		quantiles(values, "", sum)
		cols.add(float64(at+1), values)
	}
	_, err := run.EachSecond(func(second int, ws []*measure.Window) bool {
		if second != at {
			end()
			at, sum = second, measure.NewWindow(op)
		}
		for _, one := range ws {
			if one.Name == op {
				sum.Merge(one)
			}
		}
		return true
	})
	end()
	past := cols.past(-1)
	past["phases"] = phasesOf(run.Manifest)
	return past, err
}

// shownQuantiles are those of response times that answers have.
var shownQuantiles = map[string]float64{"p50": 0.5, "p95": 0.95, "p99": 0.99}

// quantiles adds the quantiles of a window, in milliseconds to a microsecond; none of an empty one.
func quantiles(into map[string]float64, prefix string, w *measure.Window) {
	if w.Response.Count() == 0 {
		return
	}
	for name, q := range shownQuantiles {
		into[prefix+name] = float64(w.Response.Quantile(q).Microseconds()) / 1e3
	}
}

// operations answers the table of the measured phase, of the search, or of the whole run.
func operations(_ *http.Request, run *record.Run) (any, error) {
	from := time.Duration(0)
	to := time.Duration(1 << 62)
	phase := ""
	for _, name := range []string{"measure", "search"} {
		if p, ok := run.Manifest.Phase(name); ok {
			from = p.From
			to = p.To
			phase = name
			break
		}
	}
	merged, err := run.Merged(from, to)
	if err != nil {
		return nil, err
	}
	rows := []map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		one := merged[name]
		if !workload.Operation(name) || workload.Beyond(name) {
			continue
		}
		row := map[string]any{"name": name, "count": one.Count(), "errors": one.Errors()}
		if phase != "" {
			row["rate"] = float64(one.Count()) / (to - from).Seconds()
		}
		times := map[string]float64{}
		quantiles(times, "", one)
		for name, ms := range times {
			row[name] = ms
		}
		rows = append(rows, row)
	}
	out := map[string]any{"operations": rows}
	if phase != "" {
		out["phase"] = phase
	}
	return out, nil
}

// failures answers the failures of the whole run by class and operation, and by status where they
// were answered: what counts in frames. An operation that ended in an answer is in the series of
// that answer too.
func failures(_ *http.Request, run *record.Run) (any, error) {
	type place struct{ class, op, text string }
	found := map[place]*live.FailureRow{}
	add := func(p place, n uint64, second int) {
		if found[p] == nil {
			found[p] = &live.FailureRow{
				Class: p.class,
				Op:    p.op,
				Text:  p.text,
				First: float64(second),
			}
		}
		found[p].Count += n
		found[p].Last = float64(second)
	}
	_, err := run.EachSecond(func(second int, ws []*measure.Window) bool {
		for _, one := range ws {
			if status, op, ok := workload.AnswerOf(one.Name); ok && one.Count() > 0 {
				add(place{status[:min(1, len(status))] + "xx", op, status}, one.Count(), second)
				continue
			}
			if workload.OfAnswers(one.Name) ||
				slices.Contains(
					[]string{workload.Delivery, workload.Schedule, workload.Inbox},
					one.Name,
				) {
				continue
			}
			for class, n := range one.ByClass() {
				add(place{class: class, op: one.Name}, n, second)
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for p, f := range found {
		if all := found[place{class: p.class, op: p.op}]; p.text != "" && all != nil {
			all.Count -= min(f.Count, all.Count) // they have a separate row
		}
	}
	rows := []live.FailureRow{}
	for _, f := range found {
		if f.Count > 0 {
			rows = append(rows, *f)
		}
	}
	slices.SortFunc(rows, func(a, b live.FailureRow) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Op, b.Op),
			cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Text, b.Text),
		)
	})
	return map[string]any{"failures": rows}, nil
}

// events answers the log of a run: its last lines, or with the query after the first ones behind
// that.
func events(r *http.Request, run *record.Run) (any, error) {
	limit, err := number(r, "limit", 500, 1, 2000)
	after := 0
	if err == nil {
		after, err = number(r, "after", 0, 0, 1<<40)
	}
	if err != nil {
		return nil, err
	}
	all, err := run.Events()
	if err != nil {
		return nil, err
	}
	kind := r.URL.Query().Get("kind")
	lines := []map[string]any{}
	for i, e := range all {
		if i+1 <= after || kind != "" && kind != "all" && e.Kind != kind ||
			kind == "" && e.Routine() {
			continue
		}
		line := map[string]any{"n": i + 1, "at": e.At.Seconds(), "kind": e.Kind, "text": e.Line()}
		if e.Level == record.Amber || e.Level == record.Red {
			line["level"] = e.Level
		}
		if lines = append(lines, line); after > 0 && len(lines) == limit {
			break
		}
	}
	return map[string]any{"log": lines[max(0, len(lines)-limit):]}, nil
}

// comparison answers the content of its file: state, runs, the verdicts of its looks, and the
// outcome once it is judged.
func (s *Console) comparison(w http.ResponseWriter, r *http.Request, c *record.Comparison) {
	answer(w, s.judgedOf(r.Context(), c))
}

// judgedOf returns the Judged of the contract. A comparison under way is judged for the picture
// alone: it has the dots and intervals of its whole blocks, and verdicts only of looks that were
// taken.
func (s *Console) judgedOf(ctx context.Context, c *record.Comparison) map[string]any {
	verdicts, runs := []map[string]any{}, []map[string]any{}
	for _, v := range verdictsOf(c) {
		verdicts = append(verdicts, map[string]any{
			"engine": v.Engine,
			"arm":    v.Arm,
			"kind":   v.Kind,
		})
	}
	counts := map[int]int{}
	for _, one := range c.Runs {
		runs = append(runs, map[string]any{
			"run":     one.Run,
			"arm":     one.Arm,
			"engine":  one.Engine,
			"block":   one.Block,
			"order":   one.Order,
			"pilot":   one.Pilot,
			"valid":   one.Valid,
			"dropped": one.Dropped,
			"why":     one.Why,
		})
		if one.Counts() {
			counts[one.Block]++
		}
	}
	done := 0
	for _, n := range counts {
		if n >= len(c.Arms)*max(1, len(c.Engines)) {
			done++
		}
	}
	out := map[string]any{
		"id":          c.ID,
		"plan":        c.Name,
		"state":       s.wholeState("comparisons", c.ID, c.State),
		"arms":        append([]string{}, c.Arms...),
		"engines":     append([]string{}, c.Engines...),
		"blocks":      c.Blocks,
		"done":        done,
		"began":       c.Started,
		"endpoints":   []any{},
		"dots":        []any{},
		"differences": []any{},
		"verdicts":    verdicts,
		"runs":        runs,
		"documents":   documents(s.store, "comparisons", c.ID),
	}
	addTexts(out, map[string]string{"why": c.Why, "mode": c.Mode})
	switch o, ok := concluded(c); {
	case ok:
		judgedInto(out, o)
	case done > 0:
		if o, err := s.judgedSoFar(ctx, c); err != nil {
			out["outlook"] = []string{"The blocks so far cannot be judged: " + plain.Error(err)}
		} else {
			judgedInto(out, o)
			out["verdicts"] = verdicts
		}
	}
	if c.State == record.Running {
		out["outlook"] = outlook(c, done, time.Now())
	}
	return out
}
