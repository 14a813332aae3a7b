package verbs

import (
	"bufio"
	"flag"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"plimsoll/cmd/exit"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/record/store/storetest"
)

// The command line is tested as its users see it: output, exit status and silence. Scripts have
// these commands:
//
//	status N COMMAND...             the command ends with this exit status
//	ends 'N M' COMMAND...           the command ends with one of these
//	null                            URL is the address of a null server, until the script ends
//	ran RUNS FILE                   the only run in the directory is of the plan as the file has it
//	refuses TEXT ARG...             plimsoll ARG... is bad usage: an error has the text once, and nothing is printed
//	stored run FLAG... ID...        runs are put into the store
//	stored comparison FLAG... ID [BLOCK/ENGINE/ARM=RUN...]
//	                                so is a comparison of these runs, or of two runs a block that are made for it
//	stored sizing ID                so is a sizing without steps
//	stored lock ID                  a comparison is under way until the script ends
func TestScripts(t *testing.T) {
	t.Parallel()
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
				if status != strconv.Itoa(exit.Usage) || ts.ReadFile("stdout") != "" {
					ts.Fatalf("exit status %s, want %d and nothing on stdout", status, exit.Usage)
				}
				if strings.Count(ts.ReadFile("stderr"), args[0]) != 1 {
					ts.Fatalf("want the error %q once", args[0])
				}
			},
			"ends": func(ts *testscript.TestScript, _ bool, args []string) {
				if got := endsWith(ts, args[1:]...); !slices.Contains(
					strings.Fields(args[0]),
					got,
				) {
					ts.Fatalf("exit status %s, want one of %s", got, args[0])
				}
			},
			"null": func(ts *testscript.TestScript, _ bool, _ []string) { startNull(ts) },
			"ran": func(ts *testscript.TestScript, _ bool, args []string) {
				found, err := filepath.Glob(
					filepath.Join(ts.MkAbs(args[0]), "*", record.ManifestFile),
				)
				if err != nil || len(found) != 1 {
					ts.Fatalf("runs %v, %v", found, err)
				}
				r, err := record.Open(filepath.Dir(found[0]))
				ts.Check(err)
				if want := ts.ReadFile(args[1]); r.Manifest.Plan != want {
					ts.Fatalf("the run is of the plan\n%s\nwant\n%s", r.Manifest.Plan, want)
				}
			},
			"stored": func(ts *testscript.TestScript, _ bool, args []string) {
				stored(t, ts, args)
			},
		},
	})
}

// startNull starts the program's null server.
func startNull(ts *testscript.TestScript) {
	path, err := exec.LookPath("plimsoll")
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), ":") {
		if one := filepath.Join(dir, "plimsoll"); err != nil {
			path, err = exec.LookPath(one)
		}
	}
	ts.Check(err)
	cmd := exec.Command(path, "refnull", "-listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	_, at, _ := strings.Cut(strings.TrimSpace(line), " on ")
	ts.Setenv("URL", at)
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
	var s storetest.StoredRun
	var step, ratio float64
	var file, state, why string
	var blocks, runs int
	f := flag.NewFlagSet("stored "+args[0], flag.ContinueOnError)
	f.Float64Var(&s.Capacity, "capacity", 1000, "users, at least so many when negative")
	f.Float64Var(&step, "step", 0, "what each run has more than the one before it")
	f.BoolVar(&s.Open, "open", false, "left unsealed, as by a kill")
	f.BoolVar(&s.Invalid, "invalid", false, "not valid")
	f.BoolVar(&s.Unstable, "unstable", false, "its search contradicts itself")
	f.BoolVar(&s.Pilot, "pilot", false, "a pilot")
	f.BoolVar(&s.Series, "series", false, "it has series")
	f.IntVar(&s.Posts, "posts", 0, "a second")
	f.StringVar(&s.Ended, "ended", "", "by the gate of this name, its search")
	f.StringVar(&s.Target, "target", "", "its description")
	f.StringVar(&s.Database, "database", "", "the name that its server reports")
	f.StringVar(&s.Accounts, "accounts", "", "digest of the file of its users' accounts")
	f.StringVar(&file, "plan", "", "file of the plan")
	f.IntVar(&blocks, "blocks", 6, "blocks")
	f.Float64Var(&ratio, "ratio", 0.88, "of the new arm's capacity to the base's")
	f.StringVar(&state, "state", "", "of the comparison")
	f.StringVar(&why, "why", "", "of the state")
	f.IntVar(&runs, "runs", 0, "that it has, of those of its blocks")
	ts.Check(f.Parse(args[1:]))
	st, err := store.Open(ts.MkAbs(".plimsoll"))
	ts.Check(err)
	text := storetest.Plan
	if file != "" {
		text = ts.ReadFile(file)
		s.Plan = text
	}
	id := f.Arg(0)
	switch args[0] {
	case "run":
		for i, id := range f.Args() {
			one := s
			one.ID, one.Capacity = id, s.Capacity+step*float64(i)
			one.Slower = 1 + max(0, step*float64(i))/1000
			storetest.Put(t, st, one)
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
		storetest.PutComparison(t, st, id, text, blocks, ratio)
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

// comparisonOf returns a comparison of stored runs, each given as BLOCK/ENGINE/ARM=RUN; block 0 is
// a pilot.
func comparisonOf(
	ts *testscript.TestScript,
	st *store.Store,
	id, text string,
	cells []string,
) *record.Comparison {
	p, err := plan.Parse([]byte(text))
	ts.Check(err)
	c := &record.Comparison{
		ID:         id,
		Plan:       text,
		PlanDigest: storetest.TextDigest(text),
		Arms:       []string{"base", "new"},
		Engines:    p.Database.Engine,
		State:      record.Sealed,
	}
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
		c.Runs = append(c.Runs, record.ComparisonRun{
			Run:    run,
			Digest: digest,
			Block:  block,
			Order:  i + 1,
			Engine: at[1],
			Arm:    at[2],
			Pilot:  block == 0,
			Valid:  true,
		})
		c.Blocks = max(c.Blocks, block)
	}
	return c
}
