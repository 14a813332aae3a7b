package main

import (
	"bytes"
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
	"plimsoll/studies/study"
)

// The kinds of comparisons, by the difference of the new arm from the base.
const (
	kindSame  = "same"
	kindQuota = "quota"
	kindSlow  = "slow"
	kindCost  = "cost"
)

var kinds = []string{kindSame, kindQuota, kindSlow, kindCost}

// key is the endpoint that must be worse in the comparisons of a kind; "" where the verdict must be same.
var key = map[string]string{kindSame: "", kindQuota: "capacity", kindSlow: "p95(post)", kindCost: "cost(app)"}

// leastSame is how many of the rounds must judge a build the same as itself. All other comparisons must be right.
const leastSame = 5

// mostTime is how long a comparison may take.
const mostTime = 10 * time.Minute

// slowed is the operation that the arm of [kindSlow] delays. A delivery counts from the moment at which its post was
// sent, so it is as late.
const (
	slowed    = "post"
	delivered = "delivery"
)

// An outcome holds the findings of one comparison.
type outcome struct {
	comparison
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Machine string    `json:"machine"`
	Mode    string    `json:"mode"`
	// Plan is the digest of the plan, before the seed, and of the rules that explain findings: an outcome under others
	// does not count.
	Plan   string `json:"plan"`
	ID     string `json:"comparison"`
	Status int    `json:"exit_status"`
	// Seconds is the wall-clock time; of a comparison that was resumed, that of its last part.
	Seconds   float64 `json:"seconds"`
	Resumed   bool    `json:"resumed,omitempty"`
	Blocks    int     `json:"blocks_judged"`
	Voided    int     `json:"blocks_voided"`
	Databases []said  `json:"databases"`
}

// said holds the findings on one database.
type said struct {
	Engine    string       `json:"engine"`
	Kind      verdict.Kind `json:"kind"`
	Lead      string       `json:"lead"`
	Endpoints []endpoint   `json:"endpoints"`
	// Tested counts the further metrics, Found names those with a finding.
	Tested int      `json:"further_tested"`
	Found  []string `json:"further_found,omitempty"`
}

// An endpoint is a primary one with its effect, new/base - 1 or percentage points, and the interval.
type endpoint struct {
	Name   string        `json:"name"`
	Kind   verdict.Kind  `json:"kind"`
	Pairs  int           `json:"pairs"`
	Margin float64       `json:"margin"`
	Effect report.Number `json:"effect"`
	Lo     report.Number `json:"lo"`
	Hi     report.Number `json:"hi"`
}

// void reports whether too many blocks were voided for a verdict, and none of them for what the target did: such an
// outcome is kept, counted as void, and made again.
func (o outcome) void() bool {
	failed := slices.ContainsFunc(o.Databases, func(s said) bool { return s.endpoint(verdict.FailedRuns) != nil })
	return o.Blocks < stats.MinPairs && !failed
}

// counts reports whether the outcome is of the present plan and rules, and not void.
func (o outcome) counts() bool { return o.Plan == digest(o.Kind) && !o.void() }

func (o *outcome) read(doc report.Document) {
	o.ID, o.Blocks, o.Voided = doc.Comparison, doc.State.Judged, len(doc.Voided)
	for _, f := range doc.Verdicts {
		s := said{Engine: f.Engine, Kind: f.Verdict.Kind, Lead: f.Verdict.Lead}
		for _, r := range f.Verdict.Results {
			s.Endpoints = append(s.Endpoints, endpoint{r.Name, r.Kind, r.N, r.Margin, report.Number(r.Effect), report.Number(r.Lo), report.Number(r.Hi)})
		}
		if f.Secondary != nil {
			s.Tested = f.Secondary.Tested
			for _, m := range slices.Concat(f.Secondary.Worsened, f.Secondary.Improved) {
				s.Found = append(s.Found, m.Name)
			}
		}
		o.Databases = append(o.Databases, s)
	}
}

