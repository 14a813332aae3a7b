package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"plimsoll/judge/limiter"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

// A result is one run of one fault, as it is stored.
type result struct {
	Fault      string   `json:"fault"`
	Number     int      `json:"number"` // of the run, from 1
	Right      []string `json:"right"`
	Limiter    string   `json:"limiter"` // first named; "" for none
	Confidence string   `json:"confidence,omitempty"`
	Doubts     []string `json:"doubts,omitempty"`
	Evidence   []string `json:"evidence,omitempty"`
	Others     []string `json:"others,omitempty"` // named after it, and why
	// readings at the capacity that were found innocent
	Exonerated int `json:"exonerated"`
	// the reading of a counter; "" means that the fault did not occur
	Injected string  `json:"injected,omitempty"`
	Problem  string  `json:"problem,omitempty"` // why there is no limiter
	Capacity string  `json:"capacity,omitempty"`
	Seconds  float64 `json:"seconds"`
	Run      string  `json:"run,omitempty"` // directory of the stored run
	Try      int     `json:"try,omitempty"` // of this number, from 1
	// Its begin as RFC 3339, and its machine in words.
	At      string `json:"at,omitempty"`
	Machine string `json:"machine,omitempty"`
	Commit  string `json:"commit,omitempty"`
}

// mostTries is how often a run is made before one that is void counts, and counts as wrong.
const mostTries = 4

// void reports whether the run is not evidence about the system, because the generator or its host
// was not healthy, and that was not the fault.
func (r result) void() bool {
	return (r.Limiter == limiter.LimitGenerator || r.Limiter == limiter.LimitHost) &&
		!slices.Contains(r.Right, r.Limiter)
}

// last reports whether the run is not made again.
func (r result) last() bool { return r.Try >= mostTries }

// ok reports whether the limiter was right first. A run without an injected fault is not a hit.
func (r result) ok() bool { return r.Injected != "" && slices.Contains(r.Right, r.Limiter) }

// line is the result for people.
func (r result) line() string {
	mark := "wrong"
	if r.ok() {
		mark = "right"
	} else if r.void() && !r.last() {
		mark = "void"
	} else if r.Limiter == limiter.LimitUnknown || r.Limiter == limiter.LimitNone {
		mark = "unnamed"
	}
	return strings.TrimSpace(fmt.Sprintf(
		"%s %d: %s (%s) %s; capacity %s; injected: %s; %.0f s %s",
		r.Fault,
		r.Number,
		r.Limiter,
		r.Confidence,
		mark,
		r.Capacity,
		r.Injected,
		r.Seconds,
		r.Problem,
	))
}

var planText = template.Must(template.New("plan").Parse(`name: fault-{{.Name}}
seed: {{.Seed}}
target: {driver: external, url: "{{.URL}}", ready: /api/v4/system/ping}
placement: {generator: [1]}
{{- if .Busy}}
gates: {lag: {red: 2s}, late: {red: 100%}, cpu: {red: 100%}, core: {red: 100%}, sched: {red: 1s}, inbox: {red: 10s}, steal: {red: 100%}, target_steal: {red: 100%}}
{{- end}}
probes:
{{- range .Probes}}
  - {{.}}
{{- end}}
workload:
  behavior: poster
  share: {{.Posters}}
  with: {mattermost: {{.Persons}}%}
  pace: 0.1
  login: warm
  params: {channels: "20", speed: "2"}
unbounded:
  max_users: {{.Most}}
  start: {{.Start}}
  budget: {{.Budget}}
  ramp_rate: 0.8%
  slo:
    - p99(op) < 2s
    - mean(op) < 100ms
    - p95(delivery) < 500ms
    - rate(errors) < 0.1% min 1000
    - rate(5xx) < 0.1% min 1000
    - rate(timeout) < 0.1% min 1000
    - rate(dial) < 0.1% min 1000
`))

