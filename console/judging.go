package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"plimsoll/evidence"
	"plimsoll/internal/plain"
	"plimsoll/judge/comparison"
	"plimsoll/run/record"
)

// judgeAll judges again the comparisons under way whose files have changed: a run, or a block, has ended.
func (h *hub) judgeAll(ctx context.Context) {
	if h.judge == nil {
		return
	}
	h.mu.Lock()
	var all []*followed
	for _, f := range h.runs {
		if f.kind == "comparison" {
			all = append(all, f)
		}
	}
	h.mu.Unlock()
	for _, f := range all {
		fi, err := os.Stat(filepath.Join(f.dir, "comparison.json"))
		if err != nil || f.over() || !fi.ModTime().After(f.saved) {
			continue
		}
		f.saved = fi.ModTime() // this goroutine's alone
		v, err := h.judge(ctx, f.id)
		if err != nil {
			continue // it is being written: the next look finds it
		}
		b, err := json.Marshal(v)
		if err != nil {
			continue
		}
		f.mu.Lock()
		f.judged, f.judging = b, f.judging+1
		f.tell()
		f.mu.Unlock()
	}
}

// soFar judges the whole blocks of a comparison that is under way or has no report. Nothing is concluded from it: a look
// that the plan does not have would find differences that are none. So every difference is open, and only its interval
// is shown.
func (s *Console) soFar(ctx context.Context, c *record.Comparison) (r reported, err error) {
	p, err := evidence.PlanOf(c)
	if err != nil {
		return r, err
	}
	whole := *c
	whole.Looks = nil // all whole blocks, not only those of a look
	arms, _, err := comparison.Judge(&whole, p, comparison.Loader(c, s.store.Run), s.catalog.Costs(ctx))
	if err != nil {
		return r, err
	}
	type one struct {
		Engine  string `json:"engine"`
		Arm     string `json:"arm"`
		Verdict any    `json:"verdict"`
	}
	var all []one
	for _, j := range arms {
		all = append(all, one{j.Engine, j.Arm, j.Verdict})
	}
	b, err := json.Marshal(map[string]any{"verdicts": all, "indicative": true})
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, err
	}
	for i := range r.Verdicts {
		for k := range r.Verdicts[i].Verdict.Results {
			x := &r.Verdicts[i].Verdict.Results[k]
			x.Kind, x.Sentence = "inconclusive", fmt.Sprintf("%d blocks so far; it is judged when the plan says", x.N)
		}
	}
	return r, nil
}

// outlook says what is still to come of a comparison under way.
func outlook(c *record.Comparison, done int, now time.Time) (out []string) {
	text := fmt.Sprintf("%d of %d blocks are whole.", done, c.Blocks)
	if c.Budget > 0 {
		text += fmt.Sprintf(" %v of %v are left: no block begins after that.", max(c.Budget-now.Sub(c.Started), 0).Round(time.Second), c.Budget)
	}
	out = append(out, text)
	for i, l := range c.Looks {
		if !l.Taken() {
			out = append(out, fmt.Sprintf("Look %d of %d is after block %d, at the level %.3g %%.", i+1, len(c.Looks), l.Blocks, 100*l.Alpha))
			break
		}
	}
	if done < 6 {
		out = append(out, "Below six blocks a verdict is indicative.")
	}
	return out
}

// limiterWithin is how long evidence may be looked for.
const limiterWithin = 20 * time.Second

// limiter answers the limiter of a run, or of one under way as far as it can be named.
func (s *Console) limiter(w http.ResponseWriter, r *http.Request, run *record.Run) {
	ctx, cancel := context.WithTimeout(r.Context(), limiterWithin)
	defer cancel()
	log, err := run.Events()
	if err != nil {
		refuse(w, http.StatusInternalServerError, plain.Error(err))
		return
	}
	of := s.catalog.Of(run)
	soFar := !run.Ended()
	name := of.Limiter
	if soFar {
		name = of.LimiterSoFar
	}
	l, err := name(ctx, log)
	if err != nil {
		refuse(w, http.StatusInternalServerError, plain.Error(err))
		return
	}
	if l == nil {
		answer(w, map[string]any{"name": "unknown", "so_far": soFar, "text": "The run carried no test, or was interrupted.", "indicators": []any{}})
		return
	}
	type indicator struct {
		Name  string `json:"name"`
		Text  string `json:"text"`
		State string `json:"state"`
	}
	indicators := []indicator{}
	for _, e := range l.Evidence {
		indicators = append(indicators, indicator{e.What, e.Text(), "named"})
	}
	for _, o := range l.Others {
		indicators = append(indicators, indicator{o.Name, o.Why, "suspect"})
	}
	for _, e := range l.Exonerated {
		indicators = append(indicators, indicator{e.What, e.Text(), "cleared"})
	}
	answer(w, map[string]any{"name": l.Name, "so_far": soFar, "text": l.Sentence, "indicators": indicators})
}
