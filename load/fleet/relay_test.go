package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// speakers is a behavior whose users write to one channel, with ids of their own, on a server that
// loses, repeats, delays and refuses: which message does what to whom is a matter of author,
// recipient and count.
type speakers struct{ room *room }

type room struct {
	epoch time.Time
	until time.Time // nobody writes after that
	mu    sync.Mutex
	heard map[int]func(id, pending string) // by user
}

type speaker struct {
	room *room
	env  workload.Env
	u    *workload.User
	acts int
}

func (b *speakers) Provision(context.Context, workload.Env, int) error { return nil }
func (b *speakers) NewActor(env workload.Env, u *workload.User) (workload.Actor, error) {
	return &speaker{room: b.room, env: env, u: u}, nil
}

func (a *speaker) Login(context.Context) error {
	a.env.Ledger.Join(a.u.ID, "c", time.Now())
	a.connect()
	return nil
}

func (a *speaker) connect() {
	name, rec := a.env.Registry.Name(workload.Delivery), a.u.Recorder()
	a.room.mu.Lock()
	defer a.room.mu.Unlock()
	a.env.Ledger.Connected(a.u.ID, time.Now(), false)
	a.room.heard[a.u.ID] = func(id, pending string) {
		a.env.Ledger.Seen(a.u.ID, []byte("c"), []byte(id), []byte(pending), time.Now(), rec, name)
	}
}

func (a *speaker) Think() time.Duration {
	return time.Duration((1 + a.u.Think.Float64()) * float64(time.Second))
}

// chance draws a number below 1000.
func chance(author, count, to int) int {
	return rand.New(rand.NewPCG(uint64(author)<<32|uint64(count), uint64(to))).IntN(1000)
}

func (a *speaker) Act(ctx context.Context) error {
	if time.Now().After(a.room.until) {
		return nil
	}
	// its connection breaks, just after what was due is judged
	if a.acts++; a.acts == 5 && a.u.ID%7 == 3 {
		next := time.Since(a.room.epoch).Truncate(time.Second) + time.Second + 5*time.Millisecond
		if err := workload.SleepUntil(ctx, a.room.epoch.Add(next)); err != nil {
			return err
		}
		a.room.mu.Lock()
		delete(a.room.heard, a.u.ID)
		a.env.Ledger.Disconnected(a.u.ID)
		a.room.mu.Unlock()
		if err := workload.SleepUntil(ctx, time.Now().Add(3*time.Second)); err != nil {
			return err
		}
		a.connect()
	}
	l, sent := a.env.Ledger, time.Now()
	own := fmt.Sprintf("u%d:%d", a.u.ID, a.acts)
	l.Sending("c", own, a.u.ID)
	m := workload.Message{
		ID:      fmt.Sprintf("m%d-%d", a.u.ID, a.acts),
		Channel: "c",
		Author:  a.u.ID,
		Pending: own,
		Sent:    sent,
	}
	fate := chance(a.u.ID, a.acts, 1<<20)
	if fate >= 30 {
		a.room.say(a.u.ID, a.acts, m.ID, own)
	}
	if err := workload.SleepUntil(ctx, sent.Add(2*time.Millisecond)); err != nil {
		return err
	}
	m.Acked = time.Now()
	switch {
	case fate < 60: // from 30 on the server delivers it all the same
		l.Refused("c", own)
	case fate < 90:
		m.ID = ""
		l.Unanswered(m)
	default:
		l.Acked(m)
	}
	a.u.Done(a.env.Registry.Name("say"), sent, sent, time.Now(), measure.OK, 1)
	return nil
}

func (a *speaker) Close() {}

// say delivers a message to those who are connected, then and when it comes.
func (r *room) say(author, count int, id, pending string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for to := range r.heard {
		after := []time.Duration{time.Millisecond}
		switch n := chance(author, count, to); {
		case n < 20:
			after = nil
		case n < 40:
			after = append(after, 6*time.Millisecond)
		case n < 60:
			after[0] = 3 * time.Second
		case n < 70:
			after[0] = 12 * time.Second
		case n < 80:
			after[0] = 15 * time.Second
		}
		for _, d := range after {
			time.AfterFunc(d, func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				if h := r.heard[to]; h != nil {
					h(id, pending)
				}
			})
		}
	}
}

// converse has 20 users of n hosts, or of this one, write for 40 seconds and waits until all is
// judged, and what is nobody's forgotten.
func converse(t *testing.T, n, processes int) (got workload.LedgerCount, delivered uint64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &room{heard: map[int]func(id, pending string){}}
		d, cfg := leadAny(t, new(hosts), n, processes, agentOf(&speakers{r}))
		r.epoch, r.until = cfg.Epoch, cfg.Epoch.Add(40*time.Second)
		must(t, d.SetUsers(20, 3*time.Second))
		for k := range 130 {
			must(t, second(t, d, k))
			cfg.Ledger.Settle(time.Now())
			for _, w := range seen(cfg.Registry) {
				if w.Name == workload.Delivery {
					delivered += w.Count()
				}
			}
			d.Activity()
		}
		if early := d.Untimely(); len(early) > 0 {
			t.Errorf("deliveries came before they were sent: %+v", early)
		}
		d.Stop(time.Second)
		got = cfg.Ledger.Count()
	})
	return got, delivered
}

