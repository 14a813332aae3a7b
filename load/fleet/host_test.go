package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/run/trial"
)

// cable is a fake link: while it is cut, nothing arrives, and what was sent arrives when it is
// mended.
type cable struct {
	mu   sync.Mutex
	cond sync.Cond
	in   [2]bytes.Buffer // to the host, and to the coordinator
	held [2]bytes.Buffer
	cut  time.Time // zero while it is whole
	way  time.Duration
	end  [2]bool // by the direction that is read
}

func newCable() *cable {
	w := new(cable)
	w.cond.L = &w.mu
	return w
}

func (w *cable) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = time.Time{}
	for i := range w.held {
		_, _ = w.held[i].WriteTo(&w.in[i])
	}
	w.cond.Broadcast()
}

func (w *cable) sever() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = time.Now()
}

func (w *cable) silent() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut.IsZero() {
		return 0
	}
	return time.Since(w.cut)
}

// cableEnd is one of its ends, by the direction that it reads.
type cableEnd struct {
	*cable
	reads int
}

func (e cableEnd) Write(b []byte) (int, error) {
	time.Sleep(e.way)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end[e.reads] {
		return 0, io.ErrClosedPipe
	}
	to := &e.in[1-e.reads]
	if !e.cut.IsZero() {
		to = &e.held[1-e.reads]
	}
	e.cond.Broadcast()
	return to.Write(b)
}

func (e cableEnd) Read(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for e.in[e.reads].Len() == 0 && !e.end[e.reads] {
		e.cond.Wait()
	}
	if e.in[e.reads].Len() == 0 {
		return 0, io.ErrClosedPipe
	}
	return e.in[e.reads].Read(b)
}

// Close ends the coordinator's end; the host is served until it finds out.
func (e cableEnd) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.end[e.reads] = true; e.cut.IsZero() {
		e.cut = time.Now()
	}
	e.cond.Broadcast()
	return nil
}

// hosts are agents on other hosts that a test can cut off.
type hosts struct {
	wires    []*cable
	served   chan error
	children [][]net.Conn
	// gain is by how much host 1's processes are ahead of their own host at an instant of the run;
	// nil for not at all.
	gain  func(time.Duration) time.Duration
	drift float64       // of host 1's clock, which then is 3 s ahead; 0 for a right one
	way   time.Duration // of each link, in one direction

	narrow bool // the hosts' ends of the links take no more while they are cut

	settings func(agent int) (json.RawMessage, error) // nil for those of config
}

// ended waits for the end of all agents.
func (h *hosts) ended(t *testing.T) {
	t.Helper()
	for range cap(h.served) {
		if err := <-h.served; err != nil {
			t.Error(err)
		}
	}
}

// leadAny is leadHosts, or for no hosts starts a fleet of processes of this one.
func leadAny(t *testing.T, h *hosts, n, processes int, b Build) (*RemoteDriver, Config) {
	t.Helper()
	if n > 0 {
		return leadHosts(t, h, n, processes, b)
	}
	cfg := config(time.Now().Add(time.Second))
	if h.settings != nil {
		cfg.Settings = h.settings
	}
	h.served, _ = links(processes, &cfg, b)
	d, err := New(t.Context(), cfg)
	must(t, err)
	return d, cfg
}

// leadHosts starts a fleet of n hosts with so many processes each.
func leadHosts(t *testing.T, h *hosts, n, processes int, b Build) (*RemoteDriver, Config) {
	t.Helper()
	cfg := config(time.Now().Add(time.Second))
	cfg.Patience = 20 * time.Second
	cfg.Hosts = &Hosts{
		Processes: processes,
		Tick:      time.Second,
		Leave:     25 * time.Second,
		Over:      5 * time.Second,
	}
	if h.settings != nil {
		cfg.Settings = h.settings
	}
	h.served = make(chan error, n)
	h.children = make([][]net.Conn, n)
	for k := range n {
		w := newCable()
		w.way = h.way
		h.wires = append(h.wires, w)
		cfg.Links = append(cfg.Links, cableEnd{w, 1})
		cfg.Hosts.Names = append(cfg.Hosts.Names, fmt.Sprint("host-", k))
		agent := HostAgent{
			Silent: w.silent,
			Launch: func(_ context.Context, n int) (links []io.ReadWriteCloser, end func(), err error) {
				for range n {
					here, there := net.Pipe()
					var link io.ReadWriteCloser = here
					if k == 1 && h.gain != nil {
						link = skewed(here, h.gain)
					}
					links, h.children[k] = append(links, link), append(h.children[k], there)
					go func() { _ = Serve(context.Background(), there, there, b) }()
				}
				return links, func() {
					for _, l := range links {
						_ = l.Close()
					}
				}, nil
			},
		}
		if k == 1 && h.drift != 0 {
			agent = agent.Skewed(3*time.Second, h.drift)
		}
		out := io.Writer(cableEnd{w, 0})
		if h.narrow {
			out = narrow{cableEnd{w, 0}}
		}
		go func() {
			err := ServeHost(context.Background(), cableEnd{w, 0}, out, agent)
			_ = cableEnd{w, 0}.Close()
			h.served <- err
		}()
	}
	d, err := New(t.Context(), cfg)
	must(t, err)
	return d, cfg
}

