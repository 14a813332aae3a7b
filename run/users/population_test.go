package users

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/fleet/join"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/run/trial"
	"plimsoll/watch/series"
)

// quiet is a Progress that a test shows when it fails.
type quiet struct{ *testing.T }

func (q quiet) Say(format string, args ...any)     { q.Logf(format, args...) }
func (q quiet) Doing(step string, _ time.Duration) { q.Log(step) }

// a populated is a population of visitors, and what was heard of it.
type populated struct {
	*Population
	conf Config

	mu    sync.Mutex
	notes []string
	fails []string
}

// populate starts a population of visitors of a server.
func populate(t *testing.T, p *plan.Plan, crew *Crew, at *visited, users int) *populated {
	t.Helper()
	v := new(visitor)
	mix := []engine.Part{{Name: "visitor", Behavior: v, Share: 1}}
	run := clock.New(time.Now())
	env := workload.Env{
		URL:      at.URL,
		Seed:     7,
		Pace:     1,
		Timeout:  10 * time.Second,
		Clock:    run,
		Registry: measure.NewRegistry(1),
		Tally:    new(workload.Tally),
		Ledger:   workload.NewLedger(0, 7),
	}
	if err := Provision(t.Context(), env, mix, users, nil); err != nil {
		t.Fatal(err)
	}
	lay, err := LayOut(t.Context(), p, crew, at.URL, mix, users)
	if err != nil {
		t.Fatal(err)
	}
	if err := lay.FreePorts(t.Context(), plan.Gates{}.All(), Sockets(mix, users),
		quiet{t}); err != nil {
		t.Fatal(err)
	}
	out := new(populated)
	out.conf = Config{
		Layout: lay, Mix: mix, Env: env, Clock: run, Crew: crew, Budget: 8 << 20, Say: t.Logf,
		Tick: time.Second,
		Failed: func(who string, err error) {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.fails = append(out.fails, who+": "+err.Error())
		},
		Note: func(text string) error {
			out.mu.Lock()
			defer out.mu.Unlock()
			out.notes = append(out.notes, text)
			return nil
		},
	}
	if out.Population, err = Start(t.Context(), out.conf); err != nil {
		t.Fatal(err)
	}
	return out
}

// joined returns the numbers of the processes that the notes name.
func (p *populated) joined() (pids []int) {
	for _, note := range p.notes {
		var k, n, pid int
		if _, err := fmt.Sscanf(note, "agent %d of %d joined: process %d", &k, &n, &pid); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// checkVisits has all users come once at least, and checks what was recorded when they have ended.
func (p *populated) checkVisits(t *testing.T, at *visited, users int) {
	t.Helper()
	if err := p.SetUsers(users, 0); err != nil {
		t.Fatal(err)
	}
	at.await(t, users)
	p.Stop(10 * time.Second)
	if c, ok := p.Driver.(trial.Collector); ok {
		if err := c.Collect(t.Context()); err != nil {
			t.Error(err)
		}
	}
	visits := uint64(0)
	for _, w := range p.conf.Env.Registry.Cut() {
		if w.Name == "visit" {
			visits = w.Count()
		}
	}
	if visits < uint64(users) || p.Stamps().Requests == 0 || len(p.fails) > 0 {
		t.Errorf(
			"%d visits of %d users, connections %+v, errors %q",
			visits,
			users,
			p.Stamps(),
			p.fails,
		)
	}
	if cut, held := p.Refused(); cut.Budget != 0 || held == 0 {
		t.Errorf("answers: %+v were refused, %d bytes held", cut, held)
	}
	if f := p.Findings(nil); f != nil {
		t.Errorf("findings %+v", f)
	}
}

// The same users come from one process and from several, each with its own token and from the
// addresses of the plan; the processes end with them.
func TestUsersOfThisHost(t *testing.T) {
	const users = 6
	for _, processes := range []int{1, 2} {
		at := newVisited(t)
		p := populate(t, &plan.Plan{Placement: plan.Placement{Processes: processes,
			Source: []string{"127.0.0.9"}}}, nil, at, users)
		p.checkVisits(t, at, users)
		p.End()
		pids := p.joined()
		if processes == 1 && (p.Remote() != nil || pids != nil) ||
			processes == 2 && len(pids) != 2 {
			t.Errorf("%d processes: %q", processes, p.notes)
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d is left: %v", pid, err)
			}
		}
		for rank := range users {
			if from := at.tokens[fmt.Sprintf("token-%03d", rank)]; from != "127.0.0.9" {
				t.Errorf("%d processes: the user of rank %d came from %q", processes, rank, from)
			}
		}
	}
}

// A program that ends before it has users is named with its last words.
func TestAProcessThatCannotStart(t *testing.T) {
	at := newVisited(t)
	_, err := Start(t.Context(), Config{
		Layout: Layout{Users: 2, Processes: 2},
		Mix:    []engine.Part{{Name: "ghost", Behavior: new(visitor), Share: 1}},
		Env:    workload.Env{URL: at.URL}, Clock: clock.New(time.Now()), Say: t.Logf,
		Failed: func(string, error) {},
	})
	if err == nil || !strings.Contains(err.Error(), "agent 1 of 2: there is no behavior ghost") {
		t.Errorf("%v", err)
	}
}

// attend has this program be an agent of a hall until end is called.
func attend(t *testing.T, url, tokenFile string) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- Attendance{
			URL:       url,
			TokenFile: tokenFile,
			Version:   "v1",
			Secrets:   new(plain.Secrets),
			Say:       t.Logf,
			Rating:    func() *join.Rating { return &join.Rating{Users: 100} },
			Sampler: func() (func(context.Context, time.Time) ([]series.Sample, error), func(), error) {
				return nil, func() {}, nil
			},
		}.Attend(ctx)
	}()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// The users of a crew are in processes that its agents start, run after run; an agent that is lost
