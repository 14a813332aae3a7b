package server

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// storeEnv is the name of the environment variable with the address of a store.
func storeEnv(role string) string { return "NEWSFEED_" + strings.ToUpper(role) }

// ErrUsage is wrapped by errors of Main that are about its arguments.
var ErrUsage = errors.New("usage")

// Parse parses the arguments of a command that takes flags alone. Help goes to stdout; a mistake is
// wrapped in [ErrUsage], and not printed.
func Parse(fs *flag.FlagSet, args []string, stdout io.Writer) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(stdout)
		fs.Usage()
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUsage, err)
	case fs.NArg() > 0:
		return fmt.Errorf("%w: unexpected argument %q", ErrUsage, fs.Arg(0))
	}
	return nil
}

// Main is the command "newsfeed": it serves until ctx ends; with "store" as its first argument it
// is one of the own stores. The DSN comes through env, from the variable that -dsn-env names, and
// so may the addresses of other stores. When it is ready, one line "newsfeed: listening on
// http://ADDRESS", or "newsfeed: KIND store on ADDRESS", goes to stdout; everything else to stderr.
func Main(
	ctx context.Context,
	args []string,
	env func(string) string,
	stdout, stderr io.Writer,
) error {
	if len(args) > 0 && args[0] == "store" {
		return storeMain(ctx, args[1:], stdout)
	}
	var cfg Config
	fs := flag.NewFlagSet("newsfeed", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprint(
			fs.Output(),
			"usage: newsfeed [flags]          the service\n       newsfeed store [flags]    a store of its own\n       newsfeed perf [flags]     figures per minute from the telemetry\n\nflags of the service:\n",
		)
		fs.PrintDefaults()
	}
	fs.StringVar(
		&cfg.Listen,
		"listen",
		DefaultListen,
		"`address` to serve on; port 0 picks a free one",
	)
	dsnEnv := fs.String(
		"dsn-env",
		"NEWSFEED_DSN",
		"`name` of the environment variable with the DSN, postgres://... or mysql://...",
	)
	fs.StringVar(&cfg.Redis, "redis", "", "`address` of Redis; without one nothing is cached")
	stores := map[string]*string{KindWide: &cfg.Wide, KindSearch: &cfg.Search, KindBus: &cfg.Bus}
	for role, at := range stores {
		fs.StringVar(
			at,
			role,
			"",
			"`address` of the "+role+" store: "+forms[role]+"; with a password only in the environment, as "+storeEnv(
				role,
			),
		)
	}
	fs.StringVar(&cfg.API, "api", APIBoth, "`generation` of the interface: legacy, rest or both")
	fs.StringVar(
		&cfg.Index,
		"index",
		IndexRefresh,
		"refresh: a story is found at the index's next refresh; commit: before it is acknowledged",
	)
	fs.BoolVar(
		&cfg.Repeats,
		"repeats",
		false,
		"a story goes to a friend once per friendship, as in the first releases of the studied service, not once",
	)
	fs.BoolVar(
		&cfg.Array,
		"array",
		false,
		"answer the creation of a participant with an array of one, as some releases did",
	)
	fs.IntVar(
		&cfg.MaxConns,
		"max-conns",
		DefaultMaxConns,
		"connections to the database, and to Redis",
	)
	fs.DurationVar(
		&cfg.StoreTimeout,
		"store-timeout",
		DefaultStoreTimeout,
		"longest wait for one call to a store",
	)
	if err := Parse(fs, args, stdout); err != nil {
		return err
	}
	for role, at := range stores {
		if strings.Contains(*at, "@") {
			return fmt.Errorf("newsfeed: -%s: %w, as %s", role, errOpenPassword, storeEnv(role))
		}
		*at = cmp.Or(*at, env(storeEnv(role)))
	}
	if cfg.DSN = env(*dsnEnv); cfg.DSN == "" {
		return fmt.Errorf("newsfeed: the environment variable %s holds no DSN", *dsnEnv)
	}
	cfg.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := New(ctx, cfg)
	if err != nil {
		return fmt.Errorf("newsfeed: %w", err)
	}
	fmt.Fprintf(stdout, "newsfeed: listening on http://%s\n", s.Addr())
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("newsfeed: %w", err)
	}
	return nil
}

func storeMain(ctx context.Context, args []string, stdout io.Writer) error {
	var cfg StoreConfig
	fs := flag.NewFlagSet("newsfeed store", flag.ContinueOnError)
	fs.StringVar(
		&cfg.Kind,
		"kind",
		"",
		"wide (in the place of Cassandra), search (OpenSearch) or bus (Kafka)",
	)
	fs.StringVar(
		&cfg.Listen,
		"listen",
		"127.0.0.1:0",
		"`address` to serve on; port 0 picks a free one",
	)
	fs.StringVar(&cfg.Dir, "dir", "", "`directory` of its file; default a temporary one")
	fs.DurationVar(
		&cfg.Sync,
		"sync",
		DefaultSync,
		"how often what was written is forced to disk; 0: each record at once",
	)
	fs.Int64Var(
		&cfg.Most,
		"max-bytes",
		0,
		"`bytes` beyond which the store is full; 0: what the disk has",
	)
	if err := Parse(fs, args, stdout); err != nil {
		return err
	}
	s, err := NewStore(ctx, cfg)
	if err != nil {
		return fmt.Errorf("newsfeed store: %w", err)
	}
	fmt.Fprintf(stdout, "newsfeed: %s store on %s\n", cfg.Kind, s.Addr())
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("newsfeed store: %w", err)
	}
	return nil
}
