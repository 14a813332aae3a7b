package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plimsoll/stats"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

// A peer is a client in a closed loop of 64 connections.
type peer struct {
	name  string
	warm  time.Duration // how long it takes until it runs at its speed
	goal  float64       // that ours is to reach as a multiple of it; 0: none
	start starter
}

// A starter starts a client of the server at an address.
type starter func(ctx context.Context, url string) (*lab.Process, error)

const connections = 64

// byScript is our client that carries out the script of k6.
const byScript = "plimsoll, k6's script"

// clients are all clients of the closed loop, ours first.
func (s *setup) clients(dir string) []peer {
	self := func(engine string) starter {
		return s.ours(engine, fmt.Sprint("-n=", connections), "-script="+filepath.Join(dir, "k6.js"))
	}
	builtIn := []peer{
		{"plimsoll", time.Second, 0, self("plimsoll")},
		{"fasthttp", time.Second, 0, self("fasthttp")},
		{"net/http", time.Second, 0, self("nethttp")},
		{byScript, 4 * time.Second, 0, self("script")},
	}
	if s.alone {
		return builtIn
	}
	c := fmt.Sprint(connections)
	return append(builtIn, []peer{
		{"wrk", time.Second, 0.95, s.theirs("wrk", "", "-t1 -c"+c+" -d3600 {url}/")},
		{"vegeta", 2 * time.Second, 3, s.theirs("vegeta", "GET {url}/\n", "attack -rate=0 -duration=3600s -workers="+c+
			" -max-workers="+c+" -connections="+c+" -output=/dev/null")},
		{"oha", time.Second, 0, s.theirs("oha", "", "-c "+c+" -z 3600s --no-tui {url}/")},
		{"k6", 4 * time.Second, 10, s.theirs("k6", "", "run --quiet --no-usage-report --vus "+c+
			" --duration 3600s --env BASE_URL={url}", filepath.Join(dir, "k6.js"))},
		{"Locust FastHttpUser", 5 * time.Second, 10, s.theirs("locust", "", "--headless -u "+c+" -r "+c+
			" --host {url} --loglevel ERROR", "-f", filepath.Join(dir, "locustfile.py"))},
	}...)
}

// ours starts one of our clients with further flags.
func (s *setup) ours(engine string, flags ...string) starter {
	return func(ctx context.Context, url string) (*lab.Process, error) {
		args := append([]string{"client", "-engine=" + engine, "-url=" + url}, flags...)
		return s.start(ctx, "", s.self, args...)
	}
}

// theirs starts a program of others with a text in its standard input, the words of another as
// arguments, and further arguments. In both texts {url} stands for the server's address.
func (s *setup) theirs(name, stdin, text string, args ...string) starter {
	return func(ctx context.Context, url string) (*lab.Process, error) {
		path := s.find(name)
		if path == "" {
			return nil, fmt.Errorf("not installed (scripts/peers.sh %s)", name)
		}
		at := strings.NewReplacer("{url}", url)
		return s.start(ctx, at.Replace(stdin), path,
			append(strings.Fields(at.Replace(text)), args...)...)
	}
}

// find returns the path of a peer: in the directory of the peers, or in PATH; "" if it is in none.
func (s *setup) find(name string) string {
	if own := filepath.Join(s.peers, name); exists(own) {
		return own
	}
	path, _ := exec.LookPath(name) // "" with an error
	return path
}

// closed is the row of the closed loop.
func (s *setup) closed(ctx context.Context, r *report) error {
	dir := filepath.Join(s.root, "studies", "bench", "scripts")
	clients := s.clients(dir)
	length := 4 * time.Second
	if s.short {
		length = 2 * time.Second
	}
	per := map[string][]float64{}
	failures := map[string]error{}
	for round := range s.rounds {
		n, err := s.serve(ctx)
		if err != nil {
			return err
		}
		for i := range clients {
			c := clients[(i+round)%len(clients)]
			if failures[c.name] != nil {
				continue
			}
			w, err := s.one(ctx, n, n.url, c, length)
			if ctx.Err() != nil {
				n.stop()
				return context.Cause(ctx)
			}
			if err != nil {
				failures[c.name] = err
				continue
			}
			per[c.name] = append(per[c.name], w.requests/w.cpu)
			fmt.Fprintf(
				os.Stderr,
				"bench: round %d: %-20s %9.0f requests/s, %9.0f per CPU-second\n",
				round+1,
				c.name,
				w.requests/w.wall,
				w.requests/w.cpu,
			)
		}
		n.stop()
	}
	ours := per["plimsoll"]
	if err := failures["plimsoll"]; err != nil {
		return fmt.Errorf("our own client: %w", err)
	}
	for _, c := range clients {
		l := client64{Name: c.name, Goal: c.goal, PerCPUSecond: spreadOf(per[c.name])}
		if err := failures[c.name]; err != nil {
			l.Failure = study.OneLine(err.Error())
		} else {
			l.Ratio = spreadOf(ratios(ours, per[c.name]))
		}
		r.Clients = append(r.Clients, l)
	}
	if peer := per["k6"]; len(peer) > 0 {
		ratio := ratios(per[byScript], peer)
		r.add("requests per CPU-second by one script, ours of k6's", "×", ratio,
			">= 4", stats.Median(ratio) >= 4, "scripts/k6.js: a GET, as fast as it goes")
	}
	return nil
}

