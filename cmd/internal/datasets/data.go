// Package datasets holds the verb for the contents of a server before a test: it makes, keeps,
// restores and checks them.
package datasets

import (
	"context"
	"flag"
	"fmt"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/internal/built"
	"plimsoll/plan"
	"plimsoll/reference/dataset/dump"
	"plimsoll/run/deploy/dumps"
)

// dataTimeout is the default limit of a data verb.
const dataTimeout = 2 * time.Hour

// Data makes, keeps, restores and checks the contents of a server before a test begins.
func Data(ctx context.Context, a *app.App) error {
	actions := map[string]app.Verb{
		"generate": dataGenerate,
		"snapshot": dataSnapshot,
		"restore":  dataRestore,
		"verify":   dataVerify,
		"info":     dataInfo,
	}
	args := a.Given
	if len(args) > 0 && actions[args[0]] != nil {
		a.Flags.Init("data "+args[0], flag.ContinueOnError)
		a.Given = args[1:]
		return actions[args[0]](ctx, a)
	}
	if len(args) > 0 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		return flag.ErrHelp
	}
	return plan.Usagef(
		"want data generate, snapshot, restore, verify or info; see plimsoll data generate -h and so on",
	)
}

// timed gives ctx the deadline of the flag -timeout.
func timed(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(
		ctx,
		d,
		fmt.Errorf("not done within %v; -timeout gives it longer", d),
	)
}

// maker returns what makes dumps, with the progress of the verb.
func maker(a *app.App) *dumps.Maker {
	return &dumps.Maker{Tool: built.This().Version, Progress: a.NewProgress()}
}

func dataSnapshot(ctx context.Context, a *app.App) error {
	fs := a.Flags
	database := fs.String("db", "chat", "name of the database in it")
	dsnEnv := fs.String(
		"dsn-env",
		"",
		"`name` of the environment variable with the DSN of a running database to back up, instead of a state directory",
	)
	timeout := fs.Duration("timeout", dataTimeout, "end after this time")
	asJSON := fs.Bool("json", false, "write the result as JSON")
	rest, err := a.Parse(1, 2)
	if err != nil {
		return err
	}
	dsn := ""
	if *dsnEnv != "" {
		dsn = a.Secret(*dsnEnv)
	}
	switch {
	case *dsnEnv != "" && dsn == "":
		return plan.Usagef("-dsn-env=%s: the environment variable is not set", *dsnEnv)
	case (*dsnEnv == "") != (len(rest) == 2):
		return plan.Usagef("want data snapshot STATE DIR, or data snapshot -dsn-env NAME DIR")
	}
	ctx, cancel := timed(ctx, *timeout)
	defer cancel()
	m := maker(a)
	defer m.Progress.End()
	began := time.Now()
	dir := rest[len(rest)-1]
	var d *dump.Dump
	if dsn != "" {
		d, err = m.Backup(ctx, dsn, dir)
	} else {
		d, err = m.Snapshot(ctx, rest[0], *database, dir)
	}
	if err != nil {
		return err
	}
	x := madeOf(dir, d, began)
	if *asJSON {
		return a.JSON(x)
	}
	a.Printf("%s: %s, %.2f GB, sha256 %s, in %.1f s\n",
		x.Dir, dumps.Text(d), float64(x.Bytes)/1e9, x.Digest[:12], x.Seconds)
	return nil
}
