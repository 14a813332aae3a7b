// Command faults limits a chat server in known ways and scores the limiter that plimsoll names.
//
// A topology of network namespaces (generator, nginx, two reference servers, PostgreSQL) is made
// again for each run, one thing in it is limited on purpose, and `plimsoll capacity` searches for
// its capacity, watching each role from within. The first limiter that it names is compared with
// the one that was injected. A fault that a counter does not show is not a hit, under any name.
//
// There are two suites: the faults that the limiter's constants were tuned on, and faults that none
// was, where UNKNOWN may be right and the right names stand in the suite before it runs. The
// results of the second are in studies/results/heldout.jsonl, and its table follows from them.
//
// It needs root, iproute2, nft, nginx, PostgreSQL and control groups with the controllers cpu and
// blkio (or io). It changes nothing of the host's own network, and removes all that it makes,
// including leftovers of a killed run.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/record"
	"plimsoll/studies/study"
)

func main() { study.Main(run) }

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == streamVerb { // a neighbor, started by a fault
		stream(ctx, streamBytes, streamMost)
		return nil
	}
	if len(args) > 1 && args[0] == serverVerb {
		return serve(ctx, args[1], args[2:])
	}
	fs := flag.NewFlagSet("faults", flag.ContinueOnError)
	program := fs.String("program", "bin/plimsoll", "`path` of plimsoll")
	dir := fs.String(
		"dir",
		"",
		"`directory` of results and runs; one that holds results is continued (default a new one below .plimsoll/faults)",
	)
	only := fs.String("only", "", "comma-separated `faults` (default all); -list shows them")
	suite := fs.String(
		"suite",
		tunedSuite,
		"`suite` of faults: tuned, on which the limiter's constants were tried, or heldout, on which none was",
	)
	runs := fs.Int("runs", 0, "runs of each fault, 1 to 50 (default 5, of heldout 2)")
	budget := fs.Duration("budget", 0, "longest `time` of a search (default 36s, of heldout 24s)")
	within := fs.Duration(
		"within",
		0,
		"begin no run after this `time`; what is missing is made when the directory is given again (default no limit)",
	)
	again := fs.Bool(
		"render",
		false,
		"run nothing: write the table from the results that -results holds",
	)
	busy := fs.Bool(
		"busy",
		false,
		"the machine does other work: open the generator's gates, to try a fault; the score counts for nothing",
	)
	published := fs.String(
		"results",
		"",
		"write the table into limiter.md of this `directory`, and the results into a file beside it",
	)
	list := fs.Bool("list", false, "list the faults")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	of, ok := suites[*suite]
	if !ok {
		return fmt.Errorf("-suite %s: want %s or %s", *suite, tunedSuite, heldOutSuite)
	}
	chosen := of.faults()
	if *again {
		if *published == "" {
			return errors.New("-render wants -results")
		}
		return render(*published, *suite, chosen)
	}
	*runs, *budget = cmp.Or(*runs, of.runs), cmp.Or(*budget, of.budget)
	if *list {
		for _, f := range chosen {
			fmt.Printf("%-12s %s: %s\n", f.name, strings.Join(f.right, " or "), f.what)
		}
		return nil
	}
	if *only == "" {
		chosen = slices.DeleteFunc(chosen, func(f fault) bool { return f.extra })
	} else {
		names := strings.Split(*only, ",")
		chosen = slices.DeleteFunc(chosen, func(f fault) bool {
			return !slices.Contains(names, f.name)
		})
		if len(chosen) != len(names) {
			return fmt.Errorf("-only %s: no such fault; -list shows them", *only)
		}
	}
	if *runs < 1 || *runs > 50 {
		return fmt.Errorf("-runs %d: want 1 to 50", *runs)
	}
	if *busy && *published != "" {
		return errors.New(
			"-busy with -results: what is measured on a machine that does other work is not published",
		)
	}
	if why := missing(); why != "" {
		return errors.New(why)
	}
	if *dir == "" {
		*dir = filepath.Join(".plimsoll", "faults", time.Now().UTC().Format("20060102-150405"))
	}
	b := bench{
		budget: *budget,
		busy:   *busy,
		log:    func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	if err := study.Absolute(program, dir); err != nil {
		return err
	}
	b.program, b.dir = *program, *dir
	if err := os.MkdirAll(b.dir, 0o755); err != nil {
		return err
	}
	results, err := load(b.dir)
	if err != nil {
		return err
	}
	results, err = b.all(ctx, chosen, results, *runs, of.tries, *within)
	if err != nil {
		return err
	}
	if err := finish(*published, *suite, chosen, results); err != nil {
		return err
	}
	for number := range *runs {
		for _, f := range chosen {
			if *suite == tunedSuite && triesOf(results, f.name, number+1, of.tries) < of.tries {
				return fmt.Errorf("run %d of %s is missing", number+1, f.name)
			}
		}
	}
	return nil
}

