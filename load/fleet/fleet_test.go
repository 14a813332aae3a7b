package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

// chatter is a behavior whose users write to one channel that all of them read: the one of the
// ledger's messages.
type chatter struct {
	channel *channel
	fail    int  // the user that fails for good at its third action
	mute    bool // each panics at its login
}

// channel is a server of one channel: connected users receive messages a little later.
type channel struct {
	mu    sync.Mutex
	n     int
	heard []func(id string)
}

type chatterActor struct {
	b    *chatter
	env  workload.Env
	u    *workload.User
	acts int
}

func (b *chatter) Provision(context.Context, workload.Env, int) error { return nil }
func (b *chatter) StormKinds() []string                               { return []string{"flood"} }
func (b *chatter) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &chatterActor{b: b, env: env, u: u}, nil
}
func (a *chatterActor) Login(context.Context) error {
	if a.b.mute {
		panic("no voice at all")
	}
	a.b.channel.mu.Lock()
	defer a.b.channel.mu.Unlock()
	now := time.Now()
	a.env.Ledger.Connected(a.u.ID, now, false)
	a.env.Ledger.Join(a.u.ID, "c", now)
	name, rec := a.env.Registry.Name(workload.Delivery), a.u.Recorder()
	a.b.channel.heard = append(a.b.channel.heard, func(id string) {
		a.env.Ledger.Seen(a.u.ID, []byte("c"), []byte(id), nil, time.Now(), rec, name)
	})
	return nil
}
func (a *chatterActor) Think() time.Duration {
	return time.Duration((1 + a.u.Think.Float64()) * float64(time.Second))
}
func (a *chatterActor) Act(ctx context.Context) error {
	c := a.env.Tally.Behavior("chatter", []workload.TallyAction{{Name: "say", Weight: 1}})
	c.Attempt(0)
	if a.acts++; a.u.ID == a.b.fail && a.acts == 3 {
		return errors.New("no voice")
	}
	time.Sleep(chatterNeeds)
	sent := time.Now()
	a.b.channel.mu.Lock()
	a.b.channel.n++
	id := fmt.Sprint("m", a.b.channel.n)
	heard := append([]func(string){}, a.b.channel.heard...)
	a.b.channel.mu.Unlock()
	time.AfterFunc(time.Millisecond, func() {
		for _, h := range heard {
			h(id)
		}
	})
	if err := workload.SleepUntil(ctx, sent.Add(2*time.Millisecond)); err != nil {
		return err
	}
	a.env.Ledger.Acked(workload.Message{
		ID:      id,
		Channel: "c",
		Author:  a.u.ID,
		Sent:    sent,
		Acked:   time.Now(),
	})
	a.u.Done(a.env.Registry.Name("say"), sent, sent, time.Now(), measure.OK, 1)
	c.Succeed(0)
	return nil
}

// chatterNeeds is how long the generator needs before each operation.
const chatterNeeds = 3 * time.Millisecond

func (a *chatterActor) Storm(context.Context, workload.Storm) error { return nil }
func (a *chatterActor) Close()                                      {}

// A changing sees an agent of a test before its engine is made.
type changing func(s Start, a *Agent, c *engine.Config)

// build makes agents whose users write to ch.
func build(ch *channel, fail int, change ...changing) Build {
	return agentOf(&chatter{channel: ch, fail: fail}, change...)
}

// talkers makes agents whose users write to a channel of their own.
func talkers(change ...changing) Build { return build(&channel{}, -1, change...) }

// agentOf makes agents whose users have a behavior.
func agentOf(b workload.Behavior, change ...changing) Build {
	return func(ctx context.Context, s Start, epoch time.Time, onError func(int, error)) (*Agent, error) {
		a := &Agent{
			Registry: measure.NewRegistry(2),
			Tally:    new(workload.Tally),
			Ledger:   workload.NewLedger(0, 9),
		}
		a.Samples = func(context.Context, time.Time) ([]series.Sample, error) {
			return []series.Sample{{
				Name:   "x",
				Labels: []series.Label{{Name: "a", Value: "b"}},
				Value:  float64(s.Agent),
			}}, nil
		}
		a.Ledger.Share()
		c := engine.Config{
			Env: workload.Env{
				Registry: a.Registry,
				Tally:    a.Tally,
				Ledger:   a.Ledger,
				Seed:     9,
				Pace:     1,
			},
			Mix:     []engine.Part{{Behavior: b, Share: 1}},
			Clock:   clock.New(epoch),
			OnError: onError,
			Agent:   s.Agent,
			Agents:  s.Agents,
		}
		for _, f := range change {
			f(s, a, &c)
		}
		var err error
		a.Engine, err = engine.New(ctx, c)
		return a, err
	}
}

