package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"plimsoll/plain"
	"plimsoll/trial"
)

// A ticker of progress for people: one line that is written over on a terminal, a plain line now and then elsewhere.
type progress struct {
	mu       sync.Mutex
	w        io.Writer // without a gate: the line that is written over needs control characters, and text goes through plain
	secrets  *plain.Secrets
	terminal bool
	every    time.Duration // between plain lines of one phase
	last     time.Time
	phase    string
	prefix   string        // of what is going on: "block 2/6 new mysql"
	after    time.Duration // that is still to come when the present trial is over
	began    time.Time
	open     bool // a line is being written over
}

func (a *app) newProgress() *progress {
	_, w := a.raw()
	return &progress{w: w, secrets: a.secrets, terminal: a.terminal, every: 10 * time.Second, began: time.Now()}
}

// what says what is going on, and how much time comes after it.
func (p *progress) what(prefix string, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prefix, p.after, p.phase = prefix, after, ""
}

// say writes a line that stays.
func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.print("", plain.Sprintf(format, args...), "\n")
}

// doing tells of a step that has no numbers.
func (p *progress) doing(step string, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(step, fmt.Sprintf("%s  %s%s", p.prefix, step, leftText(left+p.after)))
}

// trial tells of a trial under way.
func (p *progress) trial(t trial.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(t.Phase, fmt.Sprintf("%s  %-7s %5d users %7.0f ops/s  p95 %-8v errors %d%s", p.prefix, t.Phase, t.Active, t.OpsPerSecond,
		t.P95.Round(100*time.Microsecond), t.Errors, leftText(t.Left+p.after)))
}

func leftText(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return fmt.Sprintf("  %s left", d.Round(time.Second))
}

func (p *progress) line(phase, text string) {
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

// rewind begins the line of a terminal anew.
const rewind = "\r\x1b[K"

// print writes text, without its secrets, between what is ours.
func (p *progress) print(lead, text, end string) {
	_, _ = io.WriteString(p.w, lead+plain.Lines(p.secrets.Redact(text))+end) // who watches has gone
}

func (p *progress) clear() {
	if p.open {
		p.print(rewind, "", "")
		p.open = false
	}
}

// end leaves the terminal on a fresh line.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// step is doing with a text that changes within one phase, which is a plain line only now and then.
func (p *progress) step(phase, text string, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(phase, fmt.Sprintf("%s  %s%s", p.prefix, text, leftText(left+p.after)))
}