// second waits for the end of a second of the run, from 0, and collects it as a trial does.
func second(t *testing.T, d *RemoteDriver, k int) error {
	at := time.Duration(k+1) * time.Second
	time.Sleep(at - time.Since(d.cfg.Epoch))
	d.Mark(at)
	d.Tick(at)
	return d.Collect(t.Context())
}

// seen cuts the windows of operations that have ended.
func seen(r *measure.Registry) []*measure.Window {
	p := measure.Split(r.Cut())
	return append(p.InTime, p.Late...)
}

// counts are what a run of some seconds leaves behind.
type counts struct {
	Say, Delivered []uint64 // by second
	P50            time.Duration
	Ledger         workload.LedgerCount
	Actions, Begun uint64 // that ended, and began
	Think          time.Duration
	Lags           uint64 // of operations
	Tally          workload.ActionCount
}

// conductAll ticks as a trial does, calling before in each second.
func conductAll(
	t *testing.T,
	d *RemoteDriver,
	cfg Config,
	seconds int,
	before func(second int),
) (got counts) {
	t.Helper()
	must(t, d.SetUsers(20, 0))
	got.Say, got.Delivered = make([]uint64, seconds), make([]uint64, seconds)
	all := measure.NewWindow(workload.Delivery)
	for k := range seconds {
		before(k)
		must(t, second(t, d, k))
		for _, w := range seen(cfg.Registry) {
			switch w.Name {
			case "say":
				got.Say[k] += w.Count()
				if got.Lags += w.Lag.Count(); w.Lag.Count() > 0 &&
					(w.Lag.Min() != chatterNeeds || w.Lag.Max() != chatterNeeds) {
					t.Errorf(
						"the agents' operations had lags of %v to %v, want %v",
						w.Lag.Min(),
						w.Lag.Max(),
						chatterNeeds,
					)
				}
			case workload.Delivery:
				got.Delivered[k] += w.Count()
				all.Merge(w)
			}
		}
		a := d.Activity()
		for _, n := range a.Begun {
			got.Begun += uint64(n)
		}
		got.Actions += a.Actions
		got.Think += a.Think
	}
	got.P50 = all.Response.Quantile(0.5)
	cfg.Ledger.Settle(time.Now())
	d.Stop(time.Second)
	if err := d.Collect(t.Context()); err != nil {
		t.Errorf("collecting after the end: %v", err)
	}
	got.Ledger = cfg.Ledger.Count()
	got.Tally = cfg.Tally.Snapshot()[0].Actions[0]
	return got
}

func sum(list []uint64) (n uint64) {
	for _, v := range list {
		n += v
	}
	return n
}