// endpoint returns the primary endpoint of a name, nil if there is none.
func (s said) endpoint(name string) *endpoint {
	i := slices.IndexFunc(s.Endpoints, func(e endpoint) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Endpoints[i]
}

// right reports whether every database was judged as it had to be.
func (o outcome) right() bool {
	return len(o.Databases) > 0 && !slices.ContainsFunc(o.Databases, func(s said) bool { return !s.right(o.Kind) })
}

func (s said) right(kind string) bool {
	if kind == kindSame {
		return s.Kind == verdict.Same
	}
	e := s.endpoint(key[kind])
	return s.Kind == verdict.Worse && e != nil && e.Kind == verdict.Worse
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

// stray are the findings among further metrics that no planted difference explains. Less CPU time and more of it for a
// request touch everything.
func (s said) stray(kind string) (out []string) {
	for _, name := range s.Found {
		if kind == kindSame || kind == kindSlow && !ofPosting(name) {
			out = append(out, name)
		}
	}
	return out
}

func (o outcome) text() string {
	var b strings.Builder
	place := fmt.Sprintf("%s, seed %d, %s", o.Kind, o.Seed, o.Host)
	if o.void() {
		return fmt.Sprintf("%s: void, %d blocks judged and %d voided: the host was not quiet; it will be made again\n", place, o.Blocks, o.Voided)
	}
	fmt.Fprintf(&b, "%s: %d blocks judged, %d voided, %.0f s\n", place, o.Blocks, o.Voided, o.Seconds)
	for _, s := range o.Databases {
		fmt.Fprintf(&b, "  %s %s: %s\n", s.Engine, map[bool]string{true: "right", false: "WRONG"}[s.right(o.Kind)], s.Lead)
	}
	return b.String()
}

// A tally sums up the comparisons of a kind on a kind of host.
type tally struct {
	made, right    int
	verdicts       map[verdict.Kind]int // by database
	longest        float64              // seconds
	found, strayed int
	void, earlier  int // do not count
}

func tallyOf(done []outcome, kind, host string) tally {
	t := tally{verdicts: map[verdict.Kind]int{}}
	for _, o := range done {
		switch {
		case o.Kind != kind || o.Host != host:
			continue
		case o.Plan != digest(kind):
			t.earlier++
			continue
		case o.void():
			t.void++
			continue
		}
		t.made++
		if o.right() {
			t.right++
		}
		t.longest = max(t.longest, o.Seconds)
		for _, s := range o.Databases {
			t.verdicts[s.Kind]++
			t.found += len(s.Found)
			t.strayed += len(s.stray(kind))
		}
	}
	return t
}

// tables writes the tables of the outcomes: the tallies, and every comparison.
func tables(done []outcome) string {
	var b strings.Builder
	fmt.Fprintln(&b, "| comparison | host | made | **right** | databases: same | worse | better | inconclusive | invalid | longest | void | earlier plans |")
	fmt.Fprintln(&b, "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
	for _, host := range []string{study.Quiet, study.Neighbor} {
		for _, k := range kinds {
			t := tallyOf(done, k, host)
			if host == study.Neighbor && t.made+t.void+t.earlier == 0 {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %d of %d | **%d** |", k, host, t.made, rounds, t.right)
			for _, v := range []verdict.Kind{verdict.Same, verdict.Worse, verdict.Better, verdict.Inconclusive, verdict.Invalid} {
				fmt.Fprintf(&b, " %d |", t.verdicts[v])
			}
			longest := "–"
			if t.made > 0 {
				longest = seconds(t.longest)
			}
			fmt.Fprintf(&b, " %s | %d | %d |\n", longest, t.void, t.earlier)
		}
	}
	if len(done) == 0 {
		return b.String()
	}
	fmt.Fprintln(&b, "\n| date (UTC) | commit | comparison | seed | host | time | database | verdict | primary endpoints | further metrics with a finding |")
	fmt.Fprintln(&b, "|---|---|---|--:|---|--:|---|---|---|---|")
	for _, o := range done {
		for _, s := range o.Databases {
			verdict := string(s.Kind)
			switch {
			case o.Plan != digest(o.Kind):
				verdict += " (earlier plan)"
			case o.void():
				verdict += " (void)"
			case !s.right(o.Kind):
				verdict += " (**wrong**)"
			}
			var primary []string
			for _, e := range s.Endpoints {
				primary = append(primary, e.text())
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s | %s | %s | %s | %d of %d |\n", o.At.Format("2006-01-02 15:04"), o.Commit, o.Kind, o.Seed, o.Host, seconds(o.Seconds),
				s.Engine, verdict, strings.Join(primary, "; "), len(s.Found), s.Tested)
		}
	}
	return b.String()
}

// text is the endpoint with its effect, interval and conclusion.
func (e endpoint) text() string {
	switch {
	case !e.Effect.Known():
		return e.Name + " " + string(e.Kind)
	case e.Name == "errors":
		return fmt.Sprintf("%s %+.2f points, %s", e.Name, float64(e.Effect), e.Kind)
	case !e.Lo.Known() || !e.Hi.Known():
		return fmt.Sprintf("%s %+.1f %%, %s", e.Name, 100*float64(e.Effect), e.Kind)
	}
	return fmt.Sprintf("%s %+.1f %% [%+.1f, %+.1f], %s", e.Name, 100*float64(e.Effect), 100*float64(e.Lo), 100*float64(e.Hi), e.Kind)
}

// seconds writes a time as 8 min 05 s.
func seconds(s float64) string { return fmt.Sprintf("%d min %02d s", int(s)/60, int(s)%60) }

// judge is nil when all comparisons were made on a quiet host and the tool was as right as it has to be: the same build
// the same in five of six rounds, every loss, every slow operation and every cost found, each within ten minutes.
func judge(done []outcome) error {
	var wrong []string
	left := 0
	for _, k := range kinds {
		t := tallyOf(done, k, study.Quiet)
		left += rounds - min(rounds, t.made)
		switch most := rounds - leastSame; {
		case k == kindSame && t.made-t.right > most:
			wrong = append(wrong, fmt.Sprintf("%s: %d of %d comparisons were not the same on every database, at most %d may be", k, t.made-t.right, t.made, most))
		case k != kindSame && t.right < t.made:
			wrong = append(wrong, fmt.Sprintf("%s: found on every database in %d of %d comparisons", k, t.right, t.made))
		}
		if k == kindSlow && float64(t.strayed) > verdict.FalseDiscoveries*float64(max(t.found, 1)) {
			wrong = append(wrong, fmt.Sprintf("%s: %d of %d findings are elsewhere, more than %.0f %%", k, t.strayed, t.found, 100*verdict.FalseDiscoveries))
		}
		if t.longest > mostTime.Seconds() {
			wrong = append(wrong, fmt.Sprintf("%s: a comparison took %s, more than %v", k, seconds(t.longest), mostTime))
		}
	}
	if left > 0 {
		wrong = append(wrong, fmt.Sprintf("%d comparisons are still to be made; start again to go on", left))
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
const outcomesFile = "duets.jsonl"

func load(dir string) ([]outcome, error) {
	return files.ReadJSONLines[outcome](filepath.Join(dir, outcomesFile))
}

// keep appends the outcome of a comparison to the outcomes in a directory, and leaves its end screen in the store.
func keep(dir, store string, o outcome, doc report.Document) error {
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.MkdirAll(store, 0o755)); err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "command: make acceptance\ncomparison: %s, seed %d, %s host\ncommit: %s\nmachine: %s\nexit status: %d\n\n", o.Kind, o.Seed, o.Host, o.Commit, o.Machine, o.Status)
	if err := report.Screen(&b, doc, 100); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s", o.text())
	for _, s := range o.Databases {
		fmt.Fprintf(&b, "  %s: %d further metrics tested; with a finding: %s\n", s.Engine, s.Tested, strings.Join(s.Found, ", "))
	}
	name := fmt.Sprintf("%s-%s-%s-seed%d.txt", o.At.Format("20060102-150405"), o.Kind, o.Host, o.Seed)
	if err := os.WriteFile(filepath.Join(store, name), b.Bytes(), 0o644); err != nil {
		return err
	}
	return study.Append(filepath.Join(dir, outcomesFile), o)
}

// The page of the outcomes, and its parts.
const (
	page        = "README.md"
	comparisons = "tables of the comparisons"
	demosPart   = "tables of the demos"
)
