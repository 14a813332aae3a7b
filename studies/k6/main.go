// Command k6 runs the scripts of examples/k6 in k6 and in plimsoll on the same server, and compares
// what both counted: iterations, requests by name, checks, groups, and the thresholds that held.
//
// The outcome is studies/results/k6.md, a function of k6.jsonl beside it. scripts/peers.sh installs
// k6. With -serve the program is the server of the scripts that need more than refnull has.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

func main() { study.Main(run) }

// A setup holds the flags.
type setup struct {
	program, peer, scripts, results string
	imports                         string
	only                            []string
	serve                           string
	draw                            bool
}

// A sample is a script, with the time of k6's run that counts, from its first request on, and how far
// counts may be apart: slack of them, and a part of the larger count.
type sample struct {
	file     string
	own      bool // needs the server of this study
	made     bool // by the converters of examples/import
	from, to time.Duration
	slack    int
	part     float64
}

// samples are the scripts. Those without times of their own last five seconds, or end after a number
// of iterations within twenty. Iterations begin long before the end, so that no user makes one more or less.
// k6 lets those under way end after it, and plimsoll does not; of the stages of stages.js plimsoll
// measures the plateau, at whose ends an iteration of each user may fall on either side.
var samples = []sample{
	{file: "get.js"},
	{file: "thresholds.js", own: true},
	{file: "groups.js"},
	{file: "names.js"},
	{file: "stages.js", from: 2 * time.Second, to: 6 * time.Second, part: 0.08},
	{file: "constant.js"},
	{file: "each.js", to: 20 * time.Second},
	{file: "shared.js", to: 20 * time.Second},
	{file: "arrival.js", slack: 1},
	{file: "token.js"},
	{file: "batch.js"},
	{file: "cookies.js", own: true},
	{file: "correlation.js"},
	{file: "data.js"},
	{file: "echo.js", own: true},
	{file: "params.js", own: true},
	{file: "shop.ts"},
	{file: "recorded.js", made: true},
	{file: "collected.js", made: true},
}

func run(ctx context.Context, args []string) error {
	var s setup
	fs := flag.NewFlagSet("k6", flag.ContinueOnError)
	fs.StringVar(&s.program, "program", "bin/plimsoll", "`path` of plimsoll")
	fs.StringVar(&s.peer, "k6", ".plimsoll/peers/k6", "`path` of k6")
	fs.StringVar(&s.scripts, "scripts", "examples/k6", "`directory` of the scripts")
	fs.StringVar(&s.imports, "imports", "examples/import", "`directory` of convert.sh")
	fs.StringVar(&s.results, "results", study.Results, "`directory` of k6.jsonl and k6.md")
	fs.StringVar(&s.serve, "serve", "", "only serve, at this `address`")
	fs.BoolVar(&s.draw, "draw", false, "run nothing: write the page of the outcomes that there are")
	only := fs.String("only", "", "comma-separated `scripts`, such as get.js; nothing is written")
	if err := study.Parse(fs, args); err != nil {
		return err
	}
	if *only != "" {
		s.only = strings.Split(*only, ",")
	}
	if s.draw {
		return s.write()
	}
	l, err := net.Listen("tcp", cmp.Or(s.serve, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: handler(), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	if s.serve != "" {
		fmt.Println("listening on http://" + l.Addr().String())
		<-ctx.Done()
	} else {
		err = s.all(ctx, "http://"+l.Addr().String())
	}
	return errors.Join(err, srv.Close(), notClosed(<-ended))
}

func notClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// all carries out the scripts, and writes their outcomes and the page.
func (s *setup) all(ctx context.Context, own string) error {
	null, url, err := study.Serving(ctx, lab.Spec{
		Name: "refnull", Path: s.program, Args: []string{"refnull", "-listen=127.0.0.1:0"},
	})
	if err != nil {
		return err
	}
	defer func() { _ = null.Kill() }()
	dir, err := os.MkdirTemp("", "k6-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var outcomes []outcome
	for _, x := range samples {
		if len(s.only) > 0 && !slices.Contains(s.only, x.file) {
			continue
		}
		at := url
		if x.own {
			at = own
		}
		o := s.both(ctx, x, at, dir)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		fmt.Fprintf(os.Stderr, "k6: %s: %s\n", x.file, cmp.Or(strings.Join(o.differences(), "; "), "same"))
		outcomes = append(outcomes, o)
	}
	if len(s.only) == 0 {
		if err := study.Rewrite(filepath.Join(s.results, outcomesFile), outcomes); err != nil {
			return err
		}
		if err := s.write(); err != nil {
			return err
		}
	}
	for _, o := range outcomes {
		if len(o.differences()) > 0 {
			return errors.New("some scripts do not have the same outcome in both; the page names them")
		}
	}
	return nil
}

// both carries a script out in k6 and then in plimsoll.
func (s *setup) both(ctx context.Context, x sample, target, dir string) outcome {
	o := outcome{
		Script: x.file, Slack: x.slack, Part: x.part, Commit: study.Revision(),
		At: time.Now().UTC().Truncate(time.Second),
	}
	path := filepath.Join(s.scripts, x.file)
	var err error
	if x.made {
		path = filepath.Join(dir, "made", x.file)
		err = s.convert(ctx, filepath.Dir(path))
	}
	if err == nil {
		o.Peer, err = s.inPeer(ctx, path, target, dir, x)
	}
	if err == nil {
		o.Ours, err = s.inOurs(ctx, path, target, dir)
	}
	if err != nil {
		o.Failure = study.OneLine(err.Error())
	}
	return o
}

// convert makes scripts out of the files of other tools.
func (s *setup) convert(ctx context.Context, to string) error {
	out, err := exec.CommandContext(ctx, filepath.Join(s.imports, "convert.sh"), to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("convert.sh: %w: %s", err, out)
	}
	return nil
}

func (s *setup) write() error {
	all, _, err := study.Lines[outcome](filepath.Join(s.results, outcomesFile))
	if err != nil {
		return err
	}
	text := page(all)
	fmt.Print(text)
	return study.Insert(filepath.Join(s.results, "k6.md"), pagePart, text)
}