// One process, four, three hosts with two each, and two with the ratings 3 to 1, which have 15 and
// 5 of the 20 users, count the same, message by message, although authors and recipients are apart.
// One user fails for good, and half of them take part in a storm.
func TestHostsAreOneEngine(t *testing.T) {
	const failing = 7
	var want counts
	var wantDone int
	for i, tt := range []struct {
		hosts, processes int
		ratings, users   []int // of the hosts, and of their processes in turn
	}{
		{0, 1, nil, []int{19}}, {0, 4, nil, []int{5, 5, 5, 4}}, {3, 2, nil, []int{4, 3, 3, 3, 3, 3}}, {2, 2, []int{9000, 3000}, []int{8, 3, 7, 1}},
	} {
		t.Run(fmt.Sprintf("%d hosts of %d", tt.hosts, tt.processes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := new(hosts)
				rated := func(_ Start, _ *Agent, c *engine.Config) { c.Ratings = tt.ratings }
				d, cfg := leadAny(t, h, tt.hosts, tt.processes, build(&channel{}, failing, rated))
				var failed []string
				d.cfg.OnError = func(_, user int, err error) {
					failed = append(failed, fmt.Sprint(user, " ", err))
				}
				var storm *workload.StormState
				got := conductAll(t, d, cfg, 20, func(second int) {
					if second != 10 {
						return
					}
					var active []int
					for _, a := range d.agents {
						active = append(active, a.last.Active) // no report is under way
					}
					if !reflect.DeepEqual(active, tt.users) {
						t.Errorf("the processes have %v users, want %v", active, tt.users)
					}
					if wanted, all, bad := d.Users(); wanted != 20 || all != 19 || bad != 1 {
						t.Errorf("%d wanted, %d active, %d failed", wanted, all, bad)
					}
					storm = d.Storm(workload.Storm{Kind: "flood", Share: 0.5, Over: time.Second})
				})
				h.ended(t)
				done, _, _ := storm.Progress()
				if storm.Affected < 9 || done < storm.Affected-1 {
					t.Errorf("%d of %d were in the storm", done, storm.Affected)
				}
				if len(failed) != 1 || failed[0] != fmt.Sprint(failing, " no voice") ||
					got.Tally.Attempts-got.Tally.OK != 1 {
					t.Errorf("errors: %q, tally %+v", failed, got.Tally)
				}
				got.Tally.Attempts = 0
				got.Tally.OK = 0
				got.Tally.Skipped = nil // some end with the run
				if n := sum(got.Say); n < 200 || n != got.Lags || int64(n) > got.Ledger.Acked ||
					got.Ledger.Lost != 0 ||
					got.Ledger.Seen < 18*got.Ledger.Acked-20*20 {
					t.Errorf("%+v", got)
				}
				if i == 0 {
					want, wantDone = got, done
					return
				}
				// Deliveries between processes come one tick later.
				late := int64(sum(want.Delivered)) - int64(sum(got.Delivered))
				if late < 0 || late > 20*20 {
					t.Errorf("%d deliveries, want %d", sum(got.Delivered), sum(want.Delivered))
				}
				got.Delivered, got.P50 = want.Delivered, want.P50
				if !reflect.DeepEqual(got, want) || done != wantDone {
					t.Errorf("%+v, %d in the storm\nwant %+v, %d", got, done, want, wantDone)
				}
			})
		})
	}
}

// Reports of ten seconds of silence come late, and are those of the seconds in which their
// operations ended: each second counts what it counts without.
func TestLateReportsAreInTheirSeconds(t *testing.T) {
	run := func(cut bool) (got counts) {
		synctest.Test(t, func(t *testing.T) {
			h := new(hosts)
			d, cfg := leadHosts(t, h, 3, 2, talkers())
			behind := 0
			got = conductAll(t, d, cfg, 30, func(second int) {
				if cut && second == 8 {
					h.wires[1].sever()
					time.AfterFunc(10*time.Second, h.wires[1].mend)
				}
				if time.Since(cfg.Epoch) > time.Duration(second+2)*time.Second {
					behind++
				}
			})
			if cut != (behind > 5) {
				t.Errorf("%d ticks were late", behind)
			}
			h.ended(t)
			if stalls := d.Stalls(); len(stalls) > 0 {
				t.Errorf("silence is no lag: %+v", stalls)
			}
		})
		return got
	}
	want, got := run(false), run(true)
	// The first silent tick is collected a little after its end.
	moved := uint64(0)
	for k := range want.Say {
		if a, b := want.Say[k], got.Say[k]; a != b {
			moved += max(a, b) - min(a, b)
		}
	}
	if sum(want.Say) != sum(got.Say) || moved > 20 || want.Ledger != got.Ledger {
		t.Errorf("with silence %+v\nwithout      %+v", got, want)
	}
	// Those between processes come one tick later: whether the last tick's do depends on who is
	// first. Ten seconds have more than 2,000.
	if a, b := sum(want.Delivered), sum(got.Delivered); max(a, b)-min(a, b) > 20*20 {
		t.Errorf("%d deliveries with silence, %d without", b, a)
	}
}

