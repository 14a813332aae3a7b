// Command duetstudy measures how much less a duet scatters than a sequence of runs.
//
// It compares a build of the reference chat server with itself, by both modes in turn, on the host as it is and beside
// a neighbor that takes 0 to 60 % of the target's core in random bursts. Every pair of runs is kept in
// studies/results/duet.jsonl, and the table of duet.md beside it is a function of that file. A second start adds to it.
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

	"plimsoll/studies/study"
)

//go:embed plan.yaml
var planText string

func main() { study.Main(run) }

// A bench carries out comparisons.
type bench struct {
	program, neighbor, store, results, engine string
	blocks                                    int
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("duetstudy", flag.ContinueOnError)
	var s bench
	fs.StringVar(&s.program, "program", "bin/plimsoll", "`path` of plimsoll")
	fs.StringVar(&s.neighbor, "neighbor", "bin/neighbor", "`path` of the neighbor, built from bench/neighbor; empty: the quiet half alone")
	fs.StringVar(&s.store, "store", ".plimsoll/duet-study", "`directory` of the runs")
	fs.StringVar(&s.results, "results", study.Results, "`directory` of duet.md and duet.jsonl")
	fs.StringVar(&s.engine, "engine", "postgresql", "postgresql or mysql")
	fs.IntVar(&s.blocks, "pairs", 4, "pairs of runs in a comparison, 2 to 20")
	length := fs.Duration("length", time.Hour, "begin no round of comparisons that would end after this `time`; one is made in any case")
	seed := fs.Uint64("seed", 1, "`seed` of the first round")
	table := fs.Bool("table", false, "run nothing: write the table of the pairs that there are")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	switch {
	case s.blocks < 2 || s.blocks > 20:
		return fmt.Errorf("-pairs %d: want 2 to 20", s.blocks)
	case s.engine != "postgresql" && s.engine != "mysql":
		return fmt.Errorf("-engine %s: want postgresql or mysql", s.engine)
	}
	began, longest := time.Now(), time.Duration(0)
	for round := *seed; !*table; round++ {
		start := time.Now()
		if err := s.round(ctx, round); err != nil {
			return err
		}
		longest = max(longest, time.Since(start))
		if time.Since(began)+longest > *length {
			break
		}
	}
	kept, err := load(s.results)
	if err != nil {
		return err
	}
	text := tableOf(kept)
	fmt.Print(text)
	return study.Insert(filepath.Join(s.results, page), tablePart, text)
}

// round makes a comparison by each mode on each kind of host. The modes have the same seed and, with the same random
// numbers, the same neighbor.
func (s bench) round(ctx context.Context, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 11))
	hosts := []string{study.Quiet}
	if s.neighbor != "" {
		hosts = append(hosts, study.Neighbor)
	}
	for _, k := range rng.Perm(len(hosts)) {
		modes := []string{sequence, duet}
		for _, m := range rng.Perm(len(modes)) {
			t, err := s.compare(ctx, modes[m], hosts[k], seed)
			if err != nil {
				return fmt.Errorf("%s, %s, seed %d: %w", modes[m], hosts[k], seed, err)
			}
			if err := study.Append(filepath.Join(s.results, pairsFile), t); err != nil {
				return err
			}
			fmt.Println(t.text())
		}
	}
	return nil
}

func (s bench) plan(mode string, seed uint64) string {
	if mode == duet {
		mode += "\n  slice: 200ms"
	}
	return strings.NewReplacer("SEED", strconv.FormatUint(seed, 10), "ENGINE", s.engine, "MODE", "mode: "+mode,
		"BLOCKS", strconv.Itoa(s.blocks)).Replace(planText)
}

// compare carries out one comparison.
func (s bench) compare(ctx context.Context, mode, host string, seed uint64) (trial, error) {
	if err := os.MkdirAll(s.store, 0o755); err != nil {
		return trial{}, err
	}
	file := filepath.Join(s.store, fmt.Sprintf("%s-%s-%d.yaml", mode, host, seed))
	if err := os.WriteFile(file, []byte(s.plan(mode, seed)), 0o644); err != nil {
		return trial{}, err
	}
	program := ""
	if host == study.Neighbor {
		program = s.neighbor
	}
	began := time.Now()
	doc, _, err := study.Compare(ctx, s.program, program, seed, "-store", s.store, file)
	if err != nil {
		return trial{}, err
	}
	t := trial{At: began.UTC().Truncate(time.Second), Commit: study.Revision(), Machine: study.Machine(), Engine: s.engine, Mode: mode, Host: host, Seed: seed, Blocks: s.blocks,
		Seconds: time.Since(began).Seconds(), Plan: planDigest()}
	t.read(doc)
	return t, nil
}