// same are settings that all agents have.
func same(settings string) func(int) (json.RawMessage, error) {
	return func(int) (json.RawMessage, error) { return json.RawMessage(settings), nil }
}

// config is that of a run which begins at an epoch, without links.
func config(epoch time.Time) Config {
	return Config{
		Epoch:    epoch,
		Settings: same("9"),
		Registry: measure.NewRegistry(1),
		Tally:    new(workload.Tally),
		Ledger:   workload.NewLedger(0, 9),
	}
}

// lead starts a fleet of n served agents.
func lead(
	t *testing.T,
	n int,
	b Build,
) (d *RemoteDriver, cfg Config, served chan error, agents []net.Conn) {
	t.Helper()
	cfg = config(time.Now())
	served, agents = links(n, &cfg, b)
	d, err := New(t.Context(), cfg)
	must(t, err)
	return d, cfg, served, agents
}

// links serves n agents and gives cfg the links to them.
func links(n int, cfg *Config, b Build) (served chan error, agents []net.Conn) {
	served = make(chan error, n)
	for range n {
		here, there := net.Pipe()
		cfg.Links = append(cfg.Links, here)
		agents = append(agents, there)
		go func() { served <- Serve(context.Background(), there, there, b) }()
	}
	return served, agents
}

func TestSamplesOfTheAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, _, _ := lead(t, 2, talkers())
		defer d.Stop(0)
		if _, err := d.Sample(t.Context(), time.Now()); err == nil {
			t.Error("no agent has sent a sample, and nothing was said")
		}
		time.Sleep(time.Second)
		must(t, d.Collect(t.Context()))
		got, err := d.Sample(t.Context(), time.Now())
		if err != nil || len(got) != 2 {
			t.Fatalf("%v, %v", got, err)
		}
		if key := string(got[1].AppendKey(nil)); key != `x{a="b",agent="1"}` || got[1].Value != 1 {
			t.Errorf("%s %v", key, got[1].Value)
		}
		time.Sleep(stale + time.Second)
		if _, err := d.Sample(t.Context(), time.Now()); !says(err, "agent 0") {
			t.Errorf("old samples: %v", err)
		}
	})
}

// The audit goes on for a minute after the users have stopped. Their agents are not missing then,
// unless they were before.
func TestStoppedAgentsAreNotMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, _, _ := lead(t, 2, talkers())
		time.Sleep(time.Second)
		must(t, d.Collect(t.Context()))
		d.Stop(time.Second)
		time.Sleep(time.Minute)
		if got, err := d.Sample(t.Context(), time.Now()); err != nil || len(got) != 0 {
			t.Errorf("a minute after the stop: %q, %v", keys(got), err)
		}
		d.agents[1].sampled = d.stopAt.Load().Add(-stale - time.Second)
		_, err := d.Sample(t.Context(), time.Now())
		if !says(err, "agent 1") || strings.Contains(err.Error(), "agent 0") {
			t.Errorf("an agent that was silent when it was stopped: %v", err)
		}
	})
}

func TestLostAgent(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(link net.Conn)
		want string
	}{
		{"gone", func(link net.Conn) { _ = link.Close() }, "its process has ended"},
		{"talks nonsense", func(link net.Conn) {
			go func() { _, _ = link.Write([]byte("hello\n")) }()
		}, "invalid character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, _, served, agents := lead(t, 3, talkers())
				must(t, d.SetUsers(6, 0))
				time.Sleep(time.Second)
				tt.lose(agents[1])
				synctest.Wait()
				err := d.Collect(t.Context())
				if !errors.Is(err, trial.ErrLost) || !says(err, "2 of 3") ||
					!strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v", err)
				}
				if err := d.SetUsers(9, 0); !errors.Is(err, trial.ErrLost) {
					t.Errorf("more users: %v", err)
				}
				d.Stop(time.Second)
				bad := 0
				for range 3 {
					if err := <-served; err != nil {
						bad++
					}
				}
				if bad != 1 {
					t.Errorf("%d agents ended with an error, want 1", bad)
				}
			})
		})
	}
}

// pair is the config of a run with one agent, and that agent's end of the link.
func pair() (Config, net.Conn) {
	here, there := net.Pipe()
	cfg := config(time.Now())
	cfg.Links = []io.ReadWriteCloser{here}
	return cfg, there
}

