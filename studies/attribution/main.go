// Command attribution measures how often the origin of a difference in cost is named rightly.
//
// Each variant is a build of the reference chat server that differs from the base in one known
// function, one known statement, in its names, or in nothing (variant.go). It is made by an overlay
// of the server's source, which stays as it is. Four variants take turns with one base in a
// comparison by "plimsoll compare", whose report names functions and statements; what it names first
// is compared with the truth. Each outcome is a line of studies/results/attribution.jsonl, also a
// wrong one: none is left out. A later start goes on where the last one ended. The page is a
// function of that file.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"plimsoll/studies/study"
)

func main() { study.Main(run) }

// A bench carries out comparisons.
type bench struct {
	study.Bench
	quiet    float64
	patience time.Duration
}

// The files of the results.
const (
	outcomesFile = "attribution.jsonl"
	pageFile     = "attribution.md"
)

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("attribution", flag.ContinueOnError)
	var b bench
	n := fs.Int("n", 1, "how many comparisons to add")
	together := fs.Int("variants", 4, "how many variants take turns with one base")
	slots := fs.String("slots", "", "measure these `slots` alone, with commas between")
	fs.Float64Var(&b.quiet, "quiet", 0.05,
		"begin when others use less than this `share` of all cores; 1: at once")
	fs.DurationVar(
		&b.patience,
		"patience",
		30*time.Minute,
		"the longest `time` to wait for that; after it the study ends, and starts again where it was",
	)
	b.Flags(fs, ".plimsoll/attribution")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	only, err := study.Numbers(*slots)
	if err != nil || *n < 1 || *together < 1 || b.quiet <= 0 {
		return errors.Join(err, errors.New("-n, -variants and -quiet: want numbers above 0"))
	}
	all, torn, err := study.Lines[outcome](b.file())
	if err != nil {
		return err
	}
	if b.Draw {
		return b.draw(all)
	}
	if _, err := exec.LookPath(b.Program); err != nil {
		return fmt.Errorf("%w; make attribution builds it", err)
	}
	if b.Dir, err = filepath.Abs(b.Dir); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(b.Dir, 0o755), os.MkdirAll(b.Results, 0o755)); err != nil {
		return err
	}
	if all, err = b.interrupted(all, torn); err != nil {
		return err
	}
	c, err := b.calibrate(ctx)
	if err != nil {
		return err
	}
	for i := range *n {
		next := pending(all, only)
		if len(next) == 0 {
			fmt.Println("each slot has an outcome")
			return nil
		}
		made, err := b.measure(ctx, c, next[:min(*together, len(next))])
		if err != nil {
			return fmt.Errorf("%w; start again to go on", err)
		}
		if all, err = b.keep(all, made); err != nil {
			return err
		}
		for _, o := range made {
			fmt.Printf(
				"%d of %d: slot %d, %s: %s: %s\n",
				i+1,
				*n,
				o.Slot,
				o.Name,
				o.score(),
				o.named(),
			)
		}
	}
	return nil
}

func (b bench) file() string { return filepath.Join(b.Results, outcomesFile) }

// underWay is the file of the outcomes that are being measured.
func (b bench) underWay() string { return filepath.Join(b.Dir, "under-way.json") }

// keep adds outcomes to those of the file, and draws the page.
func (b bench) keep(all, made []outcome) ([]outcome, error) {
	for _, o := range made {
		if err := study.Append(b.file(), o); err != nil {
			return all, err
		}
	}
	all = append(all, made...)
	return all, errors.Join(os.RemoveAll(b.underWay()), b.draw(all))
}

func (b bench) draw(all []outcome) error {
	return os.WriteFile(filepath.Join(b.Results, pageFile), []byte(page(all)), 0o644)
}

// interrupted keeps the outcomes that a killed study has left under way, as such.
func (b bench) interrupted(all []outcome, torn bool) ([]outcome, error) {
	var left []outcome
	text, err := os.ReadFile(b.underWay())
	if err != nil || json.Unmarshal(text, &left) != nil {
		return all, nil
	}
	left = slices.DeleteFunc(left, func(o outcome) bool {
		return slices.ContainsFunc(all, func(k outcome) bool {
			return k.Slot == o.Slot && k.At.Equal(o.At)
		})
	})
	for i := range left {
		left[i].Interrupted, left[i].Problem = true, "the study was killed or stopped"
		if torn {
			left[i].Problem += " while it wrote a line, which was torn"
		}
	}
	return b.keep(all, left)
}

// measure compares the variants of some slots with one base.
func (b bench) measure(ctx context.Context, c calibration, slots []int) ([]outcome, error) {
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
	used, _, err := study.Calm(ctx, b.quiet, b.patience, study.ReadLoad)
	if err != nil {
		return nil, err
	}
	for i := range made {
		made[i].At, made[i].Before = time.Now().UTC().Truncate(time.Second), used
	}
	mark, err := json.Marshal(made)
	if err := errors.Join(err, os.WriteFile(b.underWay(), mark, 0o644)); err != nil {
		return nil, err
	}
	return made, b.compare(ctx, c, made, planOf(uint64(100+slots[0]), program, arms))
}

// build builds a variant as an arm.
func (b bench) build(ctx context.Context, v variant, repeats int, arm string) (string, error) {
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
func (b bench) compare(ctx context.Context, c calibration, made []outcome, plan string) error {
	file := filepath.Join(b.Dir, "plan.yaml")
	was, err := study.ReadLoad()
	if err := errors.Join(err, os.WriteFile(file, []byte(plan), 0o644)); err != nil {
		return err
	}
	began := time.Now()
	within, stop := context.WithTimeoutCause(
		ctx,
		time.Hour,
		errors.New("it was ended by its deadline"),
	)
	defer stop()
	got, failed := b.Compare(within, study.Quiet, 0, "compare", "-calibrate=false",
		"-store", filepath.Join(b.Dir, "store"), file)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	now, err := study.ReadLoad()
	for i := range made {
		o := &made[i]
		if failed != nil {
			o.Problem = study.OneLine(failed.Error())
		}
		o.Seconds, o.During = math.Round(time.Since(began).Seconds()), now.Since(was, got.CPU)
		o.read(got.Document, armName(i), c)
	}
	return err
}
