package verbs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/app"
	"plimsoll/cmd/internal/bisection"
	"plimsoll/cmd/internal/datasets"
	"plimsoll/cmd/internal/execute"
	"plimsoll/cmd/internal/hosts"
	"plimsoll/cmd/internal/plans"
	"plimsoll/cmd/internal/read"
	"plimsoll/cmd/internal/serve"
	"plimsoll/cmd/internal/shipped"
	"plimsoll/cmd/internal/system"
	"plimsoll/cmd/internal/usage"
	"plimsoll/internal/boundary"
	"plimsoll/internal/built"
	"plimsoll/internal/plain"
	"plimsoll/run/session"
)

// serverVerb returns the verb of a service as the program carries it out.
func serverVerb(s session.ServerVerb) verb {
	run := func(ctx context.Context, a *app.App) error {
		return usage.Foreign(a.Stdout, a.Given, s.BadUsage, func(stdout io.Writer) error {
			return s.Run(ctx, a.Given, a.Env, stdout, a.Stderr)
		})
	}
	return verb{s.Name, s.Args, s.Short, run}
}

// A verb is one of plimsoll's commands.
type verb struct {
	name, args, short string
	run               app.Verb
}

// own are the verbs of every program.
var own = []verb{
	{"demo", "",
		"compare two builds of the reference chat server on real databases, from nothing", execute.Demo},
	{"run", "PLAN.yaml|URL",
		"one bounded trial; with a URL: a first answer about a server, in a minute", execute.Run},
	{"capacity", "PLAN.yaml|URL",
		"search for the supported users", execute.Capacity},
	{"sizing", "PLAN.yaml|URL",
		"load steps with a grade each: how many users a machine holds, its limiter, its cost", execute.Sizing},
	{"init", "[-o FILE]",
		"five questions, and a plan with comments", plans.Init},
	{"compare", "OLD NEW | [-aa] PLAN.yaml | -resume ID|last",
		"two servers, or arms × databases, in interleaved blocks, with a verdict and a report", execute.Compare},
	{"bisect", "-good REV -bad REV -build COMMAND PLAN.yaml | OLD ... NEW PLAN.yaml",
		"which commit, or which of several builds, moved an endpoint", bisection.Bisect},
	{"judge", "FILE...|COMPARISON|last",
		"a verdict on numbers that you already have: pairs as CSV, files of k6, Locust, load-test-ng, stored runs", read.Judge},
	{"report", "COMPARISON|SIZING|last|FILE...|trend COMPARISON|last|FILE|DIR...",
		"render a stored comparison or sizing again, or numbers as judge takes them; capacity over releases", read.Report},
	{"ls", "[-aa]",
		"list the store's runs, or the noise found by comparisons of a build with itself", read.Ls},
	{"show", "RUN|last",
		"one run: phases, operations, rules, validity", read.Show},
	{"serve", "[-prometheus RUN|last]",
		"the console in a browser; or the Prometheus HTTP API over a stored run, for Grafana", serve.Serve},
	{"target", "up|down|status|verify PLAN.yaml|URL",
		"a plan's system under test by itself; verify: prove every action on any server", system.Target},
	{"plan", "check|print|schema|mix [PLAN.yaml]",
		"validate a plan, print it with defaults, JSON Schema for editors; import a mix", plans.Plan},
	{"script", "check FILE.js|FILE.ts",
		"what of a script of k6 runs here, with a remedy for the rest", plans.Script},
	{"data", "generate|snapshot|restore|verify|info ...",
		"a server's data before a test: make, keep, restore and check it", datasets.Data},
	{"calibrate", "",
		"rate this host: how many operations and users its generator can drive", hosts.Calibrate},
	{"agent", "-join URL|-stdio",
		"users of runs that another host leads; or, with -role, this host's probes for them", hosts.Agent},
	{"fleet", "[-new-token FILE]",
		"which agents have joined, and what their hosts are; or the token of a new one", hosts.Fleet},
	{"doctor", "[-role agent|proxy|app|db]",
		"limits and settings of this host that would spoil a test, with a remedy for each", hosts.Doctor},
}

