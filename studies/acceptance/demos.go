package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/files"
	"plimsoll/studies/study"
)

// A demo is one start of scripts/demo.sh.
type demo struct {
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Machine string    `json:"machine"`
	Host    string    `json:"host"`
	Note    string    `json:"note,omitempty"` // what is known of the host besides
	Fault   string    `json:"fault"`          // planted, or none
	Seed    uint64    `json:"seed"`
	Seconds float64   `json:"seconds"` // of all, set-up and build included
	Wall    string    `json:"wall_time,omitempty"`
	Status  int       `json:"status"`
	// Whole of Planned blocks had no run that was void; both are 0 where the demo did not say.
	Whole   int    `json:"blocks_whole"`
	Planned int    `json:"blocks_planned"`
	Verdict string `json:"verdict,omitempty"` // of each database: postgresql=worse mysql=worse
	Last    string `json:"last_line"`
}

// The outcomes of demos.
const (
	demoFound   = "found"
	demoMissed  = "missed"
	demoSame    = "same"
	demoOpen    = "no difference"
	demoAlarm   = "false alarm"
	demoWithout = "no verdict"
	demoBroken  = "broken"
)

// outcome classifies a demo by its last line.
func (d demo) outcome() string {
	for _, o := range []struct{ begins, outcome string }{
		{"demo: found: ", demoFound},
		{"demo: not found ", demoMissed},
		{"demo: same on every database, ", demoSame},
		{"demo: no difference found, ", demoOpen},
		{"demo: false alarm: ", demoAlarm},
		{"demo: no verdict ", demoWithout},
	} {
		if strings.HasPrefix(d.Last, o.begins) {
			return o.outcome
		}
	}
	return demoBroken
}

var (
	wholeRE   = regexp.MustCompile(`(?m)^Performance Comparison .*, (\d+) of (\d+) blocks judged`)
	wallRE    = regexp.MustCompile(`(?m)^wall time (\S+)`)
	verdictRE = regexp.MustCompile(`(?m)^verdict: (.+)`)
)

// read takes what the demo printed.
func (d *demo) read(screen string) {
	if m := wholeRE.FindStringSubmatch(screen); m != nil {
		d.Whole, _ = strconv.Atoi(m[1]) // digits
		d.Planned, _ = strconv.Atoi(m[2])
	}
	if m := wallRE.FindStringSubmatch(screen); m != nil {
		d.Wall = m[1]
	}
	if m := verdictRE.FindStringSubmatch(screen); m != nil {
		d.Verdict = m[1]
	}
	d.Last = "nothing was printed"
	for line := range strings.Lines(screen) {
		if line = strings.TrimSpace(line); line != "" {
			d.Last = line
		}
	}
}

// demosFile has a line for each demo that was made.
const demosFile = "demos.jsonl"

func loadDemos(dir string) ([]demo, error) {
	return files.ReadJSONLines[demo](filepath.Join(dir, demosFile))
}

// demos makes demos one after the other, keeps each outcome and writes the tables.
func demos(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("acceptance demos", flag.ContinueOnError)
	var b bench
	fs.StringVar(&b.neighbor, "neighbor", "", "`path` of a neighbor, built from bench/neighbor, that disturbs the target's core (default none)")
	fs.StringVar(&b.results, "results", defaultResults, "`directory` of the outcomes")
	script := fs.String("script", "scripts/demo.sh", "`path` of the demo")
	n := fs.Int("n", 1, "how many demos to make")
	fault := fs.String("fault", "cpu:25%", "the slowdown that is planted, or none")
	note := fs.String("note", "", "what is known of the host, for the table")
	within := fs.Duration("within", 0, "begin no demo that would end after this `time` from now; 0 is without end")
	table := fs.Bool("table", false, "run nothing: write the tables of the outcomes that there are")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if *n < 1 || *n > 100 {
		return fmt.Errorf("-n %d: want 1 to 100", *n)
	}
	b.commit = study.Revision()
	done, err := loadDemos(b.results)
	if err != nil {
		return err
	}
	began, longest := time.Now(), time.Duration(0)
	for i := 0; i < *n && !*table; i++ {
		if *within > 0 && time.Since(began)+longest > *within {
			break
		}
		start := time.Now()
		d := demo{Note: *note, Fault: *fault, Seed: nextSeed(done, study.Host(b.neighbor), *fault)}
		if err := b.demo(ctx, *script, &d); err != nil {
			return err
		}
		longest = max(longest, time.Since(start))
		if err := study.Append(filepath.Join(b.results, demosFile), d); err != nil {
			return err
		}
		done = append(done, d)
		fmt.Printf("demo %d of %d, seed %d, %s: %s after %s\n", i+1, *n, d.Seed, d.Host, d.outcome(), seconds(d.Seconds))
	}
	text := demoTables(done)
	fmt.Print(text)
	return study.Insert(filepath.Join(b.results, page), demosPart, text)
}