// one measures a client of the server, or of what stands before it.
func (s *setup) one(
	ctx context.Context,
	n *null,
	url string,
	c peer,
	length time.Duration,
) (window, error) {
	p, err := c.start(ctx, url)
	if err != nil {
		return window{}, err
	}
	defer halt(p)
	return n.watch(ctx, p, c.warm, length)
}

// paced is the row of many users with pauses, against our own closed loop in the same round.
func (s *setup) paced(ctx context.Context, r *report) error {
	length, users := 6*time.Second, 5000
	if s.short {
		length = 3 * time.Second
	}
	ours := s.clients("")[0]
	paced := peer{warm: 4 * time.Second,
		start: s.ours("paced", fmt.Sprint("-n=", users), "-interval=100ms", "-ramp=2s")}
	var costs, ratio, rate []float64
	for range s.rounds {
		n, err := s.serve(ctx)
		if err != nil {
			return err
		}
		loop, err := s.one(ctx, n, n.url, ours, length/2)
		if err == nil {
			var w window
			w, err = s.one(ctx, n, n.url, paced, length)
			if err == nil {
				costs = append(costs, w.cpu/w.requests*1e6)
				ratio = append(ratio, w.cpu/w.requests/(loop.cpu/loop.requests))
				rate = append(rate, w.requests/w.wall)
			}
		}
		n.stop()
		if err != nil {
			return err
		}
	}
	name := fmt.Sprintf("paced users (%d × 10/s), CPU per op including recording", users)
	cost := stats.Median(costs)
	reached := fmt.Sprintf("%.0f ops/s reached of %d", stats.Median(rate), users*10)
	r.add(name, "us", costs, "<= 12", cost <= 12, reached)
	r.add(name+", of our closed loop's", "×", ratio, "<= 2.5", stats.Median(ratio) <= 2.5,
		fmt.Sprintf("%.1f us per op; %s", cost, reached))
	return nil
}

// sim runs simulated users of behavior mattermost in a child process and returns its outcome.
func (s *setup) sim(
	ctx context.Context,
	n *null,
	users int,
	pace float64,
	ramp, length time.Duration,
	more ...string,
) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*ramp+length+3*time.Minute)
	defer cancel()
	var out bytes.Buffer
	err = lab.Run(ctx, lab.Spec{
		Name: "simulated users",
		Path: s.self,
		CPUs: []int{s.core},
		Env: append(os.Environ(), "GOMAXPROCS=1", "CHANNEL="+strings.Repeat("c", 26),
			"PLIMSOLL_BOT_TOKEN="+strings.Repeat("b", 26)),
		Stdout: &out,
		Args: append([]string{
			"client",
			"-engine=users",
			"-url=" + n.url,
			fmt.Sprint("-n=", users),
			fmt.Sprint("-pace=", pace),
			"-ramp=" + ramp.String(),
			"-length=" + length.String(),
		}, more...),
	})
	if err != nil {
		return o, err
	}
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		return o, fmt.Errorf("%w in %q", err, out.String())
	}
	if o.FirstError != "" || o.Failed > 0 || o.Active < users {
		return o, fmt.Errorf(
			"%d of %d users active, %d failed: %s",
			o.Active,
			users,
			o.Failed,
			o.FirstError,
		)
	}
	return o, nil
}

// memory is the row of the memory that a connected user takes.
func (s *setup) memory(ctx context.Context, r *report) error {
	users, length := 3000, 10*time.Second
	if s.short {
		users, length = 1000, 5*time.Second
	}
	var kib, running, stacks, heap []float64
	for range min(s.rounds, 3) {
		n, err := s.serve(ctx, "-push=0.1")
		if err != nil {
			return err
		}
		// 200 logins a second
		o, err := s.sim(ctx, n, users, 0.1, time.Duration(users)*5*time.Millisecond, length)
		n.stop()
		if err != nil {
			return err
		}
		kib, running = append(kib, o.KiBPerUser), append(running, o.Running)
		stacks, heap = append(stacks, o.Stacks), append(heap, o.Heap)
	}
	r.add(
		"memory per connected simulated user (HTTP + WebSocket + client state), resident after a collection",
		"KiB", kib, "<= 40", stats.Median(kib) <= 40,
		fmt.Sprintf("%d users that act at pace 0.1; %.1f KiB live objects and %.1f KiB stacks; "+
			"between two collections %.1f KiB are resident; the kernel's socket buffers are not in it",
			users, stats.Median(heap), stats.Median(stacks), stats.Median(running)))
	return nil
}