// needed is the share of runs of the tuned suite in which the limiter must be right first.
const needed = 0.95

// The suites.
const (
	tunedSuite   = "tuned"
	heldOutSuite = "heldout"
)

// A suite is a list of faults, with its part of the page, its target of make, and how often and for
// how long each fault is run when the flags do not say it.
type suite struct {
	faults       func() []fault
	part, target string
	runs, tries  int
	budget       time.Duration
}

var suites = map[string]suite{
	tunedSuite:   {faults, "faults", "faults", 5, mostTries, 36 * time.Second},
	heldOutSuite: {heldOut, "held-out faults", "faults-heldout", 2, 2, 24 * time.Second},
}

// all makes the runs that results lack, and returns all of them; a run that is void is made again
// until there were so many tries. With a time it begins none after it.
func (b bench) all(
	ctx context.Context,
	chosen []fault,
	results []result,
	runs, most int,
	within time.Duration,
) ([]result, error) {
	began := time.Now()
	// interleaved: a change of the machine meanwhile affects all alike
	for number := 1; number <= runs; number++ {
		for _, f := range chosen {
			for tries := triesOf(results, f.name, number, most); tries < most; tries++ {
				if within > 0 && time.Since(began) > within {
					b.log(
						"the time is over: run %d of %s and what follows are missing",
						number,
						f.name,
					)
					return results, nil
				}
				r, err := b.once(ctx, f.placed(results), number)
				if err != nil {
					return results, fmt.Errorf("fault %s: %w", f.name, err)
				}
				r.Try = tries + 1
				results = append(results, r)
				if err := study.Append(filepath.Join(b.dir, resultsFile), r); err != nil {
					return results, err
				}
				b.log("%s", r.line())
				if !r.void() {
					break
				}
			}
		}
	}
	return results, nil
}

// triesOf is how often a run was tried: most when it is not to be tried again.
func triesOf(results []result, fault string, number, most int) (tries int) {
	for _, r := range results {
		if r.Fault == fault && r.Number == number {
			tries++
			if !r.void() {
				return most
			}
		}
	}
	return tries
}

// missing returns the reason why no fault can be injected here, or "".
func missing() string {
	if os.Geteuid() != 0 {
		return "network namespaces need root"
	}
	for _, name := range []string{"ip", "nft", "nginx"} {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if _, err := os.Stat("/usr/sbin/" + name); err != nil {
			return name + " is not there; scripts/setup.sh installs it"
		}
	}
	if runtime.NumCPU() < 2 {
		return "servers and generator need a core each"
	}
	return ""
}

// placed returns the fault with its search begun at a bit less than half of the capacity that an
// earlier run found, as an operator who knows the system would: there must be time below the
// capacity and at it.
func (f fault) placed(earlier []result) fault {
	for _, r := range earlier {
		kind, users, ok := strings.Cut(r.Capacity, " ")
		n, err := strconv.Atoi(users)
		if ok && err == nil && r.Fault == f.name && kind == record.Estimate && n > 10 {
			f.start = max(5, n*45/100)
			f.most = max(f.most, 3*n)
		}
	}
	return f
}

const resultsFile = "results.jsonl"

// load reads the results that a directory holds: a line cut short is a run to repeat.
func load(dir string) ([]result, error) {
	all, _, err := study.Lines[result](filepath.Join(dir, resultsFile))
	return all, err
}
