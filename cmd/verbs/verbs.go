package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"plimsoll/cmd/exit"
	"plimsoll/cmd/internal/shipped"
	"plimsoll/cmd/internal/usage"
	"plimsoll/internal/boundary"
	"plimsoll/internal/built"
	"plimsoll/internal/plain"
	"plimsoll/run/deploy"
	"plimsoll/run/session"
)

// A verb is one of plimsoll's commands.
type verb struct {
	name, args, short string
	// run parses its own flags from fs, which is named; run returns [flag.ErrHelp] when help is asked for.
	run func(a *app, ctx context.Context, fs *flag.FlagSet, args []string) error
}

func (a *app) verbs() []verb {
	all := []verb{
		{"demo", "", "compare two builds of the reference chat server on real databases, from nothing", (*app).demo},
		{"run", "PLAN.yaml|URL", "one bounded trial; with a URL: a first answer about a server, in a minute", (*app).bounded},
		{"capacity", "PLAN.yaml|URL", "search for the supported users", (*app).capacity},
		{"sizing", "PLAN.yaml|URL", "load steps with a grade each: how many users a machine holds, its limiter, its cost", (*app).sizing},
		{"init", "[-o FILE]", "five questions, and a plan with comments", (*app).initPlan},
		{"compare", "OLD NEW | [-aa] PLAN.yaml | -resume ID|last", "two servers, or arms × databases, in interleaved blocks, with a verdict and a report", (*app).compare},
		{"judge", "FILE...|COMPARISON|last", "a verdict on numbers that you already have: pairs as CSV, files of k6, Locust, load-test-ng, stored runs", (*app).judge},
		{"report", "COMPARISON|SIZING|last|FILE...|trend COMPARISON|last|FILE|DIR...", "render a stored comparison or sizing again, or numbers as judge takes them; capacity over releases", (*app).report},
		{"ls", "[-aa]", "list the store's runs, or the noise found by comparisons of a build with itself", (*app).ls},
		{"show", "RUN|last", "one run: phases, operations, rules, validity", (*app).show},
		{"serve", "[-prometheus RUN|last]", "the console in a browser; or the Prometheus HTTP API over a stored run, for Grafana", (*app).serve},
		{"target", "up|down|status|verify PLAN.yaml|URL", "a plan's system under test by itself; verify: prove every action on any server", (*app).target},
		{"plan", "check|print|schema|mix [PLAN.yaml]", "validate a plan, print it with defaults, JSON Schema for editors; import a mix", (*app).plan},
		{"data", "generate|snapshot|restore|verify|info ...", "a server's data before a test: make, keep, restore and check it", (*app).data},
		{"calibrate", "", "rate this host: how many operations and users its generator can drive", (*app).calibrate},
		{"agent", "-join URL|-probe|-stdio", "users of runs that another host leads; or this host's probes for them, over HTTPS", (*app).agent},
		{"fleet", "[-new-token FILE]", "which agents have joined, and what their hosts are; or the token of a new one", (*app).fleet},
		{"doctor", "[-role agent|proxy|app|db]", "limits and settings of this host that would spoil a test, with a remedy for each", (*app).doctor},
	}
	for _, s := range a.services() {
		for _, server := range s.Servers {
			all = append(all, serverVerb(server))
		}
	}
	return append(all, verb{"version", "[-json|-notices]", "the version of this program with commit, date and Go, or the licenses of the modules in it", (*app).version})
}

// onLinux are the verbs that need its kernel.
var onLinux = []string{"demo", "run", "capacity", "sizing", "compare", "target", "data", "calibrate", "agent", "doctor"}

// run is the program: it finds the verb, runs it, and returns the exit status.
func (a *app) run(ctx context.Context, args []string) int {
	defer a.gate()()
	a.args = args
	if a.caught == nil {
		a.caught = new(boundary.Panics)
	}
	if len(args) > 1 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "-h")
	}
	if len(args) == 0 || args[0] == "help" || usage.AsksHelp(args[:1]) {
		a.help()
		if len(args) == 0 {
			return exit.Usage
		}
		return exit.OK
	}
	name := args[0]
	if name == "-version" || name == "--version" {
		name = "version"
	}
	for _, v := range a.verbs() {
		if v.name == name {
			return a.runVerb(ctx, v, args[1:])
		}
	}
	plain.Fprintf(a.stderr, "plimsoll: %s\n", a.noVerb(name))
	return exit.Usage
}

// runVerb carries out one verb and returns the exit status.
func (a *app) runVerb(ctx context.Context, v verb, args []string) int {
	fs := flag.NewFlagSet(v.name, flag.ContinueOnError)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a.stop, a.clearance = cancel, new(session.Clearance)
	missing := a.missing
	if !slices.Contains(onLinux, v.name) {
		missing = nil
	}
	err := boundary.Do("the verb "+v.name, func() error {
		if missing != nil && !usage.AsksHelp(args) {
			return missing
		}
		return v.run(a, ctx, fs, args)
	})
	if p, ok := errors.AsType[*boundary.Panic](err); ok {
		a.panicked(p)
		return exit.Tool
	}
	var bad usage.Errors
	switch {
	case errors.Is(err, flag.ErrHelp):
		head := fmt.Sprintf("usage: plimsoll %s [flags] %s\n\n%s", v.name, v.args, v.short)
		if missing != nil {
			head += "\n\n" + missing.Error()
		}
		usage.Flags(a.stdout, head, fs)
	case errors.As(err, &bad):
		for _, text := range bad {
			plain.Fprintf(a.stderr, "plimsoll %s: %s\n", v.name, text)
		}
	case err != nil && !exit.Printed(err) && !unread(ctx, err):
		plain.Fprintf(a.stderr, "plimsoll %s: %v\n", v.name, err)
	}
	if a.caught.Any() {
		return exit.Worst(exit.Tool, exit.Of(err))
	}
	var by interrupted
	if code := exit.Of(err); code != exit.Tool || !errors.As(context.Cause(ctx), &by) {
		return code
	}
	return exit.OfSignal(by.signal)
}

// panicked reports a panic that no run has: on stderr, with its stack.
func (a *app) panicked(p *boundary.Panic) { a.caught.Report(a.stderr, p) }

func (a *app) newProgress() deploy.Progress { return a.program().NewReporter() }

// json writes v to stdout, indented.
func (a *app) json(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	out, _ := a.raw() // values keep characters that the gate would replace
	_, err := out.Write(a.secrets.JSON(b.Bytes()))
	return err
}

func (a *app) version(_ context.Context, fs *flag.FlagSet, args []string) error {
	notices := fs.Bool("notices", false, "print the licenses and notices of all modules in this program")
	asJSON := fs.Bool("json", false, "write the version as JSON")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	if *asJSON {
		return a.json(built.This())
	}
	if *notices {
		out, _ := a.raw() // licenses have form feeds
		_, err := io.WriteString(out, shipped.Notices)
		return err
	}
	_, err := plain.Fprintf(a.stdout, "plimsoll %v\n", built.This())
	return err
}
