// Command bench measures this generator and its peers side by side, on the same null server in one
// run.
//
// The server (package refnull, in a process of its own) has one core, each client in turn another.
// Rounds are interleaved and begin with another client each time, so that a change of the machine
// meanwhile affects all alike. A client is measured in a window after it has warmed up: requests as
// the server counted them, CPU time as the kernel charged it to the client's process tree. Each
// ratio therefore answers the same question, measured in the same way.
//
// The outcome is studies/results/benchmarks.md and benchmarks.json beside it. A peer that is not
// installed, or fails, is named in its row, and the exit status is 1; scripts/peers.sh installs
// them. With -short everything takes about two minutes.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

func main() { study.Main(run) }

// A setup holds the values that all measurements share.
type setup struct {
	root         string // of the repository
	peers        string // directory with the programs of peers
	program      string // bin/plimsoll
	self         string // this program
	server, core int    // cores of server and client
	rounds       int
	short        bool
	only         []string
	alone        bool // no peers: the clients that are built into this program
	sockets      int  // users of the test of many sockets
	agents       int  // of the fleet
	posts        int  // a second, of all agents together
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 && args[0] == "client" {
		return client(ctx, args[1:])
	}
	var s setup
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.StringVar(&s.root, "root", ".", "`directory` of the repository")
	fs.StringVar(
		&s.peers,
		"peers",
		".plimsoll/peers",
		"`directory` of the peers' programs, as scripts/peers.sh installs them",
	)
	fs.IntVar(&s.server, "server-core", 0, "`core` of the null server")
	fs.IntVar(&s.core, "client-core", 1, "`core` of the clients")
	fs.IntVar(&s.rounds, "rounds", 5, "interleaved rounds, 1 to 50")
	fs.BoolVar(&s.short, "short", false, "short windows and fewer rounds: about two minutes")
	fs.IntVar(&s.sockets, "users", 9000, "simulated users of the test at default pace")
	fs.IntVar(&s.agents, "agents", 1000, "stub agents of the fleet")
	fs.IntVar(&s.posts, "posts", 100, "messages a second of all stub agents together")
	fs.BoolVar(
		&s.alone,
		"alone",
		false,
		"leave out the peers that are programs of their own, installed or not",
	)
	only := fs.String(
		"only",
		"",
		"comma-separated `rows`: closed, secure, paced, memory, users, scripted, record, fleet, truth (default all)",
	)
	results := fs.String(
		"results",
		"",
		"`directory` of benchmarks.md and benchmarks.json (default "+study.Results+")",
	)
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if s.rounds < 1 || s.rounds > 50 {
		return fmt.Errorf("-rounds %d: want 1 to 50", s.rounds)
	}
	if s.short {
		s.rounds = min(s.rounds, 3)
	}
	if *only != "" {
		s.only = strings.Split(*only, ",")
		for _, o := range s.only {
			if !slices.ContainsFunc(parts, func(p part) bool { return p.name == o }) {
				return fmt.Errorf("-only %s: no such row", o)
			}
		}
	}
	s.program = filepath.Join(s.root, "bin", "plimsoll")
	var err error
	s.self, err = os.Executable()
	if err := errors.Join(err, study.Absolute(&s.root, &s.peers), study.Built(&s.program),
		lab.CheckCPUs([]int{s.server, s.core})); err != nil {
		return err
	}
	if s.server == s.core {
		return errors.New("server and client need a core each")
	}
	began := time.Now()
	r := report{
		Date:    began.UTC().Truncate(time.Second),
		Machine: study.Machine(),
		Short:   s.short,
		Rounds:  s.rounds,
		Command: "make bench",
	}
	if s.short {
		r.Command = "make bench SHORT=1"
	}
	var extra []string
	fs.Visit(func(f *flag.Flag) {
		if f.Name != "short" {
			extra = append(extra, "-"+f.Name+"="+f.Value.String())
		}
	})
	if len(extra) > 0 {
		r.Command += " BENCHFLAGS='" + strings.Join(extra, " ") + "'"
	}
	if err := s.measure(ctx, &r); err != nil {
		return err
	}
	r.Seconds = time.Since(began).Seconds()
	dir := cmp.Or(*results, filepath.Join(s.root, study.Results))
	text := r.markdown()
	fmt.Print(text)
	if len(s.only) == 0 || *results != "" { // a part of the table does not replace the whole
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "benchmarks.json"), append(b, '\n'), 0o644); err != nil {
			return err
		}
		if err := study.Insert(filepath.Join(dir, "benchmarks.md"), tableName, text); err != nil {
			return err
		}
	}
	if n := r.failed(); n > 0 {
		return fmt.Errorf("%d measurements failed; the table names them", n)
	}
	return nil
}

// A part of the benchmark adds its rows to a report.
type part struct {
	name    string
	measure func(*setup, context.Context, *report) error
}

var parts = []part{
	{"closed", (*setup).closed},
	{"secure", (*setup).secure},
	{"paced", (*setup).paced},
	{"memory", (*setup).memory},
	{"users", (*setup).users},
	{"scripted", (*setup).scripted},
	{"record", (*setup).record},
	{"fleet", (*setup).fleet},
	{"truth", (*setup).truth},
}

func (s *setup) measure(ctx context.Context, r *report) error {
	for _, p := range parts {
		if len(s.only) > 0 && !slices.Contains(s.only, p.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", p.name)
		if err := p.measure(s, ctx, r); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r.Figures = append(r.Figures, figure{Name: p.name, Failure: err.Error()})
		}
	}
	return nil
}
