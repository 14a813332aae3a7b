// Package serve holds the verb that serves the console, or the series of a run.
package serve

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"plimsoll/cmd/internal/app"
	"plimsoll/console"
	"plimsoll/internal/built"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/export"
)

// Serve shows the console, or answers the Prometheus HTTP API over a run.
func Serve(ctx context.Context, a *app.App) error {
	fs := a.Flags
	root := a.StoreFlag()
	id := fs.String(
		"prometheus",
		"",
		"the `run` whose series are served by the Prometheus HTTP API: its id, a prefix of it, its directory, or last",
	)
	listen := fs.String(
		"listen",
		"",
		"`address` to listen at: "+app.ConsoleAddress+" for the console, which needs -tokens beyond the loopback device and speaks TLS there; "+
			"with -prometheus 127.0.0.1:9090, and beyond the loopback device any host that reaches it can read the run",
	)
	steer := fs.Bool(
		"steer",
		false,
		"everybody who reaches the console without -tokens may start, stop and steer",
	)
	tokens := fs.String(
		"tokens",
		"",
		"`file` of the tokens by which people log in to the console: lines of a role (viewer, operator) and a token",
	)
	conf := console.Config{
		Version: built.This().Version,
		Open:    console.Viewer,
		Parse:   a.Known().Parse,
		Catalog: a.Catalog(),
		Series:  a.Program().SeriesAPI().Stored,
	}
	fs.StringVar(&conf.Plans, "plans", "", "`directory` of plans that operators may start")
	var at console.Listening
	fs.StringVar(
		&at.Cert,
		"tls-cert",
		"",
		"`file` of the console's certificate; by default one of its own in the store",
	)
	fs.StringVar(&at.Key, "tls-key", "", "`file` of its key")
	if _, err := a.Parse(0, 0); err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	if *id != "" {
		return serveSeries(ctx, a, st, *id, cmp.Or(*listen, "127.0.0.1:9090"))
	}
	if *tokens != "" {
		if conf.Tokens, err = console.ReadTokens(*tokens); err != nil {
			return plan.UsageError{Err: err}
		}
	}
	if *steer {
		conf.Open = console.Operator
	}
	conf.Store, at.Address = st, cmp.Or(*listen, app.ConsoleAddress)
	return serveConsole(ctx, a, conf, at)
}

// serveConsole serves the console until ctx is done.
func serveConsole(
	ctx context.Context,
	a *app.App,
	conf console.Config,
	at console.Listening,
) (err error) {
	if conf.Program, err = os.Executable(); err != nil {
		return err
	}
	c := console.New(conf)
	l, url, pin, err := c.Listen(at)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	a.Printf("console: %s\n", url)
	if pin != "" {
		a.Printf("certificate: SHA-256 %s\n", pin)
	}
	return c.Serve(ctx, l)
}

// serveSeries answers the Prometheus HTTP API over the series of a run until ctx is done.
func serveSeries(ctx context.Context, a *app.App, st *store.Store, id, address string) error {
	r, err := st.Run(id)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	f, err := export.Follow(filepath.Join(r.Dir, record.SeriesDir))
	if err != nil {
		return err
	}
	defer f.Close()
	if first, last, ok := f.DB.Bounds(); ok {
		a.Tellf("plimsoll: run %s, series from %s to %s\n",
			r.Manifest.ID, first.Format(time.RFC3339), last.Format(time.RFC3339))
	} else {
		a.Tellf("plimsoll: run %s has no series\n", r.Manifest.ID)
	}
	if !f.DB.Sealed() {
		a.Tellf(
			"plimsoll: the run was not closed: it was killed or is going on. Its log is read anew while it grows, at the cost of CPU time on this host; run -serve answers from the run itself\n",
		)
	}
	if err := f.DB.Damage(); err != nil {
		a.Tellf("plimsoll: %v\n", err)
	}
	return a.Program().SeriesAPI().ServeStored(ctx, address, "-listen", f)
}
