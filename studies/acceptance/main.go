// Command acceptance compares real servers whose differences are known, and scores the verdicts of plimsoll.
//
// Each comparison is a duet of a base and one other arm: the same build again, one with nine tenths of the CPU time,
// one whose posts take 20 ms longer, or one that spends a twentieth more CPU time on each request. Six rounds make
// each of them once. Every comparison leaves its outcome in studies/results/acceptance, also a wrong, a void or a broken one: none
// is discarded, and none is repeated until it fits. Its end screen stays in the store. A later start goes on where the
// last one ended, with the comparison that was cut short.
//
// "acceptance demos" makes demos (scripts/demo.sh) in the same way, and keeps the last line of each.
package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/run/record"
	"plimsoll/studies/study"
)

// memory is where files lie in memory. Disks of rented machines are shared: a commit may wait for a second because of
// a neighbor, which is not a difference of the arms, and which no gate can see, since a slow disk is the target's.
const memory = "/dev/shm"

var (
	//go:embed plan.yaml
	planText string
	//go:embed quota.yaml
	quotaText string
)

func main() { study.Main(run) }

// defaultResults is where outcomes and tables are kept.
const defaultResults = study.Results + "/acceptance"

// A bench runs comparisons.
type bench struct {
	program, neighbor, store, results string
	commit                            string
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "demos" {
		return demos(ctx, args[1:])
	}
	fs := flag.NewFlagSet("acceptance", flag.ContinueOnError)
	var b bench
	fs.StringVar(&b.program, "program", "bin/plimsoll", "`path` of plimsoll")
	fs.StringVar(&b.neighbor, "neighbor", "", "`path` of a neighbor, built from bench/neighbor, that disturbs the target's core; its outcomes are counted apart (default none)")
	fs.StringVar(&b.store, "store", filepath.Join(memory, "plimsoll-acceptance"), "`directory` of the runs, databases and end screens, best in memory; a comparison that was cut short is continued from it")
	fs.StringVar(&b.results, "results", defaultResults, "`directory` of the outcomes")
	budget := fs.Duration("budget", 0, "begin no comparison that would end after this `time` from now; 0 is without end")
	only := fs.String("only", "", "comparisons of this `kind` alone: same, quota, slow or cost (default all)")
	most := fs.Int("rounds", rounds, "make the comparisons of at most so many `rounds` now, those that are missing first")
	table := fs.Bool("table", false, "run nothing: write the tables of the outcomes that there are")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	switch {
	case *only != "" && !slices.Contains(kinds, *only):
		return fmt.Errorf("-only %s: want %s", *only, strings.Join(kinds, ", "))
	case *most < 1:
		return fmt.Errorf("-rounds %d: want 1 or more", *most)
	}
	b.commit = study.Revision()
	done, err := load(b.results)
	if err != nil {
		return err
	}
	began, longest := time.Now(), time.Duration(0)
	for _, c := range missing(done, study.Host(b.neighbor), *only, *most) {
		if *table || *budget > 0 && time.Since(began)+longest > *budget {
			break
		}
		start := time.Now()
		o, err := b.compare(ctx, c)
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", c.Kind, c.Seed, err)
		}
		longest = max(longest, time.Since(start))
		done = append(done, o)
		fmt.Print(o.text())
	}
	if err := study.Insert(filepath.Join(b.results, page), comparisons, tables(done)); err != nil {
		return err
	}
	fmt.Print(tables(done))
	return judge(done)
}

// A comparison is one that is to be made.
type comparison struct {
	Kind string `json:"kind"`
	Seed uint64 `json:"seed"` // of the round, 1 to rounds
	Host string `json:"host"` // quiet: plimsoll disturbs it not; neighbor: bench/neighbor does
}

// rounds is how often each comparison is made.
const rounds = 6

// planned are the comparisons on a kind of host, by rounds.
func planned(host string) (out []comparison) {
	for seed := uint64(1); seed <= rounds; seed++ {
		for _, k := range kinds {
			out = append(out, comparison{k, seed, host})
		}
	}
	return out
}

// missing are the planned comparisons without an outcome that counts, of one kind or of all (""), and of each kind
// the first most.
func missing(done []outcome, host, only string, most int) (out []comparison) {
	begun := map[string]int{}
	for _, c := range planned(host) {
		if only != "" && c.Kind != only || has(done, c) || begun[c.Kind] == most {
			continue
		}
		begun[c.Kind]++
		out = append(out, c)
	}
	return out
}

