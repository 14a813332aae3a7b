package compare

import (
	"fmt"
	"time"
)

// A pace is the time that a run of a comparison takes with its reset and its end: the plan's until
// the first valid run, then the mean of the runs made. How long a target starts, and turns overlap,
// only they show.
type pace struct {
	planned time.Duration
	block   int // runs of a block
	all     int // runs of the comparison
	runs    int // that were made
	took    time.Duration
}

func (p *pace) each() time.Duration {
	if p.runs == 0 {
		return p.planned
	}
	return p.took / time.Duration(p.runs)
}

// made notes runs and their total time. It returns a corrected forecast after the first block, if
// the plan's was wrong by more than a tenth; "" otherwise.
func (p *pace) made(runs int, took time.Duration) string {
	before := p.runs
	p.runs += runs
	p.took += took
	each := p.each()
	if before >= p.block || p.runs < p.block || (each-p.planned).Abs() <= p.planned/10 {
		return ""
	}
	return fmt.Sprintf(
		"a run takes %v with its reset and end, where the forecast had %v: about %v for %d runs",
		each.Round(time.Second),
		p.planned.Round(time.Second),
		(each * time.Duration(p.all)).Round(10*time.Second),
		p.all,
	)
}

// note takes in the runs made since an instant, and prints the corrected forecast. Runs that are
// not valid may have ended early: they are left out.
func (r *cells) note(runs []cellRun, since time.Time) {
	for _, run := range runs {
		if !run.Valid {
			return
		}
	}
	if text := r.pace.made(len(runs), time.Since(since)); text != "" {
		r.Progress.Say("  %s", text)
	}
}
