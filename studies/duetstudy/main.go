// Command duetstudy measures how much less a duet scatters than a sequence of runs.
//
// It compares a build of the reference chat server with itself, by both modes in turn, on the host
// as it is and beside a neighbor that takes 0 to 60 % of the target's core in random bursts. Every
// pair of runs is kept in studies/results/duet.jsonl, and the table of duet.md beside it is a
// function of that file. A second start adds to it.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"plimsoll/plan"
	"plimsoll/studies/study"
)

//go:embed plan.yaml
var planText string

func main() { study.Main(run) }

// A bench carries out comparisons.
type bench struct{ study.Bench }

// blocks is the number of pairs of runs in a comparison.
const blocks = 4

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("duetstudy", flag.ContinueOnError)
	var s bench
	s.Flags(fs, ".plimsoll/duet-study")
	length := fs.Duration(
		"length",
		time.Hour,
		"begin no round of comparisons that would end after this `time`; one is made in any case",
	)
	seed := fs.Uint64("seed", 1, "`seed` of the first round")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	began, longest := time.Now(), time.Duration(0)
	for round := *seed; !s.Draw; round++ {
		start := time.Now()
		if err := s.round(ctx, round); err != nil {
			return err
		}
		longest = max(longest, time.Since(start))
		if time.Since(began)+longest > *length {
			break
		}
	}
	kept, err := load(s.Results)
	if err != nil {
		return err
	}
	text := tableOf(kept)
	fmt.Print(text)
	return study.Insert(filepath.Join(s.Results, page), tablePart, text)
}

// round makes a comparison by each mode on each kind of host. The modes have the same seed and,
// with the same random numbers, the same neighbor.
func (s bench) round(ctx context.Context, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 11))
	hosts := []string{study.Quiet, study.Neighbor}
	for _, k := range rng.Perm(len(hosts)) {
		modes := []string{sequence, duet}
		for _, m := range rng.Perm(len(modes)) {
			t, err := s.compare(ctx, modes[m], hosts[k], seed)
			if err != nil {
				return fmt.Errorf("%s, %s, seed %d: %w", modes[m], hosts[k], seed, err)
			}
			if err := study.Append(filepath.Join(s.Results, pairsFile), t); err != nil {
				return err
			}
			fmt.Printf("%s, %s, seed %d, %.0f s\n", t.Mode, t.Host, t.Seed, t.Seconds)
		}
	}
	return nil
}

func planOf(mode string, seed uint64) string {
	if mode == duet {
		mode += "\n  slice: 200ms"
	}
	return strings.NewReplacer("SEED", strconv.FormatUint(seed, 10), "ENGINE", plan.PostgreSQL, "MODE", "mode: "+mode,
		"BLOCKS", strconv.Itoa(blocks)).
		Replace(planText)
}

// compare carries out one comparison.
func (s bench) compare(ctx context.Context, mode, host string, seed uint64) (trial, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return trial{}, err
	}
	file := filepath.Join(s.Dir, fmt.Sprintf("%s-%s-%d.yaml", mode, host, seed))
	if err := os.WriteFile(file, []byte(planOf(mode, seed)), 0o644); err != nil {
		return trial{}, err
	}
	began := time.Now()
	c, err := s.Compare(ctx, host, seed, "compare", "-calibrate=false", "-store", s.Dir, file)
	if err != nil {
		return trial{}, err
	}
	t := trial{
		At:      began.UTC().Truncate(time.Second),
		Commit:  study.Revision(),
		Machine: study.Machine(),
		Engine:  plan.PostgreSQL,
		Mode:    mode,
		Host:    host,
		Seed:    seed,
		Blocks:  blocks,
		Seconds: time.Since(began).Seconds(),
		Plan:    planDigest(),
	}
	t.read(c.Document)
	return t, nil
}