// in a run is not waited for in the next.
func TestUsersOfACrew(t *testing.T) {
	const users = 6
	keys, tokenFile := fleetFiles(t, "a", "b")
	hall := opened(t, keys)
	ends := map[string]func(){}
	for _, name := range []string{"a", "b"} {
		ends[name] = attend(t, hall.Addr(), tokenFile(name))
		defer ends[name]()
	}
	p := &plan.Plan{
		Placement: plan.Placement{Agents: &plan.Agents{Count: 2}, Share: plan.ShareRating},
		Fleet: &plan.Fleet{Join: time.Minute, Hold: 3 * time.Second, Resend: 20 * time.Second,
			Leave: 25 * time.Second, Over: time.Second},
	}
	crew := NewCrew(hall, p, quiet{t})
	at := newVisited(t)
	first := populate(t, p, crew, at, users)
	if lay := first.conf.Layout; lay.Processes != 2 || !slices.Equal(lay.Ratings, []int{100, 100}) {
		t.Errorf("layout %+v", lay)
	}
	first.checkVisits(t, at, users)
	first.End()
	text := strings.Join(first.notes, "\n")
	if len(first.joined()) != 2 || !strings.Contains(text, " on a") ||
		!strings.Contains(text, " on b") || strings.Count(text, "clock of agent") != 2 {
		t.Errorf("notes:\n%s", text)
	}
	if crew.Lost() != 0 {
		t.Errorf("%d agents are lost", crew.Lost())
	}

	p.Fleet.Resend = time.Second
	crew.times.Resend = time.Second
	second := populate(t, p, crew, newVisited(t), users)
	ends["b"]()
	collector := second.Driver.(trial.Collector)
	if err := collector.Collect(t.Context()); !errors.Is(err, trial.ErrLost) ||
		!strings.Contains(err.Error(), "(b)") {
		t.Errorf("an agent has gone: %v", err)
	}
	second.Stop(0)
	second.End()
	if crew.Lost() != 1 {
		t.Errorf("%d agents are lost", crew.Lost())
	}
	third := newVisited(t)
	left := populate(t, p, crew, third, users)
	left.checkVisits(t, third, users)
	left.End()
	if members := left.conf.Layout.Members; len(members) != 1 || members[0].Name != "a" {
		t.Errorf("the next run has %+v", members)
	}
}
