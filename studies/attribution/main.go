// Command attribution measures how often the origin of a difference in cost is named rightly.
//
// Each variant is a build of the reference chat server that differs from the base in one known
// function, one known statement, in its names, or in nothing (variant.go). It is made by an overlay
// of the server's source, which stays as it is. Four variants take turns with one base in a
// comparison by "plimsoll compare", whose report names functions and statements; what it names first
// is compared with the truth. With the argument "bisect", ranges of such builds are searched by
// "plimsoll bisect" (ranges.go). Each outcome is a line of studies/results/attribution.jsonl, also a
// wrong one: none is left out. A later start goes on where the last one ended. The page is a
// function of that file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/studies/study"
)

func main() { study.Main(run) }

// A bench carries out comparisons.
type bench struct{ study.Keeper[outcome] }

// The files of the results.
const (
	outcomesFile = "attribution.jsonl"
	pageFile     = "attribution.md"
)

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "bisect" {
		return runRanges(ctx, args[1:])
	}
	fs := flag.NewFlagSet("attribution", flag.ContinueOnError)
	var b bench
	b.Name = "attribution"
	b.Pages = func(all []outcome) map[string]string {
		return map[string]string{pageFile: page(all)}
	}
	together := fs.Int("variants", 4, "how many variants take turns with one base")
	slots := fs.String("slots", "", "measure these `slots` alone, with commas between")
	b.Flags(fs, "how many comparisons to add")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	only, err := study.Numbers(*slots)
	if err != nil || !b.Valid() || *together < 1 {
		return errors.Join(err, errors.New("-n, -variants and -quiet: want numbers above 0"))
	}
	all, torn, err := b.Begin(b.Program)
	if err != nil || b.Draw {
		return err
	}
	if all, err = b.interrupted(all, torn); err != nil {
		return err
	}
	c, err := b.calibrate(ctx)
	if err != nil {
		return err
	}
	for i := range b.Count {
		next := pending(all, only)
		if len(next) == 0 {
			fmt.Println("each slot has an outcome")
			return nil
		}
		made, err := b.measure(ctx, c, next[:min(*together, len(next))])
		if err != nil {
			return fmt.Errorf("%w; start again to go on", err)
		}
		if all, err = b.Keep(all, made...); err != nil {
			return err
		}
		for _, o := range made {
			fmt.Printf("%d of %d: slot %d, %s: %s: %s\n",
				i+1, b.Count, o.Slot, o.Name, o.score(), o.named())
		}
	}
	return nil
}

// interrupted keeps the outcomes that a killed study has left under way, as such.
func (b *bench) interrupted(all []outcome, torn bool) ([]outcome, error) {
	var left []outcome
	if !b.Left(&left) {
		return all, nil
	}
	left = slices.DeleteFunc(left, func(o outcome) bool {
		return slices.ContainsFunc(all, func(k outcome) bool {
			return k.Slot == o.Slot && k.At.Equal(o.At)
		})
	})
	for i := range left {
		left[i].Interrupted, left[i].Problem = true, study.Interruption(torn)
	}
	return b.Keep(all, left...)
}

// measure compares the variants of some slots with one base.
func (b *bench) measure(ctx context.Context, c calibration, slots []int) ([]outcome, error) {
	all := variants()
	base := variant{Name: "base"}
	program, err := b.build(ctx, base, 0, "base")
	if err != nil {
		return nil, err
	}
	var made []outcome
	var arms []string
	for i, slot := range slots {
		v := all[slot-1]
		o := outcome{Slot: slot, variant: v, Symbol: v.symbol(), Setting: setting(),
			Commit: study.Revision(), Machine: study.Machine(), Beside: len(slots)}
		if o.Repeats, err = v.repeats(c); err != nil {
			return nil, err
		}
		arm, err := b.build(ctx, v, o.Repeats, armName(i))
		if err != nil {
			return nil, err
		}
		made, arms = append(made, o), append(arms, arm)
	}
	used, _, err := b.Calm(ctx)
	if err != nil {
		return nil, err
	}
	for i := range made {
		made[i].At, made[i].Before = study.Now(), used
	}
	if err := b.Mark(made); err != nil {
		return nil, err
	}
	return made, b.compare(ctx, c, made, planOf(uint64(100+slots[0]), program, arms))
}

// build builds a variant as an arm.
func (b *bench) build(ctx context.Context, v variant, repeats int, arm string) (string, error) {
	s, err := v.source(".", repeats)
	if err != nil {
		return "", fmt.Errorf("%s: %w", v.Name, err)
	}
	program := filepath.Join(b.Dir, arm)
	if err := os.RemoveAll(program + ".src"); err != nil {
		return "", err
	}
	return program, s.build(ctx, ".", program+".src", program)
}

// compare carries out the comparison, and completes the outcomes. A comparison without a report is
// an outcome, too.
func (b *bench) compare(ctx context.Context, c calibration, made []outcome, plan string) error {
	file := filepath.Join(b.Dir, "plan.yaml")
	if err := os.WriteFile(file, []byte(plan), 0o644); err != nil {
		return err
	}
	got, err := b.Timed(ctx, time.Hour, study.Quiet, 0, "compare", "-calibrate=false",
		"-store", filepath.Join(b.Dir, "store"), file)
	for i := range made {
		o := &made[i]
		o.Seconds, o.During, o.Problem = got.Seconds, got.Others, got.Problem
		o.read(got.Document, armName(i), c)
	}
	return err
}
