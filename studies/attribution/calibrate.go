package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/load/workload"
	"plimsoll/studies/study"
)

//go:embed plan.yaml
var planText string

const blocks = 6

// planOf writes a plan. Without arms it is that of one run of a program.
func planOf(seed uint64, program string, arms []string) string {
	text := strings.NewReplacer("SEED", fmt.Sprint(seed), "PROGRAM", "binary: "+program).
		Replace(planText)
	if len(arms) == 0 {
		return text
	}
	text += fmt.Sprintf(
		"compare:\n  mode: duet\n  slice: 200ms\n  blocks: %d\n  arms:\n    base: {}\n",
		blocks,
	)
	for i, arm := range arms {
		text += fmt.Sprintf("    %s: {binary: %s}\n", armName(i), arm)
	}
	return text
}

// armName is the name of an arm of a duet, from 0 on.
func armName(i int) string { return fmt.Sprint("v", i+1) }

// setting stands for everything that outcomes must share to be counted together.
func setting() string {
	return study.Digest(planOf(0, "", []string{"", ""}), 6)
}

// calibrate returns what is known of the base: from the directory of the runs, or from a run of a
// base that counts the calls of its functions, with everything else that it does.
func (b *bench) calibrate(ctx context.Context) (c calibration, err error) {
	file := filepath.Join(b.Dir, "calibration.json")
	kept, err := os.ReadFile(file)
	if err == nil && json.Unmarshal(kept, &c) == nil && c.Setting == setting() {
		return c, nil
	}
	c = calibration{Setting: setting()}
	if c.Costs, err = b.workCosts(ctx); err != nil {
		return c, err
	}
	s, err := readSource(".")
	if err != nil {
		return c, err
	}
	list, err := s.functions()
	if err != nil {
		return c, err
	}
	lines, program := filepath.Join(b.Dir, "counts.jsonl"), filepath.Join(b.Dir, "counting")
	s.program("")
	err = errors.Join(s.count(lines), s.build(ctx, ".", program+".src", program))
	if err != nil {
		return c, err
	}
	r, err := b.run(ctx, planOf(1, program, nil))
	if err != nil {
		return c, err
	}
	from, to, err := r.measured()
	if err != nil {
		return c, err
	}
	calls, cpu, err := between(lines, from, to)
	if err != nil {
		return c, err
	}
	c.CPU, c.Operations, c.Calls = cpu, r.operations(), map[string]float64{}
	for _, f := range list {
		c.Calls[f.name] += float64(calls[f.called])
	}
	text, err := json.MarshalIndent(c, "", "\t")
	return c, errors.Join(err, os.WriteFile(file, text, 0o644))
}

// workCosts measures the works.
func (b *bench) workCosts(ctx context.Context) (costsOf map[work]float64, err error) {
	program := filepath.Join(b.Dir, "works")
	if err := costs().build(ctx, ".", program+".src", program); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	defer stop()
	out, err := exec.CommandContext(ctx, program).Output()
	return costsOf, errors.Join(err, json.Unmarshal(out, &costsOf))
}

// A ran is what the study reads of a run's JSON.
type ran struct {
	Manifest struct {
		Epoch  time.Time `json:"epoch"`
		Phases []struct {
			Name string        `json:"name"`
			From time.Duration `json:"from"`
			To   time.Duration `json:"to"`
		} `json:"phases"`
	} `json:"manifest"`
	Operations []struct {
		Name   string  `json:"name"`
		Count  float64 `json:"count"`
		Errors float64 `json:"errors"`
	} `json:"operations"`
}

// run carries out a run. That it is not valid, because of others on the host, does not matter: it
// counts.
func (b *bench) run(ctx context.Context, plan string) (r ran, err error) {
	file := filepath.Join(b.Dir, "calibration.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o644); err != nil {
		return r, err
	}
	ctx, stop := context.WithTimeout(ctx, 15*time.Minute)
	defer stop()
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, b.Program,
		"run", "-json", "-store", filepath.Join(b.Dir, "store"), file)
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := study.Beside(ctx, "", 0, cmd); err != nil {
		return r, err
	}
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return r, fmt.Errorf(
			"plimsoll run ended with status %d and no result",
			cmd.ProcessState.ExitCode(),
		)
	}
	return r, nil
}

// measured returns the beginning and the end of the measured phase.
func (r ran) measured() (from, to time.Time, err error) {
	for _, p := range r.Manifest.Phases {
		if p.Name == "measure" {
			return r.Manifest.Epoch.Add(p.From), r.Manifest.Epoch.Add(p.To), nil
		}
	}
	return from, to, errors.New("the run that counts has no measured phase")
}

// operations is the number of those that succeeded, as costs have it: without the row of them all.
func (r ran) operations() (n float64) {
	for _, o := range r.Operations {
		if o.Name != "op" && workload.Steady(o.Name) {
			n += o.Count - o.Errors
		}
	}
	return n
}

// pending are the slots without an outcome of this setting, in their order; only those asked for,
// if any are.
func pending(done []outcome, only []int) (slots []int) {
	planted, now := variants(), setting()
	for i := range planted {
		has := slices.ContainsFunc(done, func(o outcome) bool {
			return o.Slot == i+1 && o.counts(planted, now)
		})
		if !has && (len(only) == 0 || slices.Contains(only, i+1)) {
			slots = append(slots, i+1)
		}
	}
	return slots
}
