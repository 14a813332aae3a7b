package verbs

import (
	"flag"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/plan"
	"plimsoll/rig"
	"plimsoll/run/record"
	"plimsoll/run/store"
)

// The command line is tested as its users see it: output, exit status and silence. Scripts have these commands:
//
//	status N COMMAND...             the command ends with this exit status
//	refuses TEXT ARG...             plimsoll ARG... is bad usage: an error has the text once, and nothing is printed
//	stored run FLAG... ID...        runs are put into the store
//	stored comparison FLAG... ID [BLOCK/ENGINE/ARM=RUN...]
//	                                so is a comparison of these runs, or of two runs a block that are made for it
//	stored sizing ID                so is a sizing without steps
//	stored lock ID                  a comparison is under way until the script ends
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			repo, err := filepath.Abs("../..")
			e.Setenv("REPO", repo)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": func(ts *testscript.TestScript, neg bool, args []string) {
				if got := endsWith(ts, args[1:]...); (got == args[0]) == neg {
					ts.Fatalf("exit status %s, want %s", got, args[0])
				}
			},
			"refuses": func(ts *testscript.TestScript, _ bool, args []string) {
				status := endsWith(ts, append([]string{"plimsoll"}, args[1:]...)...)
				if status != strconv.Itoa(rig.ExitUsage) || ts.ReadFile("stdout") != "" {
					ts.Fatalf("exit status %s, want %d and nothing on stdout", status, rig.ExitUsage)
				}
				if strings.Count(ts.ReadFile("stderr"), args[0]) != 1 {
					ts.Fatalf("want the error %q once", args[0])
				}
			},
			"stored": func(ts *testscript.TestScript, _ bool, args []string) { stored(t, ts, args) },
		},
	})
}

// endsWith runs a command and returns its exit status.
func endsWith(ts *testscript.TestScript, args ...string) string {
	if err := ts.Exec(args[0], args[1:]...); err != nil {
		return strings.TrimPrefix(err.Error(), "exit status ")
	}
	return "0"
}

// stored is the command of that name.
func stored(t *testing.T, ts *testscript.TestScript, args []string) {
	var s storedRun
	var step, ratio float64
	var file, state, why string
	var blocks, runs int
	f := flag.NewFlagSet("stored "+args[0], flag.ContinueOnError)
	f.Float64Var(&s.capacity, "capacity", 1000, "users, at least so many when negative")
	f.Float64Var(&step, "step", 0, "what each run has more than the one before it")
	f.BoolVar(&s.open, "open", false, "left unsealed, as by a kill")
	f.BoolVar(&s.invalid, "invalid", false, "not valid")
	f.BoolVar(&s.unstable, "unstable", false, "its search contradicts itself")
	f.BoolVar(&s.pilot, "pilot", false, "a pilot")
	f.BoolVar(&s.series, "series", false, "it has series")
	f.IntVar(&s.posts, "posts", 0, "a second")
	f.StringVar(&s.ended, "ended", "", "by the gate of this name, its search")
	f.StringVar(&s.target, "target", "", "its description")
	f.StringVar(&s.database, "database", "", "the name that its server reports")
	f.StringVar(&s.accounts, "accounts", "", "digest of the file of its users' accounts")
	f.StringVar(&file, "plan", "", "file of the plan")
	f.IntVar(&blocks, "blocks", 6, "blocks")
	f.Float64Var(&ratio, "ratio", 0.88, "of the new arm's capacity to the base's")
	f.StringVar(&state, "state", "", "of the comparison")
	f.StringVar(&why, "why", "", "of the state")
	f.IntVar(&runs, "runs", 0, "that it has, of those of its blocks")
	ts.Check(f.Parse(args[1:]))
	st, err := store.Open(ts.MkAbs(".plimsoll"))
	ts.Check(err)
	text := storedPlan
	if file != "" {
		text = ts.ReadFile(file)
		s.plan = text
	}
	id := f.Arg(0)
	switch args[0] {
	case "run":
		for i, id := range f.Args() {
			one := s
			one.id, one.capacity = id, s.capacity+step*float64(i)
			one.slower = 1 + max(0, step*float64(i))/1000
			putRun(t, st, one)
		}
		return
	case "sizing":
		ts.Check(st.SaveSizing(&record.Sizing{ID: id, Plan: text, State: record.Sealed}))
		return
	case "lock":
		unlock, err := st.LockComparison(id)
		ts.Check(err)
		ts.Defer(unlock)
		return
	}
	if f.NArg() == 1 {
		putComparison(t, st, id, text, blocks, ratio)
	} else {
		ts.Check(st.SaveComparison(comparisonOf(ts, st, id, text, f.Args()[1:])))
	}
	c, err := st.Comparison(id)
	ts.Check(err)
	if state != "" {
		c.State, c.Why = record.State(state), why
	}
	if runs > 0 {
		c.Runs = c.Runs[:runs]
	}
	ts.Check(st.SaveComparison(c))
}

// comparisonOf returns a comparison of stored runs, each given as BLOCK/ENGINE/ARM=RUN; block 0 is a pilot.
func comparisonOf(ts *testscript.TestScript, st *store.Store, id, text string, cells []string) *record.Comparison {
	p, err := plan.Parse([]byte(text))
	ts.Check(err)
	c := &record.Comparison{ID: id, Plan: text, PlanDigest: textDigest(text), Arms: []string{"base", "new"}, Engines: p.Database.Engine, State: record.Sealed}
	if len(c.Engines) == 0 {
		c.Engines = []string{""}
	}
	for i, cell := range cells {
		place, run, _ := strings.Cut(cell, "=")
		at := strings.Split(place, "/")
		block, err := strconv.Atoi(at[0])
		ts.Check(err)
		digest, err := record.DigestFile(filepath.Join(st.Root(), "runs", run, record.ManifestFile))
		ts.Check(err)
		c.Runs = append(c.Runs, record.ComparisonRun{Run: run, Digest: digest, Block: block, Order: i + 1, Engine: at[1], Arm: at[2], Pilot: block == 0, Valid: true})
		c.Blocks = max(c.Blocks, block)
	}
	return c
}
