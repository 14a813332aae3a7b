package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// leastHopeless is the least number of failed operations to give a trial up: one or two are no
// rule.
const leastHopeless = 5

// hopes gathers the operations of a trial until one of the steady state succeeds. The zero value is
// the beginning of a trial.
type hopes struct {
	some  bool
	began bool
	first time.Duration // when the first operation had failed
	all   measureSecond
}

// add takes in the operations that ended up to a time of the trial.
func (h *hopes) add(now time.Duration, ws []*measure.Window) {
	if h.some {
		return
	}
	h.all.add(ws)
	for _, w := range ws {
		if workload.Steady(w.Name) && w.Errors() < w.Count() {
			h.some, h.all = true, nil
			return
		}
		if !h.began && workload.Operation(w.Name) && w.Errors() > 0 {
			h.began, h.first = true, now
		}
	}
}

// hopeless reports whether no operation of the steady state has succeeded for so long after a
// failure that the rest of a bounded test would show nothing else, and notes which operations never
// succeeded.
func (r *run) hopeless() bool {
	h, after := &r.hopes, r.Bounded.GiveUp
	if r.out.Hopeless != "" {
		return true
	}
	if after == 0 || !h.began || h.some || r.now()-h.first < after {
		return false
	}
	failed := uint64(0)
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(h.all)) {
		w := h.all[name]
		if !workload.Operation(name) || workload.Beyond(name) || w.Count() == 0 ||
			w.Errors() < w.Count() {
			continue
		}
		failed += w.Count()
		texts = append(
			texts,
			name+" "+workload.Failures(w, workload.AnswersOf(h.all, func(op string) bool {
				return op == name
			})),
		)
	}
	if failed < leastHopeless {
		return false
	}
	r.out.Hopeless = fmt.Sprintf(
		"no operation succeeded in the first %v, and the rest was left out: %s",
		r.now(),
		strings.Join(texts, "; "),
	)
	r.out.Validity.Add(record.Finding{
		Gate:  "behavior",
		Level: record.Red,
		Value: float64(failed),
		Text:  r.out.Hopeless,
	})
	return true
}
