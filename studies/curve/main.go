// Command curve measures the operating curve of a comparison: how often builds that do not differ
// get a verdict, and how large a difference must be to be found.
//
// It compares two builds of the reference chat server by "plimsoll compare -minutes", as continuous
// integration does. The new build has nothing planted, or a difference of a known size, and the
// host is quiet or has a neighbor. The order of these cells is fixed and each prefix of it is
// balanced (cell.go). Each outcome is a line of studies/results/curve.jsonl, also a wrong one and
// one that was interrupted: none is left out. A later start goes on where the last one ended. The
// page and its picture are a function of that file.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"plimsoll/studies/study"
)

//go:embed plan.yaml
var planText string

func main() { study.Main(run) }

// A bench carries out comparisons.
type bench struct {
	study.Keeper[outcome]
	minutes int
}

// The files of the results.
const (
	outcomesFile = "curve.jsonl"
	pageFile     = "curve.md"
	pictureFile  = "curve.svg"
)

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("curve", flag.ContinueOnError)
	var b bench
	b.Name = "curve"
	b.Pages = func(all []outcome) map[string]string {
		c := curveOf(all)
		return map[string]string{pageFile: c.page(), pictureFile: c.picture()}
	}
	fs.IntVar(&b.minutes, "minutes", 6,
		"`minutes` of a comparison, as many as it takes by itself; another number begins another curve")
	b.Flags(fs, "how many outcomes to add")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if !b.Valid() || b.minutes < 1 {
		return errors.New("-n, -minutes and -quiet: want numbers above 0")
	}
	all, torn, err := b.Begin(b.Program, b.Neighbor)
	if err != nil || b.Draw {
		return err
	}
	if cut, ok := b.interruption(all, torn); ok {
		fmt.Println(cut.text())
		if all, err = b.Keep(all, cut); err != nil {
			return err
		}
	}
	for i := range b.Count {
		o, err := b.measure(ctx, of(all, b.setting()))
		if err != nil {
			return fmt.Errorf("%w; start again to go on", err)
		}
		if all, err = b.Keep(all, o); err != nil {
			return err
		}
		fmt.Printf("%d of %d: %s\n", i+1, b.Count, o.text())
	}
	return nil
}

// setting stands for the plan and the minutes: outcomes of another setting are not counted with it.
func (b *bench) setting() string {
	return study.Digest(planText+fmt.Sprint(b.minutes), 6)
}

// measure makes the next outcome, with what the others show of the base.
func (b *bench) measure(ctx context.Context, done []outcome) (outcome, error) {
	base := mean(done)
	o := outcome{
		cell:    next(done, base),
		Setting: b.setting(),
		Minutes: b.minutes,
		Commit:  study.Revision(),
		Machine: study.Machine(),
	}
	o.Fault, _ = kindOf(o.Kind).plant(base)
	verb, args, err := b.command(ctx, o)
	if err != nil {
		return o, err
	}
	used, waited, err := b.Calm(ctx)
	if err != nil {
		return o, err
	}
	o.At, o.Before, o.Waited = study.Now(), used, math.Round(waited.Seconds())
	fmt.Printf("slot %d, %s, %s: others use %.1f %% of the cores\n", o.Slot, o.Kind, o.Host, 100*used)
	if err := b.Mark(o); err != nil {
		return o, err
	}
	// The comparison takes half again its minutes at most, and repeats of void blocks besides.
	within := time.Duration(b.minutes)*2*time.Minute + 10*time.Minute
	got, err := b.Timed(ctx, within, o.Host, o.Seed, verb, args...)
	o.Seconds, o.Status, o.During, o.Problem = got.Seconds, got.Status, got.Others, got.Problem
	o.read(got.Document)
	return o, err
}

// command returns the verb of plimsoll and its arguments, and makes the builds and the plan that
// they name.
func (b *bench) command(ctx context.Context, o outcome) (verb string, args []string, err error) {
	k, store := kindOf(o.Kind), "-store="+filepath.Join(b.Dir, "store")
	if k.demo != "" {
		return "demo", []string{store, "-fault=" + k.demo, fmt.Sprint("-seed=", o.Seed)}, nil
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	for name, planted := range map[string]string{"base": "", "new": o.Fault} {
		build := exec.CommandContext(ctx, "go", "build", "-C", "studies",
			"-ldflags", "-X main.planted="+planted, "-o", filepath.Join(b.Dir, name), "./curve/server")
		if out, err := build.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf("building the server: %w: %s", err, study.OneLine(string(out)))
		}
	}
	plan := filepath.Join(b.Dir, "plan.yaml")
	text := strings.NewReplacer("SEED", fmt.Sprint(o.Seed), "DIR", b.Dir, "ARM", k.arm).
		Replace(planText)
	args = []string{store, fmt.Sprint("-minutes=", b.minutes), plan}
	return "compare", args, os.WriteFile(plan, []byte(text), 0o644)
}