// arms are the new arms of the comparisons.
var arms = map[string]string{
	kindSame:  "{version: the same build}",
	kindQuota: "{version: nine tenths of the CPU, deployment: {cpus: 90%}}",
	kindSlow:  `{version: posts 20 ms slower, args: ["-fault=slow-post:60ms"]}`,
	kindCost:  `{version: 5 % more CPU time, args: ["-fault=cpu:5%"]}`,
}

// engine is the database of a quota, which has time for one: in turn.
func (c comparison) engine() string { return []string{"mysql", "postgresql"}[c.Seed%2] }

func (c comparison) name() string {
	if c.Host == study.Neighbor {
		return "acceptance-" + c.Kind + "-" + study.Neighbor
	}
	return "acceptance-" + c.Kind
}

func (c comparison) plan() string {
	text := planText
	if c.Kind == kindQuota {
		text = quotaText
	}
	return strings.NewReplacer("SEED", strconv.FormatUint(c.Seed, 10), "ENGINE", c.engine(), "NAME", c.name(), "ARM", arms[c.Kind]).Replace(text)
}

// digest stands for the plan of a kind of comparisons, whatever the round, and for the rules by which its findings are
// scored: a finding that is explained after it was seen would be no test.
func digest(kind string) string {
	sum := sha256.Sum256(fmt.Append([]byte(comparison{Kind: kind}.plan()), key[kind], inside, throughput))
	return hex.EncodeToString(sum[:8])
}

// compare runs one comparison, or goes on with it.
func (b bench) compare(ctx context.Context, c comparison) (outcome, error) {
	if err := os.MkdirAll(b.store, 0o755); err != nil {
		return outcome{}, err
	}
	args := []string{"-store", b.store}
	id := b.unfinished(c)
	if id != "" {
		args = append(args, "-resume", id)
	} else {
		file := b.file(c, "yaml")
		if err := errors.Join(os.WriteFile(file, []byte(c.plan()), 0o644), os.WriteFile(b.file(c, "rules"), []byte(digest(c.Kind)), 0o644)); err != nil {
			return outcome{}, err
		}
		args = append(args, file)
	}
	began := time.Now()
	doc, status, err := study.Compare(ctx, b.program, b.neighbor, c.Seed, args...)
	if err != nil {
		return outcome{}, err
	}
	o := outcome{comparison: c, At: began.UTC().Truncate(time.Second), Commit: b.commit, Machine: study.Machine(), Mode: plan.ModeDuet, Plan: digest(c.Kind),
		Status: status, Seconds: math.Round(time.Since(began).Seconds()), Resumed: id != ""}
	o.read(doc)
	return o, keep(b.results, b.store, o, doc)
}

// file is the file in the store with the inputs of a comparison: its plan, and the digest of plan and
// rules.
func (b bench) file(c comparison, kind string) string {
	return filepath.Join(b.store, fmt.Sprintf("%s-%s-%d.%s", c.Kind, c.Host, c.Seed, kind))
}

// unfinished returns the comparison of this kind, host and seed that was cut short, or "". One that began under another
// plan, or under other rules for its findings, is none.
func (b bench) unfinished(c comparison) string {
	if began, err := os.ReadFile(b.file(c, "rules")); err != nil || string(began) != digest(c.Kind) {
		return ""
	}
	// The pattern is good.
	files, _ := filepath.Glob(filepath.Join(b.store, "comparisons", "*", "comparison.json"))
	for _, f := range slices.Backward(files) { // rules are those of the last one that began
		var have record.Comparison
		data, err := os.ReadFile(f)
		if err != nil || json.Unmarshal(data, &have) != nil || have.State == record.Sealed {
			continue
		}
		if !strings.Contains(have.Plan, fmt.Sprintf("seed: %d\n", c.Seed)) || have.Name != c.name() {
			continue
		}
		if build, err := record.DigestFile(b.program); err != nil || build != have.Build {
			fmt.Fprintf(os.Stderr, "acceptance: comparison %s was cut and is of another build of plimsoll; it stays in %s, and another one begins\n", have.ID, b.store)
			continue
		}
		return have.ID
	}
	return ""
}
