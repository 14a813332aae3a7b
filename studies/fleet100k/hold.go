package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"plimsoll/dialect/mattermost"
	"plimsoll/load/fleet"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/studies/study"
)

// grace is how long the users may take to leave.
const grace = 20 * time.Second

// patience is how long an agent may take for a reply. All of them, the servers and the coordinator
// share the cores.
const patience = 30 * time.Second

// stand is how long the null servers stand still at the end, so that what they count and what the
// users count is the same: what is under way arrives meanwhile.
const stand = 4 * time.Second

// try holds the users once. With an error, the row has what was measured until then.
func (s *task) try(ctx context.Context) (row Try, err error) {
	row = s.row()
	before := available()
	m, err := s.start(ctx)
	defer func() { err = errors.Join(err, m.Down(ctx)) }()
	if err != nil {
		return row, err
	}
	began := time.Now()
	reg := measure.NewRegistry(1)
	set, err := s.prepare(ctx, m, reg)
	if err != nil {
		return row, fmt.Errorf("preparing the users: %w", err)
	}
	row.Prepared = time.Since(began).Seconds()
	if _, err := m.stats(ctx, "?reset"); err != nil {
		return row, err
	}
	reg.Cut()
	l := &leader{
		task:     s,
		machines: m,
		row:      &row,
		registry: reg,
		ledger:   workload.NewLedger(0, seed),
		tally:    new(workload.Tally),
		windows:  map[string]*measure.Window{},
	}
	if err := l.lead(ctx, set); err != nil {
		return row, err
	}
	row.MemoryMiB = float64(before-l.available) / (1 << 20)
	return row, row.check()
}

// prepare makes the users' accounts on the first server: ids and tokens are the same on all. It
// returns the settings of each agent.
func (s *task) prepare(
	ctx context.Context,
	m *machines,
	reg *measure.Registry,
) (func(agent int) (json.RawMessage, error), error) {
	person := new(mattermost.Person)
	env := environment(m.urls, reg)
	if err := person.Provision(ctx, env, s.users); err != nil {
		return nil, err
	}
	parts := workload.Parts(s.users, workload.Evenly(len(m.links)), 1)
	return func(agent int) (json.RawMessage, error) {
		state, err := person.State(parts[agent][0])
		if err != nil {
			return nil, err
		}
		return json.Marshal(settings{URLs: m.urls, State: state, From: s.ramp + settle})
	}, nil
}

// A leader leads the agents through one try.
type leader struct {
	*task
	*machines
	row      *Try
	registry *measure.Registry
	ledger   *workload.Ledger
	tally    *workload.Tally
	driver   *fleet.RemoteDriver
	windows  map[string]*measure.Window // since the users began, by name
	held     map[string]*measure.Window // of the hold; nil before

	available int64 // memory, in the hold
}

