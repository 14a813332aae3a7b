package audience

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/run/live"
	"plimsoll/run/trial"
)

// A Reporter reports progress to people. On a terminal it is one line of at most 80 columns that is
// written over. Elsewhere it is a plain line for each phase of each step of [Reporter.What], for
// each other doing the first time, and for what goes on, one in five minutes. Its methods are safe
// for concurrent use.
type Reporter struct {
	mu sync.Mutex
	// This has no gate: the line that is written over needs control characters, and text goes
	// through plain.
	w        io.Writer
	secrets  *plain.Secrets
	terminal bool
	last     time.Time       // of a plain line
	shown    map[string]bool // phases and doings that had one
	prefix   string          // of the present step: "block 2/6"
	after    time.Duration   // that is still to come when the present trial is over
	began    time.Time
	open     bool // a line is being written over
	// duet is the reporter of the block that this one reports a run of, and name the run's name in
	// it; nil for a reporter of its own.
	duet *Reporter
	name string
	// of a block's runs that are made side by side, the last progress by name
	runs map[string]trial.Progress
	// takes each line that is shown, without the secrets; nil for none
	broadcast *live.Broadcast
}

// Part returns a reporter of one of several runs that are made side by side. Their trials share a
// line.
func (p *Reporter) Part(name string) *Reporter {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs == nil {
		p.runs = map[string]trial.Progress{}
	}
	p.runs[name] = trial.Progress{}
	return &Reporter{duet: p, name: name}
}

// Joined ends the parts.
func (p *Reporter) Joined() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs = nil
}

// NewReporter returns a progress that begins now and writes to w, which has no gate: the progress
// redacts the secrets itself.
func NewReporter(w io.Writer, secrets *plain.Secrets, terminal bool) *Reporter {
	return &Reporter{
		w:        w,
		secrets:  secrets,
		terminal: terminal,
		shown:    map[string]bool{},
		began:    time.Now(),
	}
}

// plainEvery is the time between plain lines of one phase, and columns the width of the line on a
// terminal.
const (
	plainEvery = 5 * time.Minute
	columns    = 80
)

// What sets the present step, and the time that comes after it.
func (p *Reporter) What(prefix string, after time.Duration) {
	if p.duet != nil {
		return // the block has set it
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prefix, p.after = prefix, after
}

// Say writes a line that stays.
func (p *Reporter) Say(format string, args ...any) {
	if p.duet != nil {
		p.duet.Say("  %s: %s", p.name, plain.Sprintf(format, args...))
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	text := plain.Sprintf(format, args...)
	p.broadcast.Say(p.secrets.Redact(text))
	p.print("", text, "\n")
}

// Doing reports a step that has no numbers.
func (p *Reporter) Doing(step string, left time.Duration) { p.Step(step, step, left) }

// Trial reports a trial under way.
func (p *Reporter) Trial(t trial.Progress) {
	if p.duet != nil {
		p.duet.together(p.name, t)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running(t.Phase, []trial.Progress{t})
}

// together reports one of several trials that are under way side by side: all of them in one line,
// with the time that they need together.
func (p *Reporter) together(name string, t trial.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[name] = t
	p.running(t.Phase, slices.Collect(maps.Values(p.runs)))
}

// running shows a phase of trials: users and operations of one of them on average, the longest p95,
// all errors.
func (p *Reporter) running(phase string, trials []trial.Progress) {
	var all trial.Progress
	n, each := 0, ""
	for _, t := range trials {
		if t.Phase == "" {
			continue
		}
		n++
		all.Active = all.Active + t.Active
		all.OpsPerSecond = all.OpsPerSecond + t.OpsPerSecond
		all.Errors = all.Errors + t.Errors
		all.P95, all.Left = max(all.P95, t.P95), all.Left+t.Left
	}
	if n = max(n, 1); len(trials) > 1 {
		each = " each"
	}
	exact := 100 * time.Microsecond
	if all.P95 >= time.Second {
		exact = 10 * time.Millisecond
	}
	p.line(
		p.prefix+" "+phase,
		phase,
		fmt.Sprintf(
			"%-7s %d users  %.0f ops/s%s  p95 %v  errors %d",
			phase,
			all.Active/n,
			all.OpsPerSecond/float64(n),
			each,
			all.P95.Round(exact),
			all.Errors,
		),
		all.Left*time.Duration(len(trials))/time.Duration(n),
	)
}

// line shows a step with a text, which makes a plain line where nothing was shown under the key.
func (p *Reporter) line(key, step, text string, left time.Duration) {
	ends := ""
	left += p.after
	if left > 0 {
		ends = fmt.Sprintf("  %s left", left.Round(time.Second))
	}
	whole := strings.TrimSpace(p.prefix + "  " + text)
	p.broadcast.SetStep(step, plain.Text(p.secrets.Redact(whole+ends)), left)
	if p.terminal {
		p.print(rewind, plain.Text(fit(p.prefix, text, columns-len(ends))+ends), "")
		p.open = true
		return
	}
	if now := time.Now(); !p.shown[key] || now.Sub(p.last) >= plainEvery {
		p.shown[key], p.last = true, now
		p.print(
			"",
			plain.Sprintf("[%s] %s", time.Since(p.began).Round(time.Second), whole+ends),
			"\n",
		)
	}
}

// fit joins a prefix and a text in at most so many columns, which are no more than bytes. The
// prefix is cut first, but for its beginning; a cut is a column and three bytes.
func fit(prefix, text string, most int) string {
	const beginning = 16 // block 12/20 again
	prefix = plain.Cut(prefix, max(beginning, most-len(text)-6))
	return plain.Cut(strings.TrimSpace(prefix+"  "+text), most-1)
}

// rewind begins the line of a terminal again.
const rewind = "\r\x1b[K"

// print writes text, without its secrets, between lead and end.
func (p *Reporter) print(lead, text, end string) {
	_, _ = io.WriteString(p.w, lead+plain.Lines(p.secrets.Redact(text))+end) // who watches has gone
}

func (p *Reporter) clear() {
	if p.open {
		p.print(rewind, "", "")
		p.open = false
	}
}

// End leaves the terminal on a fresh line.
func (p *Reporter) End() {
	if p.duet != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// Step is Doing with a text that changes within one phase.
func (p *Reporter) Step(phase, text string, left time.Duration) {
	if p.duet != nil {
		p.duet.Step(phase, text+" "+p.name, left)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(phase, phase, text, left)
}