// plan writes the plan of a run.
func (f fault) plan(path, url string, seed int, probes []string, b bench) error {
	posters := f.posters
	if posters == "" {
		posters = "90%"
	}
	var n int
	if _, err := fmt.Sscanf(posters, "%d%%", &n); err != nil {
		return err
	}
	var text bytes.Buffer
	err := planText.Execute(&text, map[string]any{
		"Name":    f.name,
		"Seed":    seed,
		"URL":     url,
		"Probes":  probes,
		"Posters": posters,
		"Persons": 100 - n,
		"Most":    f.most,
		"Start":   f.start,
		"Budget":  b.budget.String(),
		"Busy":    b.busy && f.name != "generator",
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// probes lists the probes of the plan.
func (t *topology) probes() []string {
	var out []string
	for _, page := range t.metrics() {
		out = append(out, fmt.Sprintf(`{kind: prometheus, role: app, url: %q}`, page))
	}
	return append(
		append(out, `{kind: postgresql, role: db, dsn: "${ENV:FAULTS_DSN}"}`),
		t.watched...)
}

// A bench holds the values that all runs share.
type bench struct {
	program string // plimsoll
	dir     string // of results, runs and state during a run
	budget  time.Duration
	// the machine does other work: the generator's gates are open, and results count for nothing
	busy bool
	log  func(format string, args ...any)
}

// once builds the topology, injects the fault, searches for the capacity, and takes everything
// down. An error means that the suite itself failed; a fault that was not there, and a search that
// named nothing, are in the result.
func (b bench) once(ctx context.Context, f fault, number int) (r result, err error) {
	began := time.Now()
	r = result{
		Fault:   f.name,
		Number:  number,
		Right:   f.right,
		At:      began.UTC().Format(time.RFC3339),
		Machine: study.Machine(),
		Commit:  study.Revision(),
	}
	defer func() { r.Seconds = time.Since(began).Seconds() }()
	// Commits wait for no disk unless that is the fault: the host's is shared with other programs.
	l := layout{
		dbWith:   map[string]string{"synchronous_commit": "off"},
		keep:     256,
		slots:    8192,
		settings: map[string]string{},
	}
	if f.change != nil {
		f.change(&l)
	}
	t, err := build(ctx, filepath.Join(b.dir, "live"), b.program, l)
	defer func() { err = errors.Join(err, t.down(context.WithoutCancel(ctx))) }()
	if err != nil {
		return r, err
	}
	if f.inject != nil {
		if err := f.inject(ctx, t); err != nil {
			r.Problem = "not injectable here: " + err.Error()
			return r, nil
		}
	}
	if err := t.watch(ctx); err != nil {
		return r, err
	}
	if err := b.measure(ctx, t, f, &r); err != nil {
		return r, err
	}
	if r.Injected, err = f.took(ctx, t); err != nil {
		r.Injected = ""
		r.Problem = strings.TrimSpace("not injected: " + err.Error() + " " + r.Problem)
		err = nil
	}
	return r, err
}

// measure runs plimsoll on the generator's side and reads its output.
func (b bench) measure(ctx context.Context, t *topology, f fault, r *result) error {
	planPath := filepath.Join(t.dir, "plan.yaml")
	if err := f.plan(planPath, t.url(), r.Number, t.probes(), b); err != nil {
		return err
	}
	dsn, err := t.DSN(t.WatchAddr("db"))
	if err != nil {
		return err
	}
	var out, talk lab.Transcript
	// ip shows the namespace's own devices in /sys, from which the generator reads its network
	// card.
	args := []string{
		"netns",
		"exec",
		t.Side.Name(),
		b.program,
		"capacity",
		"-json",
		"-calibrate=false",
		"-store=" + filepath.Join(b.dir, "runs"),
		"-fleet-listen=" + t.joinAt(),
		"-fleet-keys=" + t.fleetKeys(),
		planPath,
	}
	p, err := lab.Start(ctx, lab.Spec{
		Name: "plimsoll", Path: "ip", Args: args,
		Env:    append(os.Environ(), "FAULTS_DSN="+dsn, "PLIMSOLL_ADMIN_PASSWORD="+adminPassword),
		Stdout: &out, Stderr: &talk, StopTimeout: 10 * time.Second,
	})
	if err != nil {
		return err
	}
	limit := time.NewTimer(b.budget + 60*time.Second)
	defer limit.Stop()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for late, running := f.late, true; running; {
		select {
		case <-p.Done():
			running = false
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), p.Stop(context.WithoutCancel(ctx)))
		case <-limit.C:
			r.Problem = "plimsoll did not end in time: " + last(talk.String(), 3)
			return p.Stop(ctx)
		case <-look.C:
			if late == nil || !strings.Contains(talk.String(), "search from") {
				continue
			}
			if err := late(ctx, t); err != nil {
				r.Problem = "not injectable here: " + err.Error()
				return p.Stop(ctx)
			}
			late = nil
		}
	}
	if err := r.read([]byte(out.String())); err != nil {
		r.Problem = fmt.Sprintf("%v; %s", err, last(talk.String(), 6))
	}
	return nil
}

// read takes the scored values from the run's JSON.
func (r *result) read(text []byte) error {
	var doc struct {
		Manifest struct {
			ID       string `json:"id"`
			Capacity *struct {
				Kind  string  `json:"kind"`
				Users float64 `json:"users"`
			} `json:"capacity"`
		} `json:"manifest"`
		Limiter *limiter.Limiter `json:"limiter"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("plimsoll wrote no JSON: %w", err)
	}
	r.Run = doc.Manifest.ID
	if c := doc.Manifest.Capacity; c != nil {
		r.Capacity = fmt.Sprintf("%s %.0f", c.Kind, c.Users)
	}
	if doc.Limiter == nil {
		return errors.New("no limiter in the run's document")
	}
	l := doc.Limiter
	r.Limiter = l.Name
	r.Confidence = l.Confidence
	r.Doubts = l.Doubts
	for _, e := range l.Evidence {
		r.Evidence = append(r.Evidence, e.Text())
	}
	if len(l.Evidence) == 0 {
		r.Evidence = []string{l.Sentence}
	}
	r.Exonerated = len(l.Exonerated)
	for _, o := range l.Others {
		r.Others = append(r.Others, o.Name+": "+o.Why)
	}
	return nil
}

// last returns the last lines of a text.
func last(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}
