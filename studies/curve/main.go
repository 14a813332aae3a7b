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
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
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
	study.Bench
	minutes  int
	quiet    float64
	patience time.Duration
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
	n := fs.Int("n", 1, "how many outcomes to add")
	fs.IntVar(
		&b.minutes,
		"minutes",
		6,
		"`minutes` of a comparison, as many as it takes by itself; another number begins another curve",
	)
	fs.Float64Var(
		&b.quiet,
		"quiet",
		0.05,
		"begin when others use less than this `share` of all cores; 1: at once",
	)
	fs.DurationVar(
		&b.patience,
		"patience",
		30*time.Minute,
		"the longest `time` to wait for that; after it the study ends, and starts again where it was",
	)
	b.Flags(fs, ".plimsoll/curve")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if *n < 1 || b.minutes < 1 || b.quiet <= 0 {
		return errors.New("-n, -minutes and -quiet: want numbers above 0")
	}
	all, torn, err := study.Lines[outcome](b.file())
	if err != nil {
		return err
	}
	if b.Draw {
		return b.draw(all)
	}
	for _, program := range []string{b.Program, b.Neighbor} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w; make curve builds it", err)
		}
	}
	if b.Dir, err = filepath.Abs(b.Dir); err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(b.Dir, 0o755), os.MkdirAll(b.Results, 0o755)); err != nil {
		return err
	}
	if cut, ok := b.interruption(all, torn); ok {
		fmt.Println(cut.text())
		if all, err = b.keep(all, cut); err != nil {
			return err
		}
	}
	for i := range *n {
		o, err := b.measure(ctx, of(all, b.setting()))
		if err != nil {
			return fmt.Errorf("%w; start again to go on", err)
		}
		if all, err = b.keep(all, o); err != nil {
			return err
		}
		fmt.Printf("%d of %d: %s\n", i+1, *n, o.text())
	}
	return nil
}

func (b bench) file() string { return filepath.Join(b.Results, outcomesFile) }

// keep adds an outcome to those of the file, and draws page and picture.
func (b bench) keep(all []outcome, o outcome) ([]outcome, error) {
	all = append(all, o)
	if err := study.Append(b.file(), o); err != nil {
		return all, err
	}
	return all, errors.Join(os.RemoveAll(b.underWay()), b.draw(all))
}

func (b bench) draw(all []outcome) error {
	c := curveOf(all)
	return errors.Join(os.WriteFile(filepath.Join(b.Results, pageFile), []byte(c.page()), 0o644),
		os.WriteFile(filepath.Join(b.Results, pictureFile), []byte(c.picture()), 0o644))
}

// setting stands for the plan and the minutes: outcomes of another setting are not counted with it.
func (b bench) setting() string {
	sum := sha256.Sum256(fmt.Appendf([]byte(planText), "%d", b.minutes))
	return hex.EncodeToString(sum[:6])
}

// measure makes the next outcome, with what the others show of the base.
func (b bench) measure(ctx context.Context, done []outcome) (outcome, error) {
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
	used, waited, err := study.Calm(ctx, b.quiet, b.patience, study.ReadLoad)
	if err != nil {
		return o, err
	}
	o.At, o.Before, o.Waited = time.Now().
		UTC().
		Truncate(time.Second),
		used, math.Round(
			waited.Seconds(),
		)
	fmt.Printf(
		"slot %d, %s, %s: others use %.1f %% of the cores\n",
		o.Slot,
		o.Kind,
		o.Host,
		100*used,
	)
	mark, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(b.underWay(), mark, 0o644)
	}
	was, err2 := study.ReadLoad()
	if err := errors.Join(err, err2); err != nil {
		return o, err
	}
	began := time.Now()
	// The comparison takes half again its minutes at most, and repeats of void blocks besides.
	within, stop := context.WithTimeoutCause(
		ctx,
		time.Duration(b.minutes)*2*time.Minute+10*time.Minute,
		errors.New("it was ended by its deadline"),
	)
	defer stop()
	got, err := b.Compare(within, o.Host, o.Seed, verb, args...)
	if ctx.Err() != nil {
		return o, context.Cause(ctx)
	}
	if err != nil {
		o.Problem = study.OneLine(err.Error())
	}
	now, err := study.ReadLoad()
	o.Seconds, o.Status, o.During = math.Round(
		time.Since(began).Seconds(),
	), got.Status, now.Since(
		was,
		got.CPU,
	)
	o.read(got.Document)
	return o, err
}

// command returns the verb of plimsoll and its arguments, and makes the builds and the plan that
// they name.
func (b bench) command(ctx context.Context, o outcome) (verb string, args []string, err error) {
	k, store := kindOf(o.Kind), "-store="+filepath.Join(b.Dir, "store")
	if k.demo != "" {
		return "demo", []string{store, "-fault=" + k.demo, fmt.Sprint("-seed=", o.Seed)}, nil
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	for name, planted := range map[string]string{"base": "", "new": o.Fault} {
		build := exec.CommandContext(
			ctx,
			"go",
			"build",
			"-C",
			"studies",
			"-ldflags",
			"-X main.planted="+planted,
			"-o",
			filepath.Join(b.Dir, name),
			"./curve/server",
		)
		if out, err := build.CombinedOutput(); err != nil {
			return "", nil, fmt.Errorf(
				"building the server: %w: %s",
				err,
				study.OneLine(string(out)),
			)
		}
	}
	plan := filepath.Join(b.Dir, "plan.yaml")
	text := strings.NewReplacer("SEED", fmt.Sprint(o.Seed), "DIR", b.Dir, "ARM", k.arm).
		Replace(planText)
	return "compare", []string{
			store,
			fmt.Sprint("-minutes=", b.minutes),
			plan,
		}, os.WriteFile(
			plan,
			[]byte(text),
			0o644,
		)
}
