package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/judge/stats"
	"plimsoll/judge/verdict"
	"plimsoll/report"
)

// The arms beside the base.
const (
	armSame  = "same"
	armQuota = "quota"
	armSlow  = "slow"
)

// slowed is the operation that the arm slow delays. A delivery counts from the moment at which its post was sent, so
// it is as late.
const (
	slowed    = "post"
	delivered = "delivery"
)

// An outcome holds the findings of one comparison.
type outcome struct {
	comparison
	At     time.Time `json:"at"`
	Commit string    `json:"commit"`
	Host   string    `json:"host"`
	// Plan is the digest of the plan, before engine and seed, and of the rules that explain findings: an outcome
	// under others does not count.
	Plan   string `json:"plan"`
	ID     string `json:"comparison"`
	Status int    `json:"exit_status"`
	Blocks int    `json:"blocks_judged"`
	Voided int    `json:"blocks_voided"`
	Arms   []said `json:"arms"`
}

// said holds the findings about one arm against the base.
type said struct {
	Arm  string       `json:"arm"`
	Kind verdict.Kind `json:"kind"`
	Lead string       `json:"lead"`
	// Worse names the primary endpoints that were judged so.
	Worse []string `json:"worse,omitempty"`
	// Tested counts the further metrics, Found names those with a finding.
	Tested int      `json:"further_tested"`
	Found  []string `json:"further_found,omitempty"`
}

// void reports whether the host voided too many blocks for a verdict, regardless of the numbers: it is kept, counted
// as void, and made again.
func (o outcome) void() bool { return o.Blocks < stats.MinPairs }

// counts reports whether the outcome is of the present plan and rules, and not void.
func (o outcome) counts() bool { return o.Plan == planDigest() && !o.void() }

func (o *outcome) read(doc report.Document) {
	o.ID, o.Blocks, o.Voided = doc.Comparison, doc.State.Judged, len(doc.Voided)
	for _, f := range doc.Verdicts {
		s := said{Arm: f.Arm, Kind: f.Verdict.Kind, Lead: f.Verdict.Lead}
		for _, r := range f.Verdict.Results {
			if r.Kind == verdict.Worse {
				s.Worse = append(s.Worse, r.Name)
			}
		}
		if f.Secondary != nil {
			s.Tested = f.Secondary.Tested
			for _, m := range slices.Concat(f.Secondary.Worsened, f.Secondary.Improved) {
				s.Found = append(s.Found, m.Name)
			}
		}
		o.Arms = append(o.Arms, s)
	}
}

// right reports whether an arm was judged as it had to be.
func (s said) right() bool {
	switch s.Arm {
	case armSame:
		return s.Kind != verdict.Worse && s.Kind != verdict.Better
	case armQuota:
		return s.Kind == verdict.Worse && slices.Contains(s.Worse, "capacity")
	case armSlow:
		return s.Kind == verdict.Worse && slices.Contains(s.Worse, "p95(post)")
	}
	return false
}

// throughput are the metrics that follow the users' pace. Those of the arm slow wait 20 ms longer for each post and
// think as long as ever, so they ask for 3 to 4 % less.
var throughput = []string{"requests served", "CPU of app", "CPU of db"}

// inside are the store methods that the target calls for posts and for nothing else that these users do, so they are
// a part of the slowed work: after the wait of 20 ms their statements meet another company in the database.
// TestInside checks that on the target.
var inside = []string{
	"ChannelStore.Get", "ChannelStore.GetMember", "FileInfoStore.AttachToPost", "FileInfoStore.GetForPost", "PostStore.Save",
	"TeamStore.Get", "WebhookStore.GetOutgoingByTeam",
}

// ofPosting reports whether a further metric is about the posts that the arm slow delays, or follows from how often
// its users post.
func ofPosting(name string) bool {
	_, method, store := strings.Cut(strings.TrimSuffix(name, ")"), "store ")
	if store {
		return slices.Contains(inside, method)
	}
	return strings.Contains(name, slowed) || strings.Contains(name, delivered) || slices.Contains(throughput, name)
}

// stray are the findings among further metrics that no planted difference explains.
func (s said) stray() (out []string) {
	for _, name := range s.Found {
		if s.Arm == armSame || s.Arm == armSlow && !ofPosting(name) {
			out = append(out, name)
		}
	}
	return out
}

func (o outcome) text() string {
	var b strings.Builder
	if o.void() {
		return fmt.Sprintf("%s seed %d: void, %d blocks judged and %d voided: the host was not quiet; it will be made again\n", o.Engine, o.Seed, o.Blocks, o.Voided)
	}
	fmt.Fprintf(&b, "%s seed %d: %d blocks judged, %d voided\n", o.Engine, o.Seed, o.Blocks, o.Voided)
	for _, s := range o.Arms {
		fmt.Fprintf(&b, "  %-5s %s: %s\n", s.Arm, map[bool]string{true: "right", false: "WRONG"}[s.right()], s.Lead)
	}
	return b.String()
}

// tally sums up an arm over an engine's comparisons.
type tally struct {
	engine, arm            string
	comparisons, right     int
	tested, found, strayed int
}

