package refchat

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// ErrUsage is wrapped by errors of Main that are about its arguments.
var ErrUsage = errors.New("usage")

// Main is the command "refchat": it serves until ctx ends. c has what no flag sets. Secrets come
// from the environment: the flags -dsn-env, -dsn-replicas-env and -admin-password-env name the
// variables. When the server is ready, the line "refchat: listening on http://ADDRESS" goes to
// stdout, with -bus after "refchat: bus on ADDRESS"; everything else goes to stderr.
func (c Config) Main(
	ctx context.Context,
	args []string,
	env func(string) string,
	stdout, stderr io.Writer,
) error {
	cfg := Config{Around: c.Around}
	fs := flag.NewFlagSet("refchat", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	texts := func(name, usage string, to *[]string) {
		fs.Func(name, usage, func(s string) error {
			*to = append(*to, s)
			return nil
		})
	}
	fs.StringVar(&cfg.Listen, "listen", DefaultListen,
		"`address` to serve on; port 0 picks a free one")
	dsnEnv := fs.String("dsn-env", "REFCHAT_DSN",
		"`name` of the environment variable with the DSN, postgres://... or mysql://...")
	replicasEnv := fs.String("dsn-replicas-env", "REFCHAT_DSN_REPLICAS",
		"`name` of the environment variable with the DSNs of replicas to read from, spaces between")
	adminEnv := fs.String("admin-password-env", "REFCHAT_ADMIN_PASSWORD",
		"`name` of the environment variable with the administrator's password")
	fs.StringVar(&cfg.AdminUser, "admin", DefaultAdminUser, "`name` of the administrator to ensure")
	fs.StringVar(
		&cfg.Hash,
		"hash",
		DefaultHash,
		"password `hash`: bcrypt:COST or pbkdf2:ITERATIONS",
	)
	fs.StringVar(&cfg.Version, "version", DefaultVersion,
		"`version` of the real server to play: operations that came later are not there")
	fs.StringVar(&cfg.License, "license", DefaultLicense,
		"`license` to play: none, professional or enterprise")
	texts("quirk", "behave as some releases do, beyond what -version is known to (repeatable): "+
		strings.Join(quirks, ", "), &cfg.Quirks)
	fs.StringVar(&cfg.BusListen, "bus", "",
		"`address` for events of other servers on this database")
	fs.StringVar(&cfg.FilesDir, "files", "",
		"`directory` for uploaded files, default a temporary one")
	fs.IntVar(&cfg.MaxOpenConns, "max-conns", DefaultMaxOpenConns, "database connections")
	texts("peer", "bus `address` of another server (repeatable)", &cfg.BusPeers)
	texts("fault", "break something (repeatable): "+faultForms(), &cfg.Faults)
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fs.SetOutput(stdout)
		fs.Usage()
		return err
	} else if err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("%w: unexpected argument %q", ErrUsage, fs.Arg(0))
	}
	if cfg.DSN = env(*dsnEnv); cfg.DSN == "" {
		return fmt.Errorf("refchat: the environment variable %s holds no DSN", *dsnEnv)
	}
	cfg.DSNReplicas = strings.Fields(env(*replicasEnv))
	cfg.AdminPassword = env(*adminEnv)
	cfg.Log = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, err := New(ctx, cfg)
	if err != nil {
		return fmt.Errorf("refchat: %w", err)
	}
	if s.BusAddr() != "" {
		fmt.Fprintf(stdout, "refchat: bus on %s\n", s.BusAddr())
	}
	fmt.Fprintf(stdout, "refchat: listening on http://%s\n", s.Addr())
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("refchat: %w", err)
	}
	return nil
}