// verbs returns the verbs of a program: its own, those of its services, and version.
func verbs(a *app.App) []verb {
	all := slices.Clone(own)
	for _, s := range a.Services() {
		for _, server := range s.Servers {
			all = append(all, serverVerb(server))
		}
	}
	return append(all, verb{
		"version",
		"[-json|-notices]",
		"the version of this program with commit, date and Go, or the licenses of the modules in it",
		version,
	})
}

// onLinux are the verbs that need its kernel.
var onLinux = []string{
	"demo",
	"run",
	"capacity",
	"sizing",
	"compare",
	"bisect",
	"target",
	"data",
	"calibrate",
	"agent",
	"doctor",
}

// run is the program: it finds the verb, runs it, and returns the exit status.
func run(ctx context.Context, a *app.App, args []string) int {
	defer a.Gate()()
	a.Args = args
	if a.Caught == nil {
		a.Caught = new(boundary.Panics)
	}
	if len(args) > 1 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "-h")
	}
	if len(args) == 0 || args[0] == "help" || usage.AsksHelp(args[:1]) {
		help(a)
		if len(args) == 0 {
			return exit.Usage
		}
		return exit.OK
	}
	name := args[0]
	if name == "-version" || name == "--version" {
		name = "version"
	}
	for _, v := range verbs(a) {
		if v.name == name {
			return runVerb(ctx, a, v, args[1:])
		}
	}
	a.Tellf("plimsoll: %s\n", noVerb(a, name))
	return exit.Usage
}

// runVerb carries out one verb and returns the exit status.
func runVerb(ctx context.Context, a *app.App, v verb, args []string) int {
	a.Flags, a.Given = flag.NewFlagSet(v.name, flag.ContinueOnError), args
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.Stop, a.Clearance = cancel, new(session.Clearance)
	missing := a.Missing
	if !slices.Contains(onLinux, v.name) {
		missing = nil
	}
	err := boundary.Do("the verb "+v.name, func() error {
		if missing != nil && !usage.AsksHelp(args) {
			return missing
		}
		return v.run(ctx, a)
	})
	if p, ok := errors.AsType[*boundary.Panic](err); ok {
		a.Panicked(p)
		return exit.Tool
	}
	var bad usage.Errors
	switch {
	case errors.Is(err, flag.ErrHelp):
		head := fmt.Sprintf("usage: plimsoll %s [flags] %s\n\n%s", v.name, v.args, v.short)
		if missing != nil {
			head += "\n\n" + missing.Error()
		}
		usage.Flags(a.Stdout, head, a.Flags)
	case errors.As(err, &bad):
		for _, text := range bad {
			a.Tellf("plimsoll %s: %s\n", v.name, text)
		}
	case err != nil && !exit.Printed(err) && !unread(ctx, err):
		a.Tellf("plimsoll %s: %v\n", v.name, err)
	}
	if a.Caught.Any() {
		return exit.Worst(exit.Tool, exit.Of(err))
	}
	var by interrupted
	if code := exit.Of(err); code != exit.Tool || !errors.As(context.Cause(ctx), &by) {
		return code
	}
	return exit.OfSignal(by.signal)
}

func version(_ context.Context, a *app.App) error {
	notices := a.Flags.Bool(
		"notices",
		false,
		"print the licenses and notices of all modules in this program",
	)
	asJSON := a.Flags.Bool("json", false, "write the version as JSON")
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	if *asJSON {
		return a.JSON(built.This())
	}
	if *notices {
		out, _ := a.Raw() // licenses have form feeds
		_, err := io.WriteString(out, shipped.Notices)
		return err
	}
	_, err := plain.Fprintf(a.Stdout, "plimsoll %v\n", built.This())
	return err
}