// nextSeed returns one more than the largest seed of the demos on a kind of host with a fault.
func nextSeed(done []demo, host, fault string) uint64 {
	last := uint64(0)
	for _, d := range done {
		if d.Host == host && d.Fault == fault {
			last = max(last, d.Seed)
		}
	}
	return last + 1
}

// demo makes one demo. Only one that was interrupted is an error: any other outcome is kept.
func (b bench) demo(ctx context.Context, script string, d *demo) error {
	d.Host, d.Commit, d.Machine = study.Host(b.neighbor), b.commit, study.Machine()
	began := time.Now()
	var screen bytes.Buffer
	cmd := exec.CommandContext(ctx, script, "-seed", strconv.FormatUint(d.Seed, 10))
	cmd.Env = append(os.Environ(), "FAULT="+d.Fault)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&screen, os.Stdout), os.Stderr
	if err := study.Beside(ctx, b.neighbor, d.Seed, cmd); err != nil {
		return fmt.Errorf("the demo: %w", err)
	}
	d.At, d.Seconds, d.Status = began.UTC().Truncate(time.Second), time.Since(began).Round(time.Second).Seconds(), cmd.ProcessState.ExitCode()
	d.read(screen.String())
	return nil
}

// demoTables writes the demos by host and fault, and each of them.
func demoTables(done []demo) string {
	if len(done) == 0 {
		return "No demo was recorded yet.\n"
	}
	type row struct{ host, fault string }
	var rows []row
	for _, d := range done {
		if r := (row{d.Host, d.Fault}); !slices.Contains(rows, r) {
			rows = append(rows, r)
		}
	}
	var b strings.Builder
	heads := []string{demoFound, demoMissed, demoSame, demoOpen, demoAlarm, demoWithout, demoBroken}
	fmt.Fprintf(&b, "| host | fault | demos | %s | median time | longest |\n|---|---|%s\n", strings.Join(heads, " | "), strings.Repeat("--:|", len(heads)+3))
	for _, r := range rows {
		count := map[string]int{}
		var times []float64
		for _, d := range done {
			if d.Host == r.host && d.Fault == r.fault {
				count[d.outcome()]++
				times = append(times, d.Seconds)
			}
		}
		slices.Sort(times)
		fmt.Fprintf(&b, "| %s | `%s` | %d |", r.host, r.fault, len(times))
		for _, h := range heads {
			fmt.Fprintf(&b, " %d |", count[h])
		}
		fmt.Fprintf(&b, " %s | %s |\n", seconds(times[len(times)/2]), seconds(times[len(times)-1]))
	}
	fmt.Fprintln(&b, "\n| date (UTC) | commit | host | fault | seed | time | status | whole blocks | outcome | last line |")
	fmt.Fprintln(&b, "|---|---|---|---|--:|--:|--:|--:|---|---|")
	for _, d := range done {
		host := d.Host
		if d.Note != "" {
			host += ": " + d.Note
		}
		last := strings.NewReplacer("|", "¦", "\n", " ").Replace(strings.TrimPrefix(d.Last, "demo: "))
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` | %d | %s | %d | %d of %d | **%s** | %s |\n", d.At.Format("2006-01-02 15:04"), d.Commit, host, d.Fault, d.Seed,
			seconds(d.Seconds), d.Status, d.Whole, d.Planned, d.outcome(), last)
	}
	return b.String()
}
