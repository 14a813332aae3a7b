// Command truth measures how far load generators err when they have hardly a core to themselves.
//
// A null server (package refnull, in its own process on core 0) keeps each answer back for 1 to 100
// ms, log-uniformly distributed, and measures by its own clock how long that took. A generator on
// core 1 is held at 95 % of that core and reports its measurements. The table compares the
// quantiles of both, for the very same requests:
//
//   - plimsoll, kernel stamps: wire.Response.Done - Sent
//   - plimsoll, process clock: wire.Response.Read - Sent, of the same run
//   - plimsoll, response inside actions: as workload.User records it, of the requests of the same run that were not
//     the first of their action
//   - plimsoll, due at the answer before: the same requests, if the generator's own time between an answer and the
//     next request were wait
//   - vegeta and Locust, if -vegeta and -locust name their programs
//
// Package wire needs too little CPU to be brought to 95 % by a load that the server could carry on
// one core, so every user spins after each answer, in the same process, for as long as a controller
// finds necessary. vegeta and Locust are brought there by their rate alone; the rate is searched
// first.
//
// The exit status is 1 if p50 or p99 by kernel stamps, or of the response inside actions, is
// farther than 5 % from the server's, and 3 if the generator was not within 90 to 99 % of its core.
package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plimsoll/reference/refnull"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

const (
	goal          = 0.95 // share of the core
	shortest      = time.Millisecond
	longest       = 100 * time.Millisecond
	serverCore    = 0
	generatorCore = "1"
)

// delay picks a service time.
func delay(r *rand.Rand) time.Duration {
	return time.Duration(float64(shortest) * math.Pow(float64(longest)/float64(shortest), r.Float64())).
		Round(time.Microsecond)
}

// A row holds one generator's figures of one run: p50 and p99 by the server and by the generator, in
// seconds.
type row struct {
	Name        string
	N           int
	CPU         float64 // share of the core that the generator used
	Truth, Seen [2]float64
	Judged      bool
	KernelShare float64 // of the responses that had the kernel's stamp
}

// off is by how much the generator's p50 and p99 are too large, as a share of the server's.
func (r row) off() (p50, p99 float64) { return r.Seen[0]/r.Truth[0] - 1, r.Seen[1]/r.Truth[1] - 1 }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:]))
}

func run(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == "serve" { // the server's process
		if err := refnull.Main(ctx, args[1:], os.Stdout); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	fs := flag.NewFlagSet("truth", flag.ExitOnError)
	d := fs.Duration("d", 10*time.Second, "`length` of each measurement")
	rate := fs.Float64("rate", 1000, "`requests` per second of plimsoll's users")
	users := fs.Int("users", 200, "plimsoll's `users`")
	ops := fs.Int("ops", 4, "`requests` of each action of plimsoll's users")
	peers := fs.Float64(
		"peers",
		goal,
		"`share` of the core at which vegeta and Locust are measured",
	)
	vegeta := fs.String("vegeta", "", "`program`; empty leaves it out")
	locust := fs.String("locust", "", "`program`; empty leaves it out")
	generate := fs.String(
		"generate",
		"",
		"be the generator for the server at this `URL` (used by the program itself)",
	)
	_ = fs.Parse(args) // exits
	if *generate != "" {
		res, err := load(ctx, *generate, *users, max(*ops, 1), *rate, *d)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(res)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "generator:", err)
			return 1
		}
		return 0
	}
	rows, err := measureAll(ctx, *d, *rate, *users, *ops, *peers, *vegeta, *locust)
	print(os.Stdout, rows)
	if err != nil {
		fmt.Fprintln(os.Stderr, "truth:", err)
		return 1
	}
	for _, r := range rows {
		if status := judge(r); status != 0 {
			return status
		}
	}
	return 0
}

// judge holds the rows that claim to be true to 5 %.
func judge(r row) int {
	if !r.Judged {
		return 0
	}
	if r.CPU < 0.90 || r.CPU > 0.99 {
		fmt.Fprintf(
			os.Stderr,
			"truth: the generator used %.0f %% of its core, not 90 to 99 %%\n",
			100*r.CPU,
		)
		return 3
	}
	if p50, p99 := r.off(); math.Abs(p50) > 0.05 || math.Abs(p99) > 0.05 {
		fmt.Fprintln(os.Stderr, "truth: "+r.Name+": farther than 5 % from the server's clock")
		return 1
	}
	return 0
}