// many runs as many users as there are to be on one core, at default pace, and returns what the
// server counted besides, and for how long they were measured.
func (s *setup) many(
	ctx context.Context,
	server []string,
	more ...string,
) (o outcome, c counts, length time.Duration, err error) {
	ramp, length := 40*time.Second, 60*time.Second
	if s.short {
		ramp, length = 25*time.Second, 20*time.Second
	}
	n, err := s.serve(ctx, server...)
	if err != nil {
		return o, c, length, err
	}
	defer n.stop()
	if o, err = s.sim(ctx, n, s.sockets, 1, ramp, length, more...); err != nil {
		return o, c, length, err
	}
	c, err = n.stats(ctx)
	return o, c, length, err
}

// users is the row of users at default pace in one process on one core.
func (s *setup) users(ctx context.Context, r *report) error {
	o, c, length, err := s.many(ctx, []string{"-push=0.05"})
	if err != nil {
		return err
	}
	note := fmt.Sprintf("%d sockets for %v, lag p99 %.2f ms (n %d), %.0f ops/s, %d errors",
		2*o.Active, length, o.LagP99, o.LagN, o.OpsPerSecond, o.Errors)
	if len(c.Unknown) > 0 {
		note += fmt.Sprintf("; requests that the null server does not know: %v", c.Unknown)
	}
	r.add("simulated users at default pace in one process on one core", "users",
		[]float64{float64(o.Active)}, ">= 9,000", o.healthy() && o.Active >= 9000, note)
	return nil
}

// healthy reports whether the users were on time, and nothing failed.
func (o outcome) healthy() bool { return o.LagP99 <= 5 && o.Errors == 0 }

// scripted is the row of users of a script, at default pace in one process on one core.
func (s *setup) scripted(ctx context.Context, r *report) error {
	file := filepath.Join("examples", "locust", "poster.js")
	o, _, _, err := s.many(ctx, nil, "-engine=script", "-script="+filepath.Join(s.root, file))
	if err != nil {
		return err
	}
	r.add("simulated users of a script at default pace in one process on one core", "users",
		[]float64{float64(o.Active)}, ">= 5,000", o.healthy() && o.Active >= 5000,
		fmt.Sprintf("%s: %.0f requests/s, lag p99 %.2f ms (n %d), %d errors",
			file, o.OpsPerSecond, o.LagP99, o.LagN, o.Errors))
	r.add("memory per user of that script, resident after a collection", "KiB",
		[]float64{o.KiBPerUser}, "<= 60", o.KiBPerUser <= 60,
		fmt.Sprintf("%.1f KiB live objects and %.1f KiB stacks; between two collections "+
			"%.1f KiB are resident", o.Heap, o.Stacks, o.Running))
	return nil
}

var benchLine = regexp.MustCompile(
	`(?m)^BenchmarkRecord(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+\d+ B/op\s+(\d+) allocs/op`,
)

// record is the row of recording one op.
func (s *setup) record(ctx context.Context, r *report) error {
	count := fmt.Sprint("-count=", s.rounds)
	cmd := exec.CommandContext(ctx, "taskset", append([]string{"-c", fmt.Sprint(s.core)},
		strings.Fields("go test -run=^$ -bench=^BenchmarkRecord$ -benchmem -benchtime=300ms "+
			count+" ./load/measure")...)...)
	cmd.Dir, cmd.Env = s.root, append(os.Environ(), "GOMAXPROCS=1", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go test: %w: %s", err, study.OneLine(string(out)))
	}
	var ns []float64
	allocs := "0"
	for _, m := range benchLine.FindAllStringSubmatch(string(out), -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return err
		}
		ns = append(ns, v)
		if m[2] != "0" {
			allocs = m[2]
		}
	}
	if len(ns) == 0 {
		return fmt.Errorf("no line of BenchmarkRecord in %q", study.OneLine(string(out)))
	}
	r.add("record one op, clock read excluded", "ns", ns, "<= 10, 0 allocations",
		stats.Median(ns) <= 10 && allocs == "0", allocs+" allocations")
	return nil
}

// truth is the row of the clock; the program truth in this module measures it.
func (s *setup) truth(ctx context.Context, r *report) error {
	args := []string{"run", "./bench/truth"}
	if s.short {
		args = append(args, "-d=4s")
	}
	for _, p := range []string{"vegeta", "locust"} {
		if path := filepath.Join(s.peers, p); !s.alone && exists(path) {
			args = append(args, "-"+p+"="+path)
		}
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(s.root, "studies")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if out.Len() == 0 {
		return fmt.Errorf("%w: %s", err, study.OneLine(errs.String()))
	}
	r.Truth = strings.TrimSpace(out.String())
	note := "see the table below"
	if err != nil {
		note += "; " + study.OneLine(errs.String())
	}
	r.add("truth of the clock: p50 and p99 against known service times of 1 to 100 ms, "+
		"generator core at 95 %", "", nil, "within 5 %", err == nil, note)
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