// A server's losses, copies, delays and refusals have the same counts in one process, in four, and
// in three hosts of two.
func TestCountsOfAFleet(t *testing.T) {
	one, _ := converse(t, 0, 1)
	want, deliveries := converse(t, 0, 4)
	if want.Acked < 300 || want.Lost < 50 || want.Late < 50 || want.Duplicated < 50 ||
		want.Misordered < 50 ||
		want.Unanswered < 5 ||
		want.Foreign < 5 {
		t.Errorf("not everything happened: %+v", want)
	}
	// One process does not see some messages out of order, behind those that have no answer.
	if one.Misordered <= want.Misordered && one.Misordered >= want.Misordered*9/10 {
		one.Misordered = want.Misordered
	}
	if one != want {
		t.Errorf("one process: %+v\nwant %+v", one, want)
	}
	if got, n := converse(t, 3, 2); got != want || n != deliveries {
		t.Errorf("three hosts of two: %+v, %d deliveries\nwant %+v, %d", got, n, want, deliveries)
	}
}

// counting counts the bytes to an agent.
type counting struct {
	io.ReadWriteCloser
	down *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.down.Add(int64(len(b)))
	return c.ReadWriteCloser.Write(b)
}

// stub is an agent that knows some channels and answers each collect with a message in each of
// them. heard gets the messages of others.
func stub(there net.Conn, channels []string, heard func(m message)) {
	dec, out := json.NewDecoder(there), replyWriter{to: there}
	for tick := 0; ; {
		var r request
		if dec.Decode(&r) != nil {
			return
		}
		p := reply{Received: time.Now(), Replied: time.Now(), PID: 1, Report: new(report)}
		if r.Collect != nil {
			if tick++; tick == 1 {
				p.Report.Channels = channels
			}
			for _, m := range r.Collect.Acked {
				heard(m)
			}
			for _, c := range channels {
				p.Report.Acked = append(p.Report.Acked, message{
					ID:      fmt.Sprintf("%026d", tick),
					Channel: c,
					Author:  1,
					Sent:    r.Collect.At,
					Acked:   r.Collect.At,
				})
			}
		}
		if out.write(p) != nil || r.Stop != nil {
			return
		}
	}
}

// What an agent gets from the coordinator of many does not grow with their number, but with the
// messages in the channels that it knows.
func TestBytesOfManyAgents(t *testing.T) {
	const ticks, each, perMessage = 5, 4, 115
	run := func(agents int) (bytes int64) {
		synctest.Test(t, func(t *testing.T) {
			cfg := config(time.Now())
			var down, misled atomic.Int64
			for k := range agents {
				here, there := net.Pipe()
				cfg.Links = append(cfg.Links, counting{here, &down})
				// each one has so many agents with users in it
				channel := fmt.Sprintf("%026d", k/each)
				go stub(there, []string{channel}, func(m message) {
					if m.Channel != channel {
						misled.Add(1)
					}
				})
			}
			d, err := New(t.Context(), cfg)
			must(t, err)
			down.Store(0)
			for k := range ticks {
				time.Sleep(time.Second)
				d.Tick(time.Duration(k+1) * time.Second)
				must(t, d.Collect(t.Context()))
			}
			bytes = down.Load()
			d.Stop(0)
			if n := misled.Load(); n > 0 {
				t.Errorf("%d messages came to agents that do not know their channel", n)
			}
		})
		return bytes / int64(agents)
	}
	few, many := run(2*each), run(50*each)
	t.Logf("%d bytes to each of %d agents, %d to each of %d", few, 2*each, many, 50*each)
	if many > few+few/10 || many < (ticks-1)*(each-1)*perMessage ||
		many > ticks*((each-1)*(perMessage+20)+80) {
		t.Errorf("%d bytes to an agent, %d to one of few", many, few)
	}
}

// Who learns of a channel late gets what others had there shortly before, each message once; nobody
// gets its own.
func TestRelay(t *testing.T) {
	var r relay
	now := time.Now()
	links := []*link{{n: 0, of: 3}, {n: 1, of: 3}, {n: 2, of: 3}}
	got := func(k int) string {
		var ids []string
		for _, m := range links[k].mailed() {
			ids = append(ids, m.ID+m.Pending+m.Root+m.Reader)
		}
		return strings.Join(ids, " ")
	}
	for _, tt := range []struct {
		name     string
		after    time.Duration
		from     int
		channels string
		acked    string
		want     [3]string
	}{
		{"nobody else knows the channel", 0, 0, "c", "a b", [3]string{}},
		{"one that learns of it has no own ones back", 0, 1, "c", "d", [3]string{"d", "a b", ""}},
		{"it says so again", 0, 1, "c", "", [3]string{}},
		{"in another one", 0, 2, "x", "e", [3]string{}},
		{"after a turn", keptFor, 2, "c", "f", [3]string{"f", "f", "a b d"}},
		{"all know it", 0, 0, "", "g", [3]string{"", "g", "g"}},
		{"what is long ago is forgotten", 2 * keptFor, 0, "x", "h", [3]string{"", "h", "h"}},
	} {
		now = now.Add(tt.after)
		var acked []message
		for id := range strings.FieldsSeq(tt.acked) {
			channel := "c"
			if id == "e" {
				channel = "x"
			}
			acked = append(acked, message{ID: id, Channel: channel, Root: "root", Reader: "reader"})
		}
		r.take(links[tt.from], strings.Fields(tt.channels), acked, now)
		if all := [3]string{got(0), got(1), got(2)}; all != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, all, tt.want)
		}
	}
	r.take(links[0], nil, nil, now.Add(keptFor))
	r.take(links[0], nil, nil, now.Add(2*keptFor))
	if len(r.now)+len(r.before) > 0 {
		t.Errorf("%d channels have messages that were forgotten", len(r.now)+len(r.before))
	}
}