func measureAll(
	ctx context.Context,
	d time.Duration,
	rate float64,
	users, ops int,
	peers float64,
	vegeta, locust string,
) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	url, stop, err := startServer(ctx, self)
	if err != nil {
		return nil, err
	}
	defer stop()
	out, _, err := pinned(
		ctx,
		self,
		"-generate",
		url,
		"-d",
		d.String(),
		"-rate",
		fmt.Sprint(rate),
		"-users",
		fmt.Sprint(users),
		"-ops",
		fmt.Sprint(ops),
	)
	if err != nil {
		return nil, err
	}
	var res result
	if err := json.Unmarshal(out, &res); err != nil {
		return nil, err
	}
	rows := []row{
		{"plimsoll, kernel stamps", res.N, res.CPU, res.Truth, res.Kernel, true, res.Share},
		{"plimsoll, process clock", res.N, res.CPU, res.Truth, res.Process, false, 0},
	}
	if n := res.InsideN; n > 0 {
		name := fmt.Sprintf("plimsoll, response inside actions (lag p50 %.1f, p99 %.1f ms)",
			1e3*res.Lag[0], 1e3*res.Lag[1])
		rows = append(rows,
			row{name, n, res.CPU, res.InsideTruth, res.InsideResponse, true, 0},
			row{"plimsoll, due at the answer before", n, res.CPU, res.InsideTruth, res.Chained, false, 0})
	}
	dir, err := os.MkdirTemp("", "truth")
	if err != nil {
		return rows, err
	}
	defer os.RemoveAll(dir)
	for _, p := range []struct {
		name, program string
		run           func(peer, context.Context, float64, time.Duration) (row, error)
		lo, hi        float64
	}{
		{"vegeta", vegeta, peer.vegeta, 2000, 60_000},
		{"locust", locust, peer.locust, 100, 10_000},
	} {
		if p.program == "" {
			continue
		}
		r, err := atGoal(peers, func(rate float64, d time.Duration) (row, error) {
			return p.run(peer{p.program, dir, url}, ctx, rate, d)
		}, p.lo, p.hi, d)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// startServer runs the null server on its core.
func startServer(ctx context.Context, self string) (url string, stop func(), err error) {
	p, url, err := study.Serving(ctx, lab.Spec{
		Name: "null server",
		Path: self,
		CPUs: []int{serverCore},
		Args: []string{"serve", "-listen", "127.0.0.1:0"},
		Env:  append(os.Environ(), "GOMAXPROCS=1"),
	})
	return url, func() { _ = p.Kill() }, err // nothing of it is kept
}

// pinned runs a program on the generator's core and returns its output and the CPU time that it
// took.
func pinned(ctx context.Context, name string, args ...string) ([]byte, time.Duration, error) {
	cmd := exec.CommandContext(
		ctx,
		"taskset",
		append([]string{"-c", generatorCore, name}, args...)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, errs.String())
	}
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// atGoal searches the rate at which a generator uses the wanted share of its core, and measures
// there.
func atGoal(
	share float64,
	try func(rate float64, d time.Duration) (row, error),
	lo, hi float64,
	d time.Duration,
) (r row, err error) {
	rate := lo
	for range 9 {
		const look = 3 * time.Second
		if r, err = try(rate, look); err != nil {
			return r, err
		}
		over := r.CPU > share+0.02 || float64(r.N) < 0.9*rate*look.Seconds()
		switch {
		case over:
			hi = rate
		case r.CPU > share-0.03:
			return try(rate, d)
		default:
			lo = rate
		}
		if rate = rate * min(share/r.CPU, 3); over || rate >= hi {
			rate = (lo + hi) / 2
		}
	}
	return try(lo, d) // the highest that it could keep up with
}

// truth reads the server's times and resets them.
func truth(ctx context.Context, url string) (refnull.Stats, error) {
	var st refnull.Stats
	b, err := study.Fetch(ctx, http.DefaultClient, url+"/refnull/stats?reset")
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(b, &st)
}

// A peer is another generator, with a directory for its files, before the server.
type peer struct{ program, dir, url string }

// run runs the generator, and returns its share of the core and the server's times.
func (p peer) run(ctx context.Context, args ...string) (r row, err error) {
	if _, err := truth(ctx, p.url); err != nil {
		return r, err
	}
	start := time.Now()
	_, cpu, err := pinned(ctx, p.program, args...)
	if err != nil {
		return r, err
	}
	r.CPU = cpu.Seconds() / time.Since(start).Seconds()
	st, err := truth(ctx, p.url)
	r.Truth = [2]float64{st.Took["p50"], st.Took["p99"]}
	return r, err
}

func (p peer) vegeta(ctx context.Context, rate float64, d time.Duration) (row, error) {
	r := rand.New(rand.NewPCG(1, 2))
	var targets strings.Builder
	for range 5000 {
		fmt.Fprintf(&targets, "GET %s/\nX-Refnull-Delay: %v\n\n", p.url, delay(r))
	}
	file, out := filepath.Join(p.dir, "targets"), filepath.Join(p.dir, "vegeta.bin")
	if err := os.WriteFile(file, []byte(targets.String()), 0o644); err != nil {
		return row{}, err
	}
	did, err := p.run(ctx, "attack", "-targets", file, "-rate", strconv.Itoa(int(rate)),
		"-duration", d.String(), "-output", out)
	if err != nil {
		return row{}, err
	}
	text, err := exec.CommandContext(ctx, p.program, "report", "-type", "json", out).Output()
	if err != nil {
		return row{}, err
	}
	var rep struct {
		Latencies map[string]float64 `json:"latencies"`
		Requests  int                `json:"requests"`
		Success   float64            `json:"success"`
	}
	if err := json.Unmarshal(text, &rep); err != nil {
		return row{}, err
	}
	did.Name = fmt.Sprintf("vegeta at %.0f/s", rate)
	if rep.Success < 1 {
		did.Name += fmt.Sprintf(" (%.1f %% failed)", 100*(1-rep.Success))
	}
	did.N = int(float64(rep.Requests) * rep.Success)
	did.Seen = [2]float64{rep.Latencies["50th"] / 1e9, rep.Latencies["99th"] / 1e9}
	return did, nil
}

const locustfile = `
import random
from locust import FastHttpUser, task, constant_throughput
class U(FastHttpUser):
    wait_time = constant_throughput(5)
    @task
    def get(self):
        self.client.get("/", name="get", headers={"X-Refnull-Delay": "%dus" % int(1000 * 100 ** random.random())})
`

func (p peer) locust(ctx context.Context, rate float64, d time.Duration) (row, error) {
	file, prefix := filepath.Join(p.dir, "locustfile.py"), filepath.Join(p.dir, "locust")
	if err := os.WriteFile(file, []byte(locustfile), 0o644); err != nil {
		return row{}, err
	}
	users := strconv.Itoa(max(int(rate/5), 1))
	did, err := p.run(ctx, "-f", file, "--headless", "-u", users, "-r", users,
		"-t", fmt.Sprintf("%ds", int(d.Seconds())), "--csv", prefix, "--only-summary", "-H", p.url)
	if err != nil {
		return row{}, err
	}
	f, err := os.Open(prefix + "_stats.csv")
	if err != nil {
		return row{}, err
	}
	defer f.Close()
	did.Name = fmt.Sprintf("Locust FastHttpUser, %s users", users)
	did.N, did.Seen[0], did.Seen[1], err = locustStats(f)
	return did, err
}

// locustStats reads requests, p50 and p99 (in seconds) of the last line, that of all requests
// together, of Locust's table of statistics. Locust writes N/A for the quantiles of no request at
// all.
func locustStats(r io.Reader) (n int, p50, p99 float64, err error) {
	lines, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return 0, 0, 0, err
	}
	if len(lines) < 2 {
		return 0, 0, 0, errors.New("the table has no line")
	}
	last := lines[len(lines)-1]
	col := func(name string) (v float64) {
		i := slices.Index(lines[0], name)
		if i < 0 {
			err = errors.Join(err, fmt.Errorf("no column %q", name))
			return 0
		}
		v, perr := strconv.ParseFloat(last[i], 64)
		if perr != nil && last[i] != "N/A" {
			err = errors.Join(err, fmt.Errorf("column %q: %w", name, perr))
		}
		return v
	}
	n = int(col("Request Count"))
	p50, p99 = col("50%")/1e3, col("99%")/1e3
	switch {
	case err != nil:
		return 0, 0, 0, err
	case n == 0 || p50 == 0:
		return 0, 0, 0, fmt.Errorf("no request has a time: %q", last)
	}
	return n, p50, p99, nil
}

// print writes the table.
func print(w io.Writer, rows []row) {
	fmt.Fprintln(
		w,
		"| generator | requests | of its core | p50: server | seen | error | p99: server | seen | error |",
	)
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		p50, p99 := r.off()
		fmt.Fprintf(w,
			"| %s | %d | %.0f %% | %.2f ms | %.2f ms | %+.1f %% | %.2f ms | %.2f ms | %+.1f %% |\n",
			r.Name, r.N, 100*r.CPU, 1e3*r.Truth[0], 1e3*r.Seen[0], 100*p50,
			1e3*r.Truth[1], 1e3*r.Seen[1], 100*p99)
	}
	if len(rows) > 0 {
		fmt.Fprintf(
			w,
			"\n%.2f %% of plimsoll's responses had the kernel's stamp.\n",
			100*rows[0].KernelShare,
		)
	}
}
