package verbs

import (
	"cmp"
	"context"
	"flag"
	"os"
	"path/filepath"
	"time"

	"plimsoll/cmd/internal/own"
	"plimsoll/console"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/export"
)

// serve shows the console, or answers the Prometheus HTTP API over a run.
// consoleAddress is where the console listens unless it is told otherwise.
const consoleAddress = "127.0.0.1:7575"

func (a *app) serve(ctx context.Context, fs *flag.FlagSet, args []string) error {
	root := a.storeFlag(fs)
	id := fs.String("prometheus", "", "the `run` whose series are served by the Prometheus HTTP API: its id, a prefix of it, its directory, or last")
	listen := fs.String("listen", "", "`address` to listen at: "+consoleAddress+" for the console, which needs -tokens beyond the loopback device and speaks TLS there; "+
		"with -prometheus 127.0.0.1:9090, and beyond the loopback device any host that reaches it can read the run")
	steer := fs.Bool("steer", false, "everybody who reaches the console without -tokens may start, stop and steer")
	tokens := fs.String("tokens", "", "`file` of the tokens by which people log in to the console: lines of a role (viewer, operator) and a token")
	conf := console.Config{Version: own.Version(), Open: console.Viewer, Parse: a.known().Parse, Catalog: a.catalog(),
		Series: a.program().SeriesAPI().Stored}
	fs.StringVar(&conf.Plans, "plans", "", "`directory` of plans that operators may start")
	var at console.Listening
	fs.StringVar(&at.Cert, "tls-cert", "", "`file` of the console's certificate; by default one of its own in the store")
	fs.StringVar(&at.Key, "tls-key", "", "`file` of its key")
	if _, err := parse(fs, args, 0, 0); err != nil {
		return err
	}
	st, err := store.Open(*root)
	if err != nil {
		return err
	}
	if *id == "" {
		if *tokens != "" {
			if conf.Tokens, err = console.ReadTokens(*tokens); err != nil {
				return plan.UsageError{Err: err}
			}
		}
		if *steer {
			conf.Open = console.Operator
		}
		if conf.Program, err = os.Executable(); err != nil {
			return err
		}
		conf.Store, at.Address = st, cmp.Or(*listen, consoleAddress)
		c := console.New(conf)
		l, url, pin, err := c.Listen(at)
		if err != nil {
			return plan.UsageError{Err: err}
		}
		plain.Fprintf(a.stdout, "console: %s\n", url)
		if pin != "" {
			plain.Fprintf(a.stdout, "certificate: SHA-256 %s\n", pin)
		}
		return c.Serve(ctx, l)
	}
	r, err := st.Run(*id)
	if err != nil {
		return plan.UsageError{Err: err}
	}
	f, err := export.Follow(filepath.Join(r.Dir, record.SeriesDir))
	if err != nil {
		return err
	}
	defer f.Close()
	if first, last, ok := f.DB.Bounds(); ok {
		plain.Fprintf(a.stderr, "plimsoll: run %s, series from %s to %s\n", r.Manifest.ID, first.Format(time.RFC3339), last.Format(time.RFC3339))
	} else {
		plain.Fprintf(a.stderr, "plimsoll: run %s has no series\n", r.Manifest.ID)
	}
	if !f.DB.Sealed() {
		plain.Fprintf(a.stderr, "plimsoll: the run was not closed: it was killed or is going on. Its log is read anew while it grows, at the cost of CPU time on this host; run -serve answers from the run itself\n")
	}
	if err := f.DB.Damage(); err != nil {
		plain.Fprintf(a.stderr, "plimsoll: %v\n", err)
	}
	return a.program().SeriesAPI().ServeStored(ctx, cmp.Or(*listen, "127.0.0.1:9090"), "-listen", f)
}

// outwardFlags adds the flags of verbs that carry out runs.
func (a *app) outwardFlags(fs *flag.FlagSet) {
	a.out = new(export.Destinations)
	fleetFlags(fs, &a.door)
	a.consoleFlag(fs)
	fs.StringVar(&a.out.Listen, "serve", "", "`address`, such as 127.0.0.1:9090, at which the runs under way answer the Prometheus HTTP API")
	fs.StringVar(&a.out.Push, "remote-write", "", "`URL` of a server that is sent all series by Prometheus remote write; credentials by PLIMSOLL_REMOTE_WRITE_TOKEN or PLIMSOLL_REMOTE_WRITE_BASIC (user:password), or files named by these and _FILE")
}

// consoleFlag adds the flag that shows what is carried out.
func (a *app) consoleFlag(fs *flag.FlagSet) {
	fs.BoolVar(&a.console, "console", false, "show it in a browser while it runs, at http://"+consoleAddress+": plimsoll serve as a process of its own")
}

// keepFlag adds the flag that keeps the state of the systems under test.
func keepFlag(fs *flag.FlagSet) *bool {
	return fs.Bool("keep", false, "keep the state directories (databases, logs) of the systems under test in the store's directory state; "+
		"by default a finished command removes those that it made, and never one that was there before")
}