type scored struct {
	rows    []tally
	missing int // comparisons that were not made yet, or were void
	made    int
	voided  int
	earlier int // of earlier plans or rules
	// falseLines of lines report a difference of the same build: an endpoint's line of the arm same.
	falseLines, lines int
}

func score(done []outcome) scored {
	var s scored
	for _, c := range planned() {
		if !has(done, c) {
			s.missing++
		}
	}
	for _, o := range done {
		switch {
		case o.Plan != planDigest():
			s.earlier++
			continue
		case o.void():
			s.voided++
			continue
		}
		s.made++
		for _, a := range o.Arms {
			i := slices.IndexFunc(s.rows, func(t tally) bool { return t.engine == o.Engine && t.arm == a.Arm })
			if i < 0 {
				s.rows = append(s.rows, tally{engine: o.Engine, arm: a.Arm})
				i = len(s.rows) - 1
			}
			t := &s.rows[i]
			t.comparisons++
			t.tested += a.Tested
			t.found += len(a.Found)
			t.strayed += len(a.stray())
			if a.right() {
				t.right++
			}
			if a.Arm == armSame {
				s.lines++
				if !a.right() {
					s.falseLines++
				}
			}
		}
	}
	return s
}

func (s scored) table() string {
	var b strings.Builder
	fmt.Fprintln(&b, "| database | arm | comparisons | judged rightly | further metrics tested | with a finding | of those unexplained |")
	fmt.Fprintln(&b, "|---|---|--:|--:|--:|--:|--:|")
	for _, t := range s.rows {
		stray := fmt.Sprint(t.strayed)
		if t.arm == armQuota {
			stray = "–" // less CPU time touches everything
		}
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %d | %d | %s |\n", t.engine, t.arm, t.comparisons, t.right, t.tested, t.found, stray)
	}
	return b.String()
}

// verdict is nil when all comparisons were made and the tool was as right as it has to be: at most one false line,
// every loss and every slow operation found.
func (s scored) verdict() error {
	var wrong []string
	if s.missing > 0 {
		wrong = append(wrong, fmt.Sprintf("%d comparisons are still to be made; start again to go on", s.missing))
	}
	if s.falseLines > 1 {
		wrong = append(wrong, fmt.Sprintf("%d of %d comparisons of a build with itself were judged different, at most 1 may be", s.falseLines, s.lines))
	}
	for _, t := range s.rows {
		if t.arm != armSame && t.right < t.comparisons {
			wrong = append(wrong, fmt.Sprintf("%s, %s: found in %d of %d comparisons", t.engine, t.arm, t.right, t.comparisons))
		}
		if t.arm == armSlow && float64(t.strayed) > verdict.FalseDiscoveries*float64(max(t.found, 1)) {
			wrong = append(wrong, fmt.Sprintf("%s, %s: %d of %d findings are elsewhere, more than %.0f %%", t.engine, t.arm, t.strayed, t.found, 100*verdict.FalseDiscoveries))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

func has(done []outcome, c comparison) bool {
	return slices.ContainsFunc(done, func(o outcome) bool { return o.comparison == c && o.counts() })
}

// outcomesFile has a line for each comparison that was made.
const outcomesFile = "outcomes.jsonl"

func load(dir string) ([]outcome, error) {
	return files.ReadJSONLines[outcome](filepath.Join(dir, outcomesFile))
}

// keep appends the outcome of a comparison to the outcomes in docs, and leaves its end screen in the store.
func keep(docs, store string, o outcome, doc report.Document) error {
	if err := errors.Join(os.MkdirAll(docs, 0o755), os.MkdirAll(store, 0o755)); err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "command: make acceptance\ncomparison: %s, seed %d\ncommit: %s\nhost: %s\nexit status: %d\n\n", o.Engine, o.Seed, o.Commit, o.Host, o.Status)
	if err := report.Screen(&b, doc, 100); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s", o.text())
	for _, s := range o.Arms {
		fmt.Fprintf(&b, "  %s: %d further metrics tested; with a finding: %s\n", s.Arm, s.Tested, strings.Join(s.Found, ", "))
	}
	name := fmt.Sprintf("%s-%s-seed%d.txt", o.At.Format("20060102-150405"), o.Engine, o.Seed)
	if err := os.WriteFile(filepath.Join(store, name), b.Bytes(), 0o644); err != nil {
		return err
	}
	line, err := json.Marshal(o)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(docs, outcomesFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// Marks around the table in the README beside the outcomes.
const (
	tableBegins = "<!-- table of cmd/acceptance -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// write puts the table into the README beside the outcomes.
func write(dir string, s scored) error {
	file := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), tableBegins)
	_, tail, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table: the lines %q and %q", file, strings.TrimSpace(tableBegins), strings.TrimSpace(tableEnds))
	}
	sum := fmt.Sprintf("%d of %d comparisons were made; besides, %d were void and %d were of earlier plans or rules.\n\n", s.made, s.made+s.missing, s.voided, s.earlier)
	return os.WriteFile(file, []byte(head+tableBegins+sum+s.table()+tableEnds+tail), 0o644)
}