// An agent that is silent for longer is lost by name, and its users leave; no other gets them.
func TestLostHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(hosts)
		d, _ := leadHosts(t, h, 3, 2, talkers())
		must(t, d.SetUsers(12, 0))
		time.Sleep(2 * time.Second)
		h.wires[1].sever()
		d.Tick(2 * time.Second)
		err := d.Collect(t.Context())
		if !errors.Is(err, trial.ErrLost) ||
			!strings.Contains(err.Error(), "agent 2 of 3 (host-1): no reply within 20s") {
			t.Errorf("%v", err)
		}
		if lost := d.Lost(); !reflect.DeepEqual(lost, []string{"host-1"}) {
			t.Errorf("lost: %q", lost)
		}
		if _, active, _ := d.Users(); active > 8 {
			t.Errorf("%d users are active, want those of two hosts", active)
		}
		d.Stop(time.Second)
		gone := 0
		for range 3 {
			if err := <-h.served; errors.Is(err, errSilent) {
				gone++
			} else if err != nil {
				t.Error(err)
			}
		}
		if gone != 1 {
			t.Errorf("%d hosts found their coordinator gone, want 1", gone)
		}
	})
}

// A process of a host that ends is the loss of the host.
func TestLostProcessOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(hosts)
		d, _ := leadHosts(t, h, 2, 2, talkers())
		_ = h.children[0][1].Close()
		time.Sleep(time.Second)
		err := d.Collect(t.Context())
		if !errors.Is(err, trial.ErrLost) ||
			!strings.Contains(
				err.Error(),
				"agent 1 of 2 (host-0): a process of this host is lost",
			) {
			t.Errorf("%v", err)
		}
		d.Stop(0)
		if first, second := <-h.served, <-h.served; !errors.Is(
			errors.Join(first, second),
			errProcess,
		) {
			t.Errorf("the hosts ended with %v and %v", first, second)
		}
	})
}

// A host whose clock is 3 s ahead and gains 50 millionths: its instants are mapped, and deliveries
// take as long as they take.
func TestHostWithAnotherClock(t *testing.T) {
	run := func(skew bool) (got counts) {
		synctest.Test(t, func(t *testing.T) {
			h := new(hosts)
			const drift = 50e-6
			if skew {
				h.drift = drift
			}
			d, cfg := leadHosts(t, h, 3, 2, talkers())
			got = conductAll(t, d, cfg, 100, func(int) {})
			r := d.Readings()[1]
			if skew &&
				((r.Ahead-3*time.Second).Abs() > 10*time.Millisecond || r.Drift < 0.95*drift || r.Drift > 1.05*drift) ||
				!skew && r.Ahead != 0 {
				t.Errorf("the clock is read as %+v", r)
			}
			if d.Clocks() > time.Millisecond {
				t.Errorf("instants may be off by %v", d.Clocks())
			}
			if early := d.Untimely(); len(early) > 0 {
				t.Errorf("deliveries came before they were sent: %+v", early)
			}
		})
		return got
	}
	want, got := run(false), run(true)
	// Which deliveries of the last tick are in a window is a matter of who comes first at one
	// instant.
	had, wanted := sum(got.Delivered), sum(want.Delivered)
	more := max(had, wanted) - min(had, wanted)
	if off := (got.P50 - want.P50).Abs(); off > want.P50/20 || more > 100 ||
		got.Ledger != want.Ledger {
		t.Errorf(
			"p50 of deliveries %v with another clock, %v without; %d and %d deliveries, %+v and %+v",
			got.P50,
			want.P50,
			sum(got.Delivered),
			sum(want.Delivered),
			got.Ledger,
			want.Ledger,
		)
	}
}

// Each process gets its own settings, on one host and on several.
func TestSettingsOfEachProcess(t *testing.T) {
	for _, tt := range []struct{ hosts, processes int }{{0, 6}, {3, 2}} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			got := map[string]int{}
			h := &hosts{settings: func(agent int) (json.RawMessage, error) {
				return json.Marshal(agent)
			}}
			d, _ := leadAny(
				t,
				h,
				tt.hosts,
				tt.processes,
				talkers(func(s Start, _ *Agent, _ *engine.Config) {
					mu.Lock()
					defer mu.Unlock()
					got[string(s.Settings)]++
					if want := fmt.Sprint(s.Agent); string(s.Settings) != want {
						t.Errorf("agent %s has the settings %s", want, s.Settings)
					}
				}),
			)
			if len(got) != 6 {
				t.Errorf("%v", got)
			}
			d.Stop(0)
		})
	}
}
