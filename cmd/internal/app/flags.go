package app

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"plimsoll/cmd/internal/usage"
	"plimsoll/plan"
	"plimsoll/run/export"
	"plimsoll/run/users"
)

// CalibrateFlag adds the flag that leaves the self-test out.
func (a *App) CalibrateFlag() *bool {
	def := a.Env("PLIMSOLL_CALIBRATE") != "false"
	return a.Flags.Bool(
		"calibrate",
		def,
		"rate this host's generator for 20 s when this build has not done so here (environment PLIMSOLL_CALIBRATE=false: never)",
	)
}

// FleetFlags adds the flags of where agents on other hosts come to.
func (a *App) FleetFlags(d *users.Door) {
	a.Flags.StringVar(
		&d.URL,
		"nats",
		"",
		"`URL` of a NATS cluster that agents join, tls://HOST:PORT (default: a server in this process)",
	)
	a.Flags.StringVar(
		&d.Listen,
		"fleet-listen",
		"",
		"`address` of that server, such as 10.0.0.4:4222 (default 127.0.0.1:4222)",
	)
	a.Flags.StringVar(
		&d.Keys,
		"fleet-keys",
		"",
		"`file` with the keys of the fleet (default fleet.json in the store)",
	)
}

// StoreFlag adds the flag for the directory of the store.
func (a *App) StoreFlag() *string {
	return a.Flags.String(
		"store",
		a.DefaultStore(),
		"directory of runs and comparisons (environment PLIMSOLL_STORE)",
	)
}

// DefaultStore returns the directory of the store without the flag.
func (a *App) DefaultStore() string { return cmp.Or(a.Env("PLIMSOLL_STORE"), ".plimsoll") }

// OutwardFlags adds the flags of verbs that carry out runs.
func (a *App) OutwardFlags() {
	a.Out = new(export.Destinations)
	a.FleetFlags(&a.Door)
	a.ConsoleFlag()
	a.Flags.StringVar(
		&a.Out.Listen,
		"serve",
		"",
		"`address`, such as 127.0.0.1:9090, at which the runs under way answer the Prometheus HTTP API",
	)
	a.Flags.StringVar(
		&a.Out.Push,
		"remote-write",
		"",
		"`URL` of a server that is sent all series by Prometheus remote write; credentials by PLIMSOLL_REMOTE_WRITE_TOKEN or PLIMSOLL_REMOTE_WRITE_BASIC (user:password), or files named by these and _FILE",
	)
}

// ConsoleFlag adds the flag that shows what is carried out.
func (a *App) ConsoleFlag() {
	a.Flags.BoolVar(
		&a.Console,
		"console",
		false,
		"show it in a browser while it runs, at http://"+ConsoleAddress+": plimsoll serve as a process of its own",
	)
}

// PartFlags add the flags that choose a part of a plan.
func (a *App) PartFlags() (engine, arm *string) {
	engine = a.Flags.String(
		"database",
		"",
		"database engine, when the plan has several (default its first)",
	)
	return engine, a.Flags.String("arm", "", "arm, when the plan compares some (default base)")
}

// KeepFlag adds the flag that keeps the state of the systems under test.
func (a *App) KeepFlag() *bool {
	return a.Flags.Bool(
		"keep",
		false,
		"keep the state directories (databases, logs) of the systems under test in the store's directory state; "+
			"by default a finished command removes those that it made, and never one that was there before",
	)
}

// ConsoleAddress is the address at which the console listens by default.
const ConsoleAddress = "127.0.0.1:7575"

// Parse parses flags and checks how many arguments are left. The error is [flag.ErrHelp], or a
// [plan.UsageError], of [usage.Errors] if it is one of flags.
func (a *App) Parse(least, most int) ([]string, error) {
	fs, args := a.Flags, a.Given
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	var rest []string
	var bad usage.Errors
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		if err != nil {
			bad = append(bad, mistake(fs, err))
		}
		left := fs.Args()
		if len(left) == 0 || err != nil && len(left) == len(args) {
			break
		}
		if args = left; err == nil {
			rest, args = append(rest, left[0]), left[1:]
		}
	}
	if len(bad) > 0 {
		return nil, plan.UsageError{Err: bad}
	}
	if len(rest) < least || len(rest) > most {
		want := fmt.Sprint(least)
		if most > least {
			want = fmt.Sprintf("%d to %d", least, most)
		}
		return nil, plan.Usagef(
			"%d arguments, want %s; see plimsoll %s -h",
			len(rest),
			want,
			fs.Name(),
		)
	}
	return rest, nil
}

// mistake is the message for an error of [flag.FlagSet.Parse]: of an unknown flag with its nearest
// one.
func mistake(fs *flag.FlagSet, err error) string {
	name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -")
	if !unknown {
		return err.Error()
	}
	var flags []string
	fs.VisitAll(func(f *flag.Flag) { flags = append(flags, "-"+f.Name) })
	return fmt.Sprintf(
		"no flag -%s; %s",
		name,
		usage.Nearest("-"+name, flags, "plimsoll help "+fs.Name()),
	)
}
