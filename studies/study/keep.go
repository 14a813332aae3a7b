package study

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// A Keeper is a bench that keeps each outcome of a study as a line of a file, beside the pages that
// are a function of them. A study that was killed or stopped goes on when it is started again.
type Keeper[O any] struct {
	Bench
	Name  string // of the study, of its target of make and of its file
	Count int    // how many to add
	Pages func(all []O) map[string]string

	quiet    float64
	patience time.Duration
}

// Flags adds the flags of the keeper; count describes its number.
func (k *Keeper[O]) Flags(fs *flag.FlagSet, count string) {
	fs.IntVar(&k.Count, "n", 1, count)
	fs.Float64Var(&k.quiet, "quiet", 0.05,
		"begin when others use less than this `share` of all cores; 1: at once")
	fs.DurationVar(&k.patience, "patience", 30*time.Minute,
		"the longest `time` to wait for that; after it the study ends, and starts again where it was")
	k.Bench.Flags(fs, ".plimsoll/"+k.Name)
}

// Valid reports whether the numbers of the flags can be used.
func (k *Keeper[O]) Valid() bool { return k.Count >= 1 && k.quiet > 0 }

// Begin reads the outcomes that there are, and whether the last line was torn. It draws the pages
// if nothing else is asked for; else it checks the programs and makes the directories.
func (k *Keeper[O]) Begin(programs ...string) (all []O, torn bool, err error) {
	all, torn, err = Lines[O](k.file())
	if err != nil {
		return nil, torn, err
	}
	if k.Draw {
		return all, torn, k.draw(all)
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			return nil, torn, fmt.Errorf("%w; make %s builds it", err, k.Name)
		}
	}
	return all, torn, errors.Join(Absolute(&k.Dir),
		os.MkdirAll(k.Dir, 0o755), os.MkdirAll(k.Results, 0o755))
}

func (k *Keeper[O]) file() string { return filepath.Join(k.Results, k.Name+".jsonl") }

// underWay is the file of what is being measured.
func (k *Keeper[O]) underWay() string { return filepath.Join(k.Dir, "under-way.json") }

// Mark notes what is being measured now.
func (k *Keeper[O]) Mark(v any) error {
	mark, err := json.Marshal(v)
	return errors.Join(err, os.WriteFile(k.underWay(), mark, 0o644))
}

// Left reads what a killed program had marked, and reports whether there is anything.
func (k *Keeper[O]) Left(v any) bool {
	text, err := os.ReadFile(k.underWay())
	return err == nil && json.Unmarshal(text, v) == nil
}

// Interruption is the reason of an outcome that was left under way.
func Interruption(torn bool) string {
	if torn {
		return "the study was killed or stopped while it wrote a line, which was torn"
	}
	return "the study was killed or stopped"
}

// Keep adds outcomes to those of the file, and draws the pages.
func (k *Keeper[O]) Keep(all []O, made ...O) ([]O, error) {
	for _, o := range made {
		if err := Append(k.file(), o); err != nil {
			return all, err
		}
	}
	all = append(all, made...)
	return all, errors.Join(os.RemoveAll(k.underWay()), k.draw(all))
}

func (k *Keeper[O]) draw(all []O) (err error) {
	for name, text := range k.Pages(all) {
		err = errors.Join(err, os.WriteFile(filepath.Join(k.Results, name), []byte(text), 0o644))
	}
	return err
}

// Calm waits until the host is quiet; see [Calm].
func (k *Keeper[O]) Calm(ctx context.Context) (used float64, waited time.Duration, err error) {
	return Calm(ctx, k.quiet, k.patience, ReadLoad)
}

// A Timed comparison has its wall time in whole seconds, the share of the cores that others used
// meanwhile, and the reason why it is not complete.
type Timed struct {
	Compared
	Seconds, Others float64
	Problem         string
}

// Timed carries out a comparison that ends within a time; see [Bench.Compare]. One that is not
// complete is no error.
func (k *Keeper[O]) Timed(
	ctx context.Context,
	within time.Duration,
	host string,
	seed uint64,
	verb string,
	args ...string,
) (t Timed, err error) {
	was, err := ReadLoad()
	if err != nil {
		return t, err
	}
	began := time.Now()
	until, stop := context.WithTimeoutCause(ctx, within, errors.New("it was ended by its deadline"))
	defer stop()
	var failed error
	t.Compared, failed = k.Compare(until, host, seed, verb, args...)
	if ctx.Err() != nil {
		return t, context.Cause(ctx)
	}
	if failed != nil {
		t.Problem = OneLine(failed.Error())
	}
	now, err := ReadLoad()
	t.Seconds, t.Others = math.Round(time.Since(began).Seconds()), now.Since(was, t.CPU)
	return t, err
}

// Digest stands for a text.
func Digest(text string, bytes int) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x", sum[:bytes])
}

// Now is the present in UTC, to the second.
func Now() time.Time { return time.Now().UTC().Truncate(time.Second) }
