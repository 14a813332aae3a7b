package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/files"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet"
	"plimsoll/load/fleet/join"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/stats"
	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// build is the digest that coordinator and stubs show each other: they are one program.
const build = "bench"

// fleetPatience is how long the stubs may take to join, and each to answer.
const fleetPatience = 90 * time.Second

// fleetRounds are the measurements of a coordinator whose agents send one report a second.
type fleetRounds struct {
	Agents int
	Rounds int
	Wall   []float64 // seconds of each round, from its first request to the last merge
	// seconds of each round until the next, of the coordinator, its NATS server included
	CPU      []float64
	Down, Up float64   // bytes of all links in a round
	Sent     []float64 // bytes to the agents in each round
	Report   float64   // bytes of the windows in a report
	Merged   uint64    // operations
	Joined   float64   // seconds until all had joined
	MiB      float64   // resident
}

// fleet is the row of a coordinator with many agents.
func (s *setup) fleet(ctx context.Context, r *report) error {
	n, seconds := s.agents, 20
	if s.short {
		seconds = 8
	}
	dir, err := os.MkdirTemp("", "bench-fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rows := []fleetRow{{0, n}}
	if s.posts > 0 {
		rows = append(rows, fleetRow{s.posts, n}, fleetRow{10 * s.posts, min(n, 20)})
	}
	for _, row := range rows {
		o, err := s.lead(ctx, dir, n, seconds, row)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("fleet of %d agents, one report a second each", o.Agents)
		if row.posts > 0 {
			name += fmt.Sprintf(", %d posts/s, of each of which %d hear", row.posts, row.hear-1)
		}
		r.add(name+": a round, from the first request to the last merge", "s", o.Wall,
			"<= 0.5", stats.Median(o.Wall) <= 0.5, fmt.Sprintf(
				"%d rounds; a report has %.1f KB of windows; %.2f MB/s of requests and acknowledgments "+
					"to the agents, %.2f MB in the round with most; %.2f MB/s of reports from them; "+
					"%.0f MiB resident",
				o.Rounds, o.Report/1000, o.Down/1e6, slices.Max(o.Sent)/1e6, o.Up/1e6, o.MiB))
		r.add(name+": CPU of the coordinator for a round, its NATS server included", "s", o.CPU,
			"<= 0.5", stats.Median(o.CPU) <= 0.5, "that is its share of a core")
	}
	return nil
}

// A fleetRow is how many messages the agents post a second, all together, and how many of them know
// a channel.
type fleetRow struct{ posts, hear int }

// lead runs a coordinator and its stubs, each a process with a core of its own.
func (s *setup) lead(
	ctx context.Context,
	dir string,
	n, seconds int,
	row fleetRow,
) (o fleetRounds, err error) {
	ctx, cancel := context.WithTimeout(ctx, fleetPatience+time.Duration(2*seconds)*time.Second)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return o, err
	}
	defer r.Close()
	args := []string{
		"client",
		"-keys=" + dir,
		fmt.Sprint("-n=", n),
		fmt.Sprint("-posts=", row.posts),
		fmt.Sprint("-hear=", row.hear),
	}
	c, err := lab.Start(ctx, lab.Spec{
		Name:   "coordinator",
		Path:   s.self,
		CPUs:   []int{s.server},
		Env:    append(os.Environ(), "GOMAXPROCS=1"),
		Stdout: w,
		Args:   append(args, "-engine=coordinator", fmt.Sprint("-length=", seconds, "s")),
	})
	w.Close()
	if err != nil {
		return o, err
	}
	defer halt(c)
	lines := bufio.NewReader(r)
	url, err := lines.ReadString('\n')
	if err != nil {
		return o, fmt.Errorf("the coordinator does not say where it listens: %s", c.Tail())
	}
	a, err := s.start(
		ctx,
		"",
		s.self,
		append(args, "-engine=agents", "-url="+strings.TrimSpace(url))...)
	if err != nil {
		return o, err
	}
	defer halt(a)
	if err := json.NewDecoder(lines).Decode(&o); err != nil {
		return o, fmt.Errorf("%w: %s%s", err, c.Tail(), a.Tail())
	}
	return o, nil
}

