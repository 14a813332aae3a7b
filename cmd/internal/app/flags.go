package app

import (
	"cmp"
	"flag"

	"plimsoll/run/export"
	"plimsoll/run/users"
)

// CalibrateFlag adds the flag that leaves the self-test out.
func (a *App) CalibrateFlag(fs *flag.FlagSet) *bool {
	def := a.Env("PLIMSOLL_CALIBRATE") != "false"
	return fs.Bool(
		"calibrate",
		def,
		"rate this host's generator for 20 s when this build has not done so here (environment PLIMSOLL_CALIBRATE=false: never)",
	)
}

// FleetFlags adds the flags of where agents on other hosts come to.
func FleetFlags(fs *flag.FlagSet, d *users.Door) {
	fs.StringVar(
		&d.URL,
		"nats",
		"",
		"`URL` of a NATS cluster that agents join, tls://HOST:PORT (default: a server in this process)",
	)
	fs.StringVar(
		&d.Listen,
		"fleet-listen",
		"",
		"`address` of that server, such as 10.0.0.4:4222 (default 127.0.0.1:4222)",
	)
	fs.StringVar(
		&d.Keys,
		"fleet-keys",
		"",
		"`file` with the keys of the fleet (default fleet.json in the store)",
	)
}

// StoreFlag adds the flag for the directory of the store.
func (a *App) StoreFlag(fs *flag.FlagSet) *string {
	return fs.String(
		"store",
		a.DefaultStore(),
		"directory of runs and comparisons (environment PLIMSOLL_STORE)",
	)
}

// DefaultStore returns the directory of the store without the flag.
func (a *App) DefaultStore() string { return cmp.Or(a.Env("PLIMSOLL_STORE"), ".plimsoll") }

// OutwardFlags adds the flags of verbs that carry out runs.
func (a *App) OutwardFlags(fs *flag.FlagSet) {
	a.Out = new(export.Destinations)
	FleetFlags(fs, &a.Door)
	a.ConsoleFlag(fs)
	fs.StringVar(
		&a.Out.Listen,
		"serve",
		"",
		"`address`, such as 127.0.0.1:9090, at which the runs under way answer the Prometheus HTTP API",
	)
	fs.StringVar(
		&a.Out.Push,
		"remote-write",
		"",
		"`URL` of a server that is sent all series by Prometheus remote write; credentials by PLIMSOLL_REMOTE_WRITE_TOKEN or PLIMSOLL_REMOTE_WRITE_BASIC (user:password), or files named by these and _FILE",
	)
}

// ConsoleFlag adds the flag that shows what is carried out.
func (a *App) ConsoleFlag(fs *flag.FlagSet) {
	fs.BoolVar(
		&a.Console,
		"console",
		false,
		"show it in a browser while it runs, at http://"+ConsoleAddress+": plimsoll serve as a process of its own",
	)
}

// PartFlags add the flags that choose a part of a plan.
func PartFlags(fs *flag.FlagSet) (engine, arm *string) {
	engine = fs.String(
		"database",
		"",
		"database engine, when the plan has several (default its first)",
	)
	return engine, fs.String("arm", "", "arm, when the plan compares some (default base)")
}

// KeepFlag adds the flag that keeps the state of the systems under test.
func KeepFlag(fs *flag.FlagSet) *bool {
	return fs.Bool(
		"keep",
		false,
		"keep the state directories (databases, logs) of the systems under test in the store's directory state; "+
			"by default a finished command removes those that it made, and never one that was there before",
	)
}

// ConsoleAddress is the address at which the console listens by default.
const ConsoleAddress = "127.0.0.1:7575"