func (l *leader) lead(
	ctx context.Context,
	set func(agent int) (json.RawMessage, error),
) (err error) {
	began := time.Now()
	// The agents take a while to take in the users; the epoch lies after that.
	epoch := began.Add(startTime(l.users))
	l.driver, err = fleet.New(ctx, fleet.Config{
		Links:    l.links,
		Epoch:    epoch,
		Settings: set,
		Registry: l.registry,
		Tally:    l.tally,
		Ledger:   l.ledger,
		Patience: patience,
		OnError: func(agent, user int, err error) {
			if l.row.Complaints++; l.row.FirstComplaint == "" {
				l.row.FirstComplaint = study.OneLine(
					fmt.Sprintf("agent %d, user %d: %v", agent, user, err),
				)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("starting the agents: %w", err)
	}
	defer l.driver.Stop(0)
	l.row.Joined = time.Since(began).Seconds()
	if err := study.Pause(ctx, time.Until(epoch)); err != nil {
		return err
	}
	if err := l.driver.SetUsers(l.users, l.ramp); err != nil {
		return err
	}
	if err := l.collect(ctx, epoch.Add(l.ramp+settle)); err != nil {
		return fmt.Errorf("while the users began: %w", err)
	}
	if _, active, failed := l.driver.Users(); active < l.users {
		l.row.Held = active
		return fmt.Errorf(
			"%d of %d users had begun %v after the ramp, %d have failed: %s",
			active,
			l.users,
			settle,
			failed,
			l.row.FirstComplaint,
		)
	}
	if err := l.through(ctx); err != nil {
		return err
	}
	return l.account(ctx)
}

// startTime is how long agents on shared cores may take until their engines stand.
func startTime(users int) time.Duration {
	return 2*time.Second + time.Duration(users)*200*time.Microsecond
}

// collect collects from the agents once a second until then.
func (l *leader) collect(ctx context.Context, until time.Time) error {
	said := time.Now()
	for time.Now().Before(until) {
		if err := study.Pause(ctx, min(time.Second, time.Until(until))); err != nil {
			return err
		}
		if err := l.gather(ctx); err != nil {
			return err
		}
		if time.Since(said) > 10*time.Second {
			said = time.Now()
			_, active, failed := l.driver.Users()
			fmt.Fprintf(
				os.Stderr,
				"fleet100k: %d of %d users act, %d failed, %d complaints, %d MiB of memory left, %v to go\n",
				active,
				l.users,
				failed,
				l.row.Complaints,
				available()>>20,
				time.Until(until).Round(time.Second),
			)
		}
	}
	return nil
}

// gather collects once.
func (l *leader) gather(ctx context.Context) error {
	if err := l.driver.Collect(ctx); err != nil {
		return err
	}
	for _, w := range l.registry.Cut() {
		merge(l.windows, w)
		if l.held != nil {
			merge(l.held, w)
		}
	}
	return nil
}

func merge(into map[string]*measure.Window, w *measure.Window) {
	if into[w.Name] == nil {
		into[w.Name] = measure.NewWindow(w.Name)
	}
	into[w.Name].Merge(w)
}

// through holds the users and measures what that takes.
func (l *leader) through(ctx context.Context) error {
	from, err := l.look()
	if err != nil {
		return err
	}
	l.held = map[string]*measure.Window{}
	began := time.Now()
	err = l.collect(ctx, began.Add(l.hold))
	took := time.Since(began)
	_, active, failed := l.driver.Users()
	l.row.Held, l.row.Failed, l.row.Seconds = active, failed, took.Seconds()
	if err != nil {
		return fmt.Errorf("after %v of the hold: %w", took.Round(time.Second), err)
	}
	to, err := l.look()
	if err != nil {
		return err
	}
	l.available = available()
	l.row.measure(from, to, took)
	for _, w := range l.held {
		if ofUsers(w.Name) {
			l.row.Operations += w.Count()
			l.row.Errors += w.Errors()
		}
	}
	for k := range l.links {
		for name, worst := range map[string]*float64{lagP99: &l.row.LagP99, lagMax: &l.row.LagMax} {
			v, _, ok := l.driver.Sampled(k, name)
			if !ok {
				return fmt.Errorf("agent %d has sent no %s", k, name)
			}
			*worst = max(*worst, v*1000)
		}
	}
	return nil
}

// ofUsers reports whether a window is of operations, each of which is in one such window.
func ofUsers(name string) bool {
	switch name {
	case workload.Schedule, workload.Delivery, workload.Inbox:
		return false
	}
	return !workload.Beyond(name)
}

// sockets reads how many WebSockets the servers have open, until it is all users' or for [readings]
// times: a user that reloads has none for a moment, and among so many there is often one. The row
// gets the largest reading.
func (l *leader) sockets(ctx context.Context) error {
	for range readings {
		sum, err := l.stats(ctx, "")
		if err != nil {
			return err
		}
		if l.row.Sockets = max(l.row.Sockets, sum.Sockets); l.row.Sockets >= l.users {
			break
		}
		if err := l.collect(ctx, time.Now().Add(reading)); err != nil {
			return err
		}
	}
	return nil
}

// The open WebSockets are read at most so often, in such intervals.
const (
	readings = 20
	reading  = 500 * time.Millisecond
)

// account ends the users and compares what they have counted with what the servers have.
func (l *leader) account(ctx context.Context) error {
	if err := l.sockets(ctx); err != nil {
		return err
	}
	// While the servers stand still, nothing is accepted or pushed. What they have answered is read
	// meanwhile.
	if _, err := l.each(ctx, fmt.Sprintf("/refnull/stall?for=%v&in=0s", stand)); err != nil {
		return err
	}
	if err := l.collect(ctx, time.Now().Add(stand/2)); err != nil {
		return err
	}
	sum, err := l.stats(ctx, "")
	if err != nil {
		return err
	}
	l.row.Pushed, l.row.Received = sum.Pushed, int64(l.windows[workload.Inbox].Lag.Count())
	l.driver.Stop(grace)
	if err := l.gather(ctx); err != nil {
		return fmt.Errorf("while the users left: %w", err)
	}
	if sum, err = l.stats(ctx, ""); err != nil {
		return err
	}
	l.row.Posted, l.row.Ledger = sum.Posts, l.ledger.Count()
	return nil
}

// counts are those of null servers.
type counts struct {
	Requests int64 `json:"requests"`
	Posts    int64 `json:"posts"`
	Sockets  int   `json:"websockets"`
	Pushed   int64 `json:"pushed"`
}

// stats adds up the counts of all servers.
func (m *machines) stats(ctx context.Context, query string) (sum counts, err error) {
	pages, err := m.each(ctx, "/refnull/stats"+query)
	for _, b := range pages {
		var one counts
		if err := json.Unmarshal(b, &one); err != nil {
			return sum, err
		}
		sum = counts{
			sum.Requests + one.Requests,
			sum.Posts + one.Posts,
			sum.Sockets + one.Sockets,
			sum.Pushed + one.Pushed,
		}
	}
	return sum, err
}

// each fetches a page of every server.
func (m *machines) each(ctx context.Context, path string) (pages [][]byte, err error) {
	c := &http.Client{Transport: new(http.Transport)} // and no proxy
	defer c.CloseIdleConnections()
	for _, u := range m.urls {
		b, err := study.Fetch(ctx, c, u+path)
		if err != nil {
			return pages, err
		}
		pages = append(pages, b)
	}
	return pages, nil
}