func tokenFile(dir string, k int) string {
	return filepath.Join(dir, fmt.Sprintf("agent-%04d.nk", k))
}
func keyFile(dir string) string { return filepath.Join(dir, "fleet.json") }

// tokens makes those of n agents that are not there yet.
func tokens(dir string, n int) error {
	for k := range n {
		if exists(tokenFile(dir, k)) {
			continue
		}
		if _, err := join.NewToken(files.OS{}, keyFile(dir), tokenFile(dir, k)); err != nil {
			return err
		}
	}
	return nil
}

// A warmUp is what a coordinator does before it measures: the users have so long until they begin,
// and so many rounds are not counted.
type warmUp struct {
	until  time.Duration
	rounds int
}

// coordinate leads n agents for some seconds; listens gets the address that they join at.
func coordinate(
	ctx context.Context,
	dir string,
	n int,
	length time.Duration,
	warm warmUp,
	listens func(url string),
) (o fleetRounds, err error) {
	if err := tokens(dir, n); err != nil {
		return o, err
	}
	keys, err := join.ReadKeys(keyFile(dir))
	if err != nil {
		return o, err
	}
	h, err := join.Open(join.HallConfig{
		Keys:    keys,
		Listen:  "127.0.0.1:0",
		Build:   build,
		Version: build,
		Say: func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, format+"\n", args...)
		},
	})
	if err != nil {
		return o, err
	}
	defer h.Close()
	listens(h.Addr())
	o.Agents = n
	began := time.Now()
	members, err := h.Await(ctx, fleetPatience, func(ms []join.Member) bool { return len(ms) >= n })
	if err != nil {
		return o, fmt.Errorf("%d of %d agents have joined: %w", len(members), n, err)
	}
	o.Joined = time.Since(began).Seconds()
	var down, up atomic.Int64
	cfg := fleet.Config{
		Epoch:    time.Now().Add(warm.until),
		Settings: func(int) (json.RawMessage, error) { return json.RawMessage(`{}`), nil },
		Registry: measure.NewRegistry(1),
		Tally:    new(workload.Tally),
		Ledger:   workload.NewLedger(0, 7),
		Patience: fleetPatience,
		Hosts: &fleet.Hosts{
			Processes: 1,
			Tick:      time.Second,
			Leave:     time.Hour,
			Over:      time.Second,
		},
	}
	for _, m := range members {
		s, err := h.Link(m.Name)
		if err != nil {
			return o, err
		}
		cfg.Links = append(cfg.Links, study.Counted{
			ReadWriteCloser: s,
			Sent:            &down,
			Received:        &up,
		})
		cfg.Hosts.Names = append(cfg.Hosts.Names, m.Name)
	}
	d, err := fleet.New(ctx, cfg)
	if err != nil {
		return o, err
	}
	defer d.Stop(0)
	var cpu float64
	for k := range int(length/time.Second) + warm.rounds + 1 {
		at := time.Since(cfg.Epoch).Truncate(time.Second) + time.Second
		if err := study.Pause(ctx, time.Until(cfg.Epoch.Add(at))); err != nil {
			return o, err
		}
		used, err := cpuOf(os.Getpid())
		if err != nil {
			return o, err
		}
		if k > warm.rounds {
			o.CPU = append(o.CPU, used-cpu)
		}
		if cpu = used; k == int(length/time.Second)+warm.rounds {
			break
		}
		if k == warm.rounds {
			down.Store(0)
			up.Store(0)
		}
		sent, began := down.Load(), time.Now()
		d.Mark(at)
		d.Tick(at)
		if err := d.Collect(ctx); err != nil {
			return o, err
		}
		took := time.Since(began)
		// The rest of a tick of the trial that is a matter of the fleet's size.
		ws := cfg.Registry.Cut()
		cfg.Ledger.Settle(time.Now())
		_, _, _ = cfg.Ledger.Count(), cfg.Tally.Snapshot(), d.Activity()
		if _, err := d.Sample(ctx, time.Now()); err != nil {
			return o, err
		}
		if k < warm.rounds {
			continue
		}
		o.Rounds++
		o.Sent = append(o.Sent, float64(down.Load()-sent))
		o.Wall = append(o.Wall, took.Seconds())
		for _, w := range ws {
			o.Merged += w.Count()
		}
	}
	o.Down, o.Up = float64(down.Load())/float64(o.Rounds), float64(up.Load())/float64(o.Rounds)
	canned, err := newCanned(ctx)
	if err != nil {
		return o, err
	}
	o.Report = float64(canned.windows)
	if want := uint64(n) * uint64(o.Rounds) * stubNames * stubOps; o.Merged != want {
		return o, fmt.Errorf("%d operations were merged, want %d", o.Merged, want)
	}
	if o.MiB, err = study.Resident(os.Getpid()); err != nil {
		return o, err
	}
	o.MiB /= 1024
	return o, nil
}

