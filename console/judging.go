package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"plimsoll/evidence"
	"plimsoll/judge/comparison"
	"plimsoll/judge/verdict"
	"plimsoll/record"
)

// judgeOn judges the comparisons under way until ctx is done.
func (h *hub) judgeOn(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		h.judgeAll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// judgeAll judges again the comparisons under way whose files have changed: a run, or a block, has
// ended.
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
		fi, err := os.Stat(filepath.Join(f.dir, comparisonFile))
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

// judgedSoFar is judgeSoFar, once for each state of the comparison's file.
func (s *Console) judgedSoFar(
	ctx context.Context,
	c *record.Comparison,
) (evidence.Conclusion, error) {
	return s.partly.of(
		filepath.Join(s.store.ComparisonDir(c.ID), comparisonFile),
		func() (evidence.Conclusion, error) {
			return s.judgeSoFar(ctx, c)
		},
	)
}

// judgeSoFar judges the whole blocks of a comparison that is under way or has no outcome. Nothing
// is concluded from it: a look that the plan does not have would find differences that are none. So
// every difference is open, and only its interval is shown.
func (s *Console) judgeSoFar(
	ctx context.Context,
	c *record.Comparison,
) (o evidence.Conclusion, err error) {
	p, err := evidence.PlanOf(c)
	if err != nil {
		return o, err
	}
	whole := *c
	whole.Looks = nil // all whole blocks, not only the blocks of a look
	arms, _, err := comparison.Judge(
		&whole,
		p,
		comparison.Loader(c, s.store.Run),
		s.catalog.Costs(ctx),
	)
	if err != nil {
		return o, err
	}
	o.Indicative = true
	for _, j := range arms {
		for k := range j.Verdict.Results {
			x := &j.Verdict.Results[k]
			x.Kind = verdict.Inconclusive
			x.Sentence = fmt.Sprintf("%d blocks so far; it is judged when the plan says", x.N)
		}
		o.Verdicts = append(o.Verdicts, evidence.Concluded{
			Engine:  j.Engine,
			Arm:     j.Arm,
			Verdict: j.Verdict,
		})
	}
	return o, nil
}

// outlook describes the remaining part of a comparison under way.
func outlook(c *record.Comparison, done int, now time.Time) (out []string) {
	text := fmt.Sprintf("%d of %d blocks are whole.", done, c.Blocks)
	if c.Budget > 0 {
		text += fmt.Sprintf(
			" %v of %v are left: no block begins after that.",
			max(c.Budget-now.Sub(c.Started), 0).Round(time.Second),
			c.Budget,
		)
	}
	out = append(out, text)
	for i, l := range c.Looks {
		if !l.Taken() {
			out = append(out, fmt.Sprintf(
				"Look %d of %d is after block %d, at the level %.3g %%.",
				i+1,
				len(c.Looks),
				l.Blocks,
				100*l.Alpha,
			))
			break
		}
	}
	if done < 6 {
		out = append(out, "Below six blocks a verdict is indicative.")
	}
	return out
}

// limiterWithin bounds the search for the evidence of a limiter.
const limiterWithin = 20 * time.Second

// limits keeps the limiters of runs that are under way: each browser asks for them again and again.
// Its zero value is empty; its methods are safe for concurrent use.
type limits struct {
	mu sync.Mutex
	by map[string]limitedAt
}

type limitedAt struct {
	at     time.Time
	answer any
}

const (
	// limitAgain is the time for which the limiter of a run under way is served again.
	limitAgain = 8 * time.Second
	mostLimits = 32
)

func (l *limits) get(id string, now time.Time) (any, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.by[id]
	return k.answer, ok && now.Sub(k.at) < limitAgain
}

func (l *limits) put(id string, now time.Time, answer any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.by, func(_ string, k limitedAt) bool { return now.Sub(k.at) >= limitAgain })
	if l.by == nil || len(l.by) >= mostLimits {
		l.by = map[string]limitedAt{}
	}
	l.by[id] = limitedAt{now, answer}
}

// limiter answers the limiter of a run, or of one under way as far as it can be named. Series are
// read for few at a time.
func (s *Console) limiter(w http.ResponseWriter, r *http.Request, run *record.Run) {
	ctx, cancel := context.WithTimeout(r.Context(), limiterWithin)
	defer cancel()
	id := run.Manifest.ID
	find := func() (any, error) {
		select {
		case s.reading <- struct{}{}:
			defer func() { <-s.reading }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		// another request has found it meanwhile
		if known, ok := s.soFar.get(id, time.Now()); ok && !run.Ended() {
			return known, nil
		}
		found, err := s.limiterOf(ctx, run)
		if err == nil && !run.Ended() {
			s.soFar.put(id, time.Now(), found)
		}
		return found, err
	}
	var out any
	var err error
	if run.Ended() {
		out, err = s.limits.of(filepath.Join(run.Dir, record.ManifestFile), find)
	} else {
		known := false
		if out, known = s.soFar.get(id, time.Now()); !known {
			out, err = find()
		}
	}
	respondWith(w, out, err)
}

// limiterOf returns the Limiter of the contract.
func (s *Console) limiterOf(ctx context.Context, run *record.Run) (any, error) {
	log, err := run.Events()
	if err != nil {
		return nil, err
	}
	of := s.catalog.Of(run)
	soFar := !run.Ended()
	name := of.Limiter
	if soFar {
		name = of.LimiterSoFar
	}
	l, err := name(ctx, log)
	switch {
	case err != nil:
		return nil, err
	case l == nil:
		return map[string]any{
			"name":       "unknown",
			"so_far":     soFar,
			"text":       "The run carried no test, or was interrupted.",
			"indicators": []any{},
		}, nil
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
	return map[string]any{
		"name":       l.Name,
		"so_far":     soFar,
		"text":       l.Sentence,
		"indicators": indicators,
	}, nil
}
