package refnull

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// ErrUsage is wrapped by errors of Main that are about its arguments.
var ErrUsage = errors.New("usage")

// Main is the command "refnull": it serves until ctx ends. When the server is ready, one line
// "refnull: listening on http://ADDRESS" goes to stdout.
func Main(ctx context.Context, args []string, stdout io.Writer) error {
	var cfg Config
	fs := flag.NewFlagSet("refnull", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&cfg.Listen, "listen", "127.0.0.1:8075",
		"`address` to serve on; port 0 picks a free one")
	fs.DurationVar(&cfg.Delay, "delay", 0,
		"keep every answer back for so `long`; the header X-Refnull-Delay does it for one request")
	fs.IntVar(&cfg.Body, "body", DefaultBody, "`bytes` of the answer outside of the API")
	fs.BoolVar(&cfg.TLS, "tls", false, "serve TLS, with a certificate of its own making")
	cert := fs.String("cert", "",
		"with -tls: write the certificate to this `file`, for clients to trust")
	stall := fs.String("stall", "",
		"stop answering once: `FOR@AT`, such as 2s@20s; AT counts from the first request")
	fs.Float64Var(&cfg.Push, "push", 0, "posted `events` per second to every WebSocket")
	fs.IntVar(&cfg.Number, "number", 0,
		"`number` of this server among several of one test, whose ids differ")
	fs.StringVar(&cfg.Version, "version", DefaultVersion, "`version` to report")
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
	if *stall != "" {
		length, at, ok := strings.Cut(*stall, "@")
		var err1, err2 error
		cfg.StallFor, err1 = time.ParseDuration(length)
		cfg.StallAt, err2 = time.ParseDuration(at)
		if !ok || err1 != nil || err2 != nil {
			return fmt.Errorf("%w: -stall %s: want FOR@AT, such as 2s@20s", ErrUsage, *stall)
		}
	}
	if *cert != "" && !cfg.TLS {
		return fmt.Errorf("%w: -cert has no effect without -tls", ErrUsage)
	}
	s, err := New(cfg)
	if err != nil {
		return err
	}
	if *cert != "" {
		if err := os.WriteFile(*cert, s.Certificate(), 0o644); err != nil {
			s.ln.Close()
			return err
		}
	}
	fmt.Fprintf(stdout, "refnull: listening on %s\n", s.URL())
	return s.Run(ctx)
}
