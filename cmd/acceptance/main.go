// Command acceptance compares real servers whose differences are known, and scores the verdicts of plimsoll.
//
// Each comparison has four arms: the base, the same again, one with nine tenths of the CPU time, and one whose posts
// take 20 ms longer. Every comparison leaves its outcome in docs/acceptance, also a wrong, a void or a broken one:
// none is discarded, and none is repeated until it fits. Its end screen stays in the store. A second start goes on
// where the first one ended, with the comparison that was cut short.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/report"
	"plimsoll/run/record"
)

// memory is where files lie in memory. Disks of rented machines are shared: a commit may wait for a second because of
// a neighbor, which is not a difference of the arms, and which no gate can see, since a slow disk is the target's.
const memory = "/dev/shm"

//go:embed plan.yaml
var planText string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "acceptance:", err)
		os.Exit(1)
	}
}

// A bench runs comparisons.
type bench struct {
	program, store, docs string
	commit               string
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("acceptance", flag.ContinueOnError)
	var b bench
	fs.StringVar(&b.program, "program", "bin/plimsoll", "`path` of plimsoll")
	fs.StringVar(&b.store, "store", filepath.Join(memory, "plimsoll-acceptance"), "`directory` of the runs, databases and end screens, best in memory; a comparison that was cut short is continued from it")
	fs.StringVar(&b.docs, "docs", "docs/acceptance", "`directory` of the outcomes")
	budget := fs.Duration("budget", 0, "begin no comparison that would end after this `time` from now; 0 is without end")
	only := fs.String("only", "", "`engine` (default all)")
	table := fs.Bool("table", false, "run nothing: write the table of what there is")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%q: there are no arguments", fs.Arg(0))
	}
	b.commit = revision()
	done, err := load(b.docs)
	if err != nil {
		return err
	}
	began, longest := time.Now(), time.Duration(0)
	for _, c := range planned() {
		if *table || has(done, c) || *only != "" && *only != c.Engine {
			continue
		}
		if *budget > 0 && time.Since(began)+longest > *budget {
			fmt.Fprintf(os.Stderr, "acceptance: the next comparison would not end in time; start again to go on\n")
			break
		}
		start := time.Now()
		o, err := b.compare(ctx, c)
		if err != nil {
			return fmt.Errorf("%s, seed %d: %w", c.Engine, c.Seed, err)
		}
		longest = max(longest, time.Since(start))
		done = append(done, o)
		fmt.Println(o.text())
	}
	s := score(done)
	if err := write(b.docs, s); err != nil {
		return err
	}
	fmt.Print(s.table())
	return s.verdict()
}

// A comparison is one that is to be made.
type comparison struct {
	Engine string `json:"engine"`
	Seed   uint64 `json:"seed"`
}

// planned are five comparisons on PostgreSQL and one on MySQL.
func planned() []comparison {
	var out []comparison
	for seed := uint64(1); seed <= 5; seed++ {
		out = append(out, comparison{"postgresql", seed})
	}
	return append(out, comparison{"mysql", 6})
}

func (c comparison) plan() string {
	return strings.NewReplacer("SEED", strconv.FormatUint(c.Seed, 10), "ENGINE", c.Engine).Replace(planText)
}

// planDigest stands for the plan of all comparisons and for the rules by which their findings are scored: a finding
// that is explained after it was seen would be no test.
func planDigest() string {
	sum := sha256.Sum256(fmt.Append([]byte(planText), inside, throughput))
	return hex.EncodeToString(sum[:8])
}

// compare runs one comparison, or goes on with it.
func (b bench) compare(ctx context.Context, c comparison) (outcome, error) {
	if err := os.MkdirAll(b.store, 0o755); err != nil {
		return outcome{}, err
	}
	args := []string{"compare", "-json", "-store", b.store, "-calibrate=false"}
	if id := b.unfinished(c); id != "" {
		args = append(args, "-resume", id)
	} else {
		file := b.file(c, "yaml")
		if err := errors.Join(os.WriteFile(file, []byte(c.plan()), 0o644), os.WriteFile(b.file(c, "rules"), []byte(planDigest()), 0o644)); err != nil {
			return outcome{}, err
		}
		args = append(args, file)
	}
	began := time.Now()
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, b.program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return outcome{}, context.Cause(ctx)
	}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) {
		return outcome{}, err
	}
	o := outcome{comparison: c, At: began.UTC(), Commit: b.commit, Host: host(), Plan: planDigest(), Status: cmd.ProcessState.ExitCode()}
	var doc report.Document
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		return outcome{}, fmt.Errorf("plimsoll %s ended with status %d and no report: %w", strings.Join(args, " "), o.Status, err)
	}
	if !doc.State.Complete {
		return outcome{}, fmt.Errorf("comparison %s is not complete (%s); start again to go on", doc.Comparison, doc.State.Why)
	}
	o.read(doc)
	return o, keep(b.docs, b.store, o, doc)
}

// file is the file in the store with the inputs of a comparison: its plan, and the digest of plan and
// rules.
func (b bench) file(c comparison, kind string) string {
	return filepath.Join(b.store, fmt.Sprintf("%s-%d.%s", c.Engine, c.Seed, kind))
}

// unfinished returns the comparison of this engine and seed that was cut short, or "". One that began under another
// plan, or under other rules for its findings, is none.
func (b bench) unfinished(c comparison) string {
	if began, err := os.ReadFile(b.file(c, "rules")); err != nil || string(began) != planDigest() {
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
		if !strings.Contains(have.Plan, fmt.Sprintf("seed: %d\n", c.Seed)) || have.Name != "acceptance" || !slices.Equal(have.Engines, []string{c.Engine}) {
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

// revision is the commit that runs, marked when files that git knows were changed.
func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	commit := strings.TrimSpace(string(out))
	if out, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no", "--", ":!docs/acceptance").Output(); err != nil || len(out) > 0 {
		commit += "-changed"
	}
	return commit
}

func host() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return fmt.Sprintf("%s %s, %d cores", runtime.GOOS, strings.TrimSpace(string(release)), runtime.NumCPU())
}
