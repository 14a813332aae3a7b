package perf

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"plimsoll/newsfeed/server"
)

// Main is the command "newsfeed perf": it reads a bus from its beginning, and writes a document for
// each key and closed minute to stdout, one JSON object per line, and into Elasticsearch or
// OpenSearch if there is one. Everything else goes to stderr, at the end the counts of the records.
// It ends with ctx.
func Main(
	ctx context.Context,
	args []string,
	env func(string) string,
	stdout, stderr io.Writer,
) error {
	fs := flag.NewFlagSet("newsfeed perf", flag.ContinueOnError)
	bus := fs.String(
		"bus",
		"",
		"`address` of the bus: HOST:PORT of an own one, or kafka://HOST:PORT[,HOST:PORT][/TOPIC]",
	)
	listen := fs.String(
		"listen",
		"",
		"`address` to serve its own metrics on, under /metrics; none without it",
	)
	elastic := fs.String(
		"elasticsearch-env",
		"",
		"`name` of the environment variable with the address of Elasticsearch or OpenSearch, http://[USER:PASSWORD@]HOST:PORT",
	)
	index := fs.String("index", DefaultIndex, "`index` there")
	f := Followed{
		Meter: &Meter{},
		Log:   slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	fs.DurationVar(
		&f.Config.Lateness,
		"lateness",
		DefaultLateness,
		"how long after a minute's end its records are waited for",
	)
	fs.BoolVar(
		&f.Perf3,
		"perf3",
		false,
		"as the studied program: minutes of arrival, four keys, whole milliseconds, zeros for idle minutes",
	)
	fs.BoolVar(&f.Once, "once", false, "end at the end of the bus instead of waiting for more")
	if err := server.Parse(fs, args, stdout); err != nil {
		return err
	}
	switch {
	case *bus == "":
		return errors.New("newsfeed perf: no address of a bus: give one with -bus")
	case f.Config.Lateness < 0:
		return fmt.Errorf("newsfeed perf: lateness %v: want 0 or more", f.Config.Lateness)
	}
	if f.Config.Lateness == 0 {
		f.Config.Lateness = -1 // none
	}
	b, err := server.OpenReader(*bus)
	if err != nil {
		return fmt.Errorf("newsfeed perf: %w", err)
	}
	defer b.Close()
	f.Source = b
	var bulk *Bulk
	if *elastic != "" {
		at := env(*elastic)
		if at == "" {
			return fmt.Errorf(
				"newsfeed perf: the environment variable %s holds no address",
				*elastic,
			)
		}
		if bulk, err = NewBulk(at, *index); err != nil {
			return fmt.Errorf("newsfeed perf: %w", err)
		}
	}
	out := json.NewEncoder(stdout)
	written := map[string]bool{} // documents that are on stdout and wait for Elasticsearch
	f.Sink = func(ctx context.Context, docs []Document) error {
		for _, d := range docs {
			if bulk != nil && written[d.ID()] {
				continue
			}
			if err := out.Encode(d); err != nil {
				return err
			}
			if bulk != nil {
				written[d.ID()] = true
			}
		}
		if bulk == nil {
			return nil
		}
		err := bulk.Put(ctx, docs)
		if _, refused := errors.AsType[*RefusedError](err); err == nil || refused {
			clear(written)
		}
		return err
	}
	end, err := serve(ctx, *listen, f.Meter, stderr)
	if err != nil {
		return fmt.Errorf("newsfeed perf: %w", err)
	}
	counts, err := Follow(ctx, f)
	text, jerr := json.Marshal(counts)
	fmt.Fprintf(stderr, "newsfeed perf: records %s\n", text)
	if err := errors.Join(err, jerr, end()); err != nil {
		return fmt.Errorf("newsfeed perf: %w", err)
	}
	return nil
}

// serve shows the meter over HTTP until end is called; nothing without an address.
func serve(
	ctx context.Context,
	addr string,
	m *Meter,
	stderr io.Writer,
) (end func() error, err error) {
	if addr == "" {
		return func() error { return nil }, nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(m)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	hs := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
	}
	done := make(chan error, 1)
	go func() { done <- hs.Serve(ln) }()
	fmt.Fprintf(stderr, "newsfeed perf: metrics on http://%s/metrics\n", ln.Addr())
	return func() error {
		err := hs.Close()
		if serr := <-done; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	}, nil
}