// A stub's report has so many names with so many operations each, which is as large as a real
// agent's.
const (
	stubNames = 42
	stubOps   = 9
)

// stubRecord records one report's operations.
func stubRecord(reg *measure.Registry) {
	rng := rand.New(rand.NewPCG(21, 4))
	rec := reg.Recorder(0)
	for i := range stubNames {
		name := rec.Name(fmt.Sprint("operation-", i))
		if i == 0 {
			name = rec.Name(workload.Delivery)
		}
		for range stubOps {
			d := func() time.Duration { return time.Duration(math.Exp(13 + 2*rng.NormFloat64())) }
			op := measure.Op{Due: d(), Scheduled: true}
			op.Sent = op.Due + d()
			op.Done = op.Sent + d()
			rec.Record(name, &op)
		}
	}
}

// canned is a report of a real agent without users, which stubs send again and again.
type canned struct {
	report  []byte // in JSON, as a reply has it
	raw     []byte // what follows the reply
	windows int    // bytes
}

// quiet is a behavior without users.
type quiet struct{}

func (quiet) Provision(context.Context, workload.Env, int) error { return nil }
func (quiet) NewActor(workload.Env, *workload.User) (workload.Actor, error) {
	return nil, errors.New("stubs have no users")
}

// stubAgent makes an agent without users whose report is as large as a real one's.
func stubAgent(
	ctx context.Context,
	self *probe.Self,
	epoch time.Time,
	onError func(int, error),
) (a *fleet.Agent, err error) {
	a = &fleet.Agent{
		Registry: measure.NewRegistry(1),
		Tally:    new(workload.Tally),
		Ledger:   workload.NewLedger(0, 7),
		Samples:  self.Sample,
	}
	a.Ledger.Share()
	var actions []workload.TallyAction
	for i := range 25 { // as the default mix has
		name := fmt.Sprint("action-", i)
		actions = append(actions, workload.TallyAction{Name: name, Weight: 0.04})
	}
	counts := a.Tally.Behavior("behavior", actions)
	for i := range 25 * 40 {
		counts.Attempt(i % 25)
		counts.SucceedBy(i%25, i/25)
	}
	stubRecord(a.Registry)
	a.Engine, err = engine.New(ctx, engine.Config{
		Env:     workload.Env{Registry: a.Registry, Ledger: a.Ledger, Seed: 7, Pace: 1},
		Mix:     []engine.Part{{Behavior: quiet{}, Share: 1}},
		Clock:   clock.New(epoch),
		OnError: onError,
	})
	return a, err
}

// newCanned asks a real agent for a report.
func newCanned(ctx context.Context) (c canned, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	here, there := net.Pipe()
	defer here.Close()
	defer context.AfterFunc(ctx, func() { _ = here.Close() })()
	self, err := probe.NewSelf()
	if err != nil {
		return c, err
	}
	go func() {
		_ = fleet.Serve(ctx, there, there, func(
			ctx context.Context, _ fleet.Start, epoch time.Time, onError func(int, error),
		) (*fleet.Agent, error) {
			return stubAgent(ctx, self, epoch, onError)
		})
		_ = there.Close()
	}()
	in := bufio.NewReader(here)
	var line []byte
	for _, request := range []string{
		fmt.Sprintf(`{"start":{"epoch":%q,"settings":{}}}`, time.Now().Format(time.RFC3339Nano)),
		`{"collect":{"at":1000000000}}`,
	} {
		if err := study.Pause(ctx, time.Second); err != nil { // samples are of a second
			return c, err
		}
		if _, err := io.WriteString(here, request+"\n"); err != nil {
			return c, err
		}
		if line, err = in.ReadBytes('\n'); err != nil {
			return c, err
		}
	}
	var p struct {
		Error  string
		Report json.RawMessage
	}
	if err := json.Unmarshal(line, &p); err != nil {
		return c, err
	}
	if p.Error != "" {
		return c, errors.New(p.Error)
	}
	var sizes struct{ Packs []int }
	if err := json.Unmarshal(p.Report, &sizes); err != nil {
		return c, err
	}
	c.report = slices.Clone(p.Report)
	for _, n := range sizes.Packs {
		c.windows += n
	}
	if c.windows == 0 {
		return c, errors.New("the report of an agent has no windows")
	}
	c.raw = make([]byte, c.windows)
	_, err = io.ReadFull(in, c.raw)
	return c, err
}

