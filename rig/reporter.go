package rig

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/run/trial"
)

// A Reporter reports progress to people: by one line that is written over on a terminal, by a plain line now and then
// elsewhere. Its methods are safe for concurrent use.
type Reporter struct {
	mu sync.Mutex
	// This has no gate: the line that is written over needs control characters, and text goes through plain.
	w        io.Writer
	secrets  *plain.Secrets
	terminal bool
	every    time.Duration // between plain lines of one phase
	last     time.Time
	phase    string
	prefix   string        // of the present step: "block 2/6 new mysql"
	after    time.Duration // that is still to come when the present trial is over
	began    time.Time
	open     bool // a line is being written over
	// duet is the reporter of the block that this one reports a run of, and name the run's name in it; nil for a
	// reporter of its own.
	duet *Reporter
	name string
	runs map[string]trial.Progress // of a block's runs that are made side by side, the last progress by name
	// onStep and onLine take each line that is shown, without the secrets; nil for nobody.
	onStep func(step, text string, left time.Duration)
	onLine func(text string)
}

// hear has each line that is written over, and each that stays, given to functions that return at once; nil for nobody.
func (p *Reporter) hear(step func(step, text string, left time.Duration), line func(text string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.onStep, p.onLine = step, line
}

// Part returns a reporter of one of several runs that are made side by side. Their trials share a line.
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

// NewReporter returns a progress that begins now and writes to w, which has no gate: the progress redacts the secrets
// itself.
func NewReporter(w io.Writer, secrets *plain.Secrets, terminal bool) *Reporter {
	return &Reporter{w: w, secrets: secrets, terminal: terminal, every: 10 * time.Second, began: time.Now()}
}

// What sets the present step, and the time that comes after it.
func (p *Reporter) What(prefix string, after time.Duration) {
	if p.duet != nil {
		return // the block has set it
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prefix, p.after, p.phase = prefix, after, ""
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
	if p.onLine != nil {
		p.onLine(p.secrets.Redact(text))
	}
	p.print("", text, "\n")
}

// Doing reports a step that has no numbers.
func (p *Reporter) Doing(step string, left time.Duration) { p.Step(step, step, left) }

// trial reports a trial under way.
func (p *Reporter) trial(t trial.Progress) {
	if p.duet != nil {
		p.duet.together(p.name, t)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(t.Phase, fmt.Sprintf("%s  %-7s %5d users %7.0f ops/s  p95 %-8v errors %d%s", p.prefix, t.Phase, t.Active, t.OpsPerSecond,
		t.P95.Round(100*time.Microsecond), t.Errors, leftText(t.Left+p.after)), t.Left+p.after)
}

// together reports one of several trials that are under way side by side: all of them in one line, with the time that
// they need together.
func (p *Reporter) together(name string, t trial.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[name] = t
	var parts []string
	left := time.Duration(0)
	for _, name := range slices.Sorted(maps.Keys(p.runs)) {
		if r := p.runs[name]; r.Phase != "" {
			parts = append(parts, fmt.Sprintf("%s %.0f ops/s p95 %v", name, r.OpsPerSecond, r.P95.Round(100*time.Microsecond)))
			left += r.Left
		}
	}
	p.line(t.Phase, fmt.Sprintf("%s  %-7s %5d users each  %s%s", p.prefix, t.Phase, t.Active, strings.Join(parts, " | "), leftText(left+p.after)), left+p.after)
}

func leftText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return fmt.Sprintf("  %s left", d.Round(time.Second))
}

func (p *Reporter) line(phase, text string, left time.Duration) {
	if p.onStep != nil {
		p.onStep(phase, plain.Text(p.secrets.Redact(strings.TrimSpace(text))), left)
	}
	if p.terminal {
		p.print(rewind, plain.Text(text), "")
		p.open = true
		return
	}
	if now := time.Now(); phase != p.phase || now.Sub(p.last) >= p.every {
		p.phase, p.last = phase, now
		p.print("", plain.Sprintf("[%s] %s", time.Since(p.began).Round(time.Second), text), "\n")
	}
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

// Step is Doing with a text that changes within one phase, which is a plain line only now and then.
func (p *Reporter) Step(phase, text string, left time.Duration) {
	if p.duet != nil {
		p.duet.Step(phase, p.name+"  "+text, left)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(phase, fmt.Sprintf("%s  %s%s", p.prefix, text, leftText(left+p.after)), left+p.after)
}
