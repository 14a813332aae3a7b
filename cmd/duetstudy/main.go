// Command duetstudy measures how much less a duet scatters than a sequence of runs.
//
// It compares a build of the reference chat server with itself, by both modes in turn, on the host as it is and beside
// a neighbor that takes 0 to 60 % of the target's core in random bursts. Every pair of runs is kept in
// docs/duet/pairs.jsonl, and the table of docs/duet.md is a function of that file. A second start adds to it.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/cmd/internal/conditions"
	"plimsoll/report"
)

//go:embed plan.yaml
var planText string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "duetstudy:", err)
		os.Exit(1)
	}
}

// A study carries out comparisons.
type study struct {
	program, neighbor, store, docs, engine string
	blocks                                 int
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("duetstudy", flag.ContinueOnError)
	var s study
	fs.StringVar(&s.program, "program", "bin/plimsoll", "`path` of plimsoll")
	fs.StringVar(&s.neighbor, "neighbor", "bin/neighbor", "`path` of the neighbor, built from bench/neighbor; empty: the quiet half alone")
	fs.StringVar(&s.store, "store", ".plimsoll/duet-study", "`directory` of the runs")
	fs.StringVar(&s.docs, "docs", "docs", "`directory` of duet.md and of duet/pairs.jsonl")
	fs.StringVar(&s.engine, "engine", "postgresql", "postgresql or mysql")
	fs.IntVar(&s.blocks, "pairs", 4, "pairs of runs in a comparison, 2 to 20")
	length := fs.Duration("length", time.Hour, "begin no round of comparisons that would end after this `time`; one is made in any case")
	seed := fs.Uint64("seed", 1, "`seed` of the first round")
	table := fs.Bool("table", false, "run nothing: write the table of the pairs that there are")
	if err := fs.Parse(args); err != nil {
		return err
	}
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("%q: there are no arguments", fs.Arg(0))
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
	kept, err := load(s.docs)
	if err != nil {
		return err
	}
	text := tableOf(kept)
	fmt.Print(text)
	return write(s.docs, text)
}

// round makes a comparison by each mode on each kind of host. The modes have the same seed and, with the same random
// numbers, the same neighbor.
func (s study) round(ctx context.Context, seed uint64) error {
	rng := rand.New(rand.NewPCG(seed, 11))
	hosts := []string{quiet}
	if s.neighbor != "" {
		hosts = append(hosts, neighbor)
	}
	for _, k := range rng.Perm(len(hosts)) {
		modes := []string{sequence, duet}
		for _, m := range rng.Perm(len(modes)) {
			t, err := s.compare(ctx, modes[m], hosts[k], seed)
			if err != nil {
				return fmt.Errorf("%s, %s, seed %d: %w", modes[m], hosts[k], seed, err)
			}
			if err := keep(s.docs, t); err != nil {
				return err
			}
			fmt.Println(t.text())
		}
	}
	return nil
}

func (s study) plan(mode string, seed uint64) string {
	if mode == duet {
		mode += "\n  slice: 200ms"
	}
	return strings.NewReplacer("SEED", strconv.FormatUint(seed, 10), "ENGINE", s.engine, "MODE", "mode: "+mode,
		"BLOCKS", strconv.Itoa(s.blocks)).Replace(planText)
}

// compare carries out one comparison.
func (s study) compare(ctx context.Context, mode, host string, seed uint64) (trial, error) {
	if err := os.MkdirAll(s.store, 0o755); err != nil {
		return trial{}, err
	}
	file := filepath.Join(s.store, fmt.Sprintf("%s-%s-%d.yaml", mode, host, seed))
	if err := os.WriteFile(file, []byte(s.plan(mode, seed)), 0o644); err != nil {
		return trial{}, err
	}
	program := ""
	if host == neighbor {
		program = s.neighbor
	}
	end, err := conditions.Disturb(ctx, program, seed)
	if err != nil {
		return trial{}, err
	}
	began := time.Now()
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, s.program, "compare", "-json", "-store", s.store, "-calibrate=false", file)
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	err = cmd.Run()
	short := end()
	if ctx.Err() != nil {
		return trial{}, context.Cause(ctx)
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return trial{}, err
	}
	if short != nil {
		return trial{}, short
	}
	t := trial{At: began.UTC().Truncate(time.Second), Commit: conditions.Revision("docs/duet", "docs/duet.md"), Machine: conditions.Machine(), Engine: s.engine, Mode: mode, Host: host, Seed: seed, Blocks: s.blocks,
		Seconds: time.Since(began).Seconds(), Plan: planDigest()}
	var doc report.Document
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		return trial{}, fmt.Errorf("plimsoll compare %s ended with status %d and no report: %w", file, cmd.ProcessState.ExitCode(), err)
	}
	if !doc.State.Complete {
		return trial{}, fmt.Errorf("comparison %s is not complete: %s", doc.Comparison, doc.State.Why)
	}
	t.read(doc)
	return t, nil
}