// stubs runs n agents that answer each collect with the same report until ctx ends.
func stubs(ctx context.Context, dir, url string, n int, row fleetRow) error {
	c, err := newCanned(ctx)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, n)
	for k := range n {
		tok, err := join.ReadToken(tokenFile(dir, k))
		if err != nil {
			return err
		}
		m := stubMessages{agent: k, posts: row.posts / n, groups: max(n/max(row.hear, 1), 1)}
		if k < row.posts%n {
			m.posts++
		}
		wg.Go(func() {
			errs <- join.Attend(ctx, join.AgentConfig{
				Token: tok,
				URL:   url,
				Build: build,
				Say:   func(string, ...any) {},
				Introduce: func() join.Introduction {
					return join.Introduction{
						Host:    "stub",
						Version: build,
					}
				},
				Serve: func(ctx context.Context, s *join.Responder) error {
					return c.serve(ctx, s, m)
				},
			})
		})
	}
	wg.Wait()
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// serve answers the requests of one coordinator.
func (c canned) serve(ctx context.Context, s *join.Responder, messages stubMessages) error {
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	dec := json.NewDecoder(s)
	for {
		var r struct {
			Start, Stop json.RawMessage
			Collect     *struct{ At time.Duration }
		}
		if err := dec.Decode(&r); err != nil {
			return err
		}
		var b bytes.Buffer
		now := time.Now().Format(time.RFC3339Nano)
		fmt.Fprintf(&b, `{"received":%q,"replied":%q`, now, now)
		switch {
		case r.Start != nil:
			fmt.Fprintf(&b, `,"pids":[%d]`, os.Getpid())
		case r.Collect != nil:
			fmt.Fprintf(&b, `,"parts":[{"process":0,"at":%d,"report":{`, r.Collect.At)
			messages.report(&b, r.Collect.At)
			b.Write(c.report[1:])
			b.WriteString(`}]`)
		}
		b.WriteString("}\n")
		if r.Collect != nil {
			b.Write(c.raw)
		}
		if _, err := s.Write(b.Bytes()); err != nil || r.Stop != nil {
			return err
		}
	}
}

// stubChannels is the number of channels that stubs post to.
const stubChannels = 500

// stubMessages are what a stub posts: so many messages a second, each to another of the channels
// that it knows, which are those of its group.
type stubMessages struct {
	agent, posts, groups int
	number               int
}

// report writes the members of a report that are about messages, in JSON.
func (m *stubMessages) report(b *bytes.Buffer, at time.Duration) {
	list := func(name string, n int, item func(i int) string) {
		fmt.Fprintf(b, `"%s":[`, name)
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(item(i))
		}
		b.WriteString("],")
	}
	known := max(stubChannels/m.groups, 1)
	channel := func(i int) string { return fmt.Sprintf("%026d", m.agent%m.groups+i%known*m.groups) }
	m.number++
	if m.posts > 0 {
		list("acked", m.posts, func(i int) string {
			return fmt.Sprintf(
				`{"id":"%012d%06d%08d","channel":"%s","author":%d,"sent":%d,"acked":%d}`,
				m.number,
				m.agent,
				i,
				channel(m.agent+i),
				m.agent,
				at-2e8,
				at-1e8,
			)
		})
	}
	if m.number == 1 {
		list("channels", known, func(i int) string { return `"` + channel(i) + `"` })
	}
}