// scripted is an agent with the replies of a test; after the replies it is silent.
func scripted(link io.ReadWriter, replies ...func(now time.Time) reply) {
	dec, enc := json.NewDecoder(link), json.NewEncoder(link)
	for _, f := range replies {
		var r request
		if dec.Decode(&r) != nil || enc.Encode(f(time.Now())) != nil {
			return
		}
	}
	_, _ = io.Copy(io.Discard, link)
}

func TestSilentAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, there := pair()
		cfg.Patience = 3 * time.Second
		go scripted(there, func(now time.Time) reply { return reply{Received: now, Replied: now} })
		d, err := New(t.Context(), cfg)
		must(t, err)
		from := time.Now()
		err = d.Collect(t.Context())
		if took := time.Since(from); took != 3*time.Second || !errors.Is(err, trial.ErrLost) ||
			!says(err, "no reply within 3s") {
			t.Errorf("after %v: %v", took, err)
		}
		d.Stop(time.Minute)
		if took := time.Since(from); took > 4*time.Second {
			t.Errorf("a lost agent was waited for, %v", took)
		}
	})
}

// The clock of an agent is 30 ms ahead; some requests take long on their way, and only the quick
// ones are used.
func TestClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg, there := pair()
		at := func(slow time.Duration) func(time.Time) reply {
			return func(time.Time) reply {
				time.Sleep(slow)
				now := time.Now().Add(30 * time.Millisecond)
				return reply{Received: now, Replied: now, Report: &report{}}
			}
		}
		go scripted(
			there,
			at(40*time.Millisecond),
			at(0),
			at(70*time.Millisecond),
			at(20*time.Millisecond),
		)
		d, err := New(t.Context(), cfg)
		must(t, err)
		for range 3 {
			must(t, d.Collect(t.Context()))
		}
		if got := d.Clocks(); got != 30*time.Millisecond {
			t.Errorf("clocks are %v apart, want 30ms", got)
		}
		d.Stop(0)
	})
}

func TestAgentsThatCannotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config(time.Now())
		served, _ := links(
			1,
			&cfg,
			func(context.Context, Start, time.Time, func(int, error)) (*Agent, error) {
				return nil, errors.New("no such behavior")
			},
		)
		_, err := New(t.Context(), cfg)
		if !says(err, "agent 1 of 1: no such behavior") || errors.Is(err, trial.ErrLost) {
			t.Errorf("%v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("the agent's end: %v", err)
		}
	})
}

func TestAgentRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() { _ = Serve(t.Context(), there, there, talkers()) }()
		dec, enc := json.NewDecoder(here), json.NewEncoder(here)
		start := request{Start: &Start{
			Agents:   1,
			Epoch:    time.Now(),
			Settings: json.RawMessage("1"),
		}}
		for _, tt := range []struct {
			r    request
			want string
		}{
			{request{Collect: &collect{}}, "has not begun"},
			{request{Start: &Start{
				Agent:  2,
				Agents: 2,
				Epoch:  time.Now(),
			}}, "agent 2 of 2; want one of at most"},
			{request{Start: &Start{
				Agents: 1,
				Epoch:  time.Now().Add(2 * mostAway),
			}}, "from this clock"},
			{start, ""}, {start, "has begun already"}, {request{}, "of no kind"},
			{request{Users: &users{N: -1}}, "want 0 to 10000000"}, {request{Storm: &workload.Storm{Share: 2}}, "want 0 to 1 over"},
		} {
			must(t, enc.Encode(tt.r))
			var p reply
			if err := dec.Decode(&p); err != nil || (p.Error == "") != (tt.want == "") ||
				!strings.Contains(string(p.Error), tt.want) {
				t.Errorf("%+v: %q, %v; want %q", tt.r, p.Error, err, tt.want)
			}
		}
		_ = here.Close()
	})
}

func TestCoordinatorGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, served, _ := lead(t, 1, talkers())
		must(t, d.SetUsers(5, 0))
		time.Sleep(5 * time.Second)
		_ = d.cfg.Links[0].Close()
		if err := <-served; !says(err, "coordinator is gone") {
			t.Errorf("the agent's end: %v", err)
		} // the bubble ends when no user is left
	})
}

// An agent that is gone when the users are stopped has taken its last report with it.
func TestLostAtTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, _, served, agents := lead(t, 2, talkers())
		must(t, d.SetUsers(4, 0))
		time.Sleep(time.Second)
		must(t, d.Collect(t.Context()))
		_ = agents[1].Close()
		synctest.Wait()
		d.Stop(time.Second)
		if err := d.Collect(t.Context()); !errors.Is(err, trial.ErrLost) || !says(err, "2 of 2") {
			t.Errorf("got %v, want the loss of the second agent", err)
		}
		<-served
		<-served
	})
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says reports whether an error has a text in it.
func says(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }
