package fleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/engine"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

// speakers is a behavior whose users write to one channel, with ids of their own, on a server that loses, repeats,
// delays and refuses: which message does what to whom is a matter of author, recipient and count.
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
	if a.acts++; a.acts == 5 && a.u.ID%7 == 3 { // its connection breaks, just after what was due is judged
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
	own := fmt.Sprintf("u%d:%s", a.u.ID, cmp.Or(l.Number("c", a.u.ID), fmt.Sprint(a.acts)))
	in := own
	if l.Sequenced() {
		stamp := make([]byte, workload.StampSize)
		l.Stamp(stamp, sent)
		in += string(stamp)
	}
	l.Sending("c", own, a.u.ID)
	m := workload.Message{ID: fmt.Sprintf("m%d-%d", a.u.ID, a.acts), Channel: "c", Author: a.u.ID, Pending: own, Sent: sent}
	fate := chance(a.u.ID, a.acts, 1<<20)
	if fate >= 30 {
		a.room.say(a.u.ID, a.acts, m.ID, in)
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

func buildSpeakers(r *room) Build {
	return func(ctx context.Context, s Start, epoch time.Time, onError func(int, error)) (*Agent, error) {
		a := &Agent{Registry: measure.NewRegistry(2), Tally: new(workload.Tally), Ledger: workload.NewLedger(0, 9)}
		s.Share(a.Ledger)
		var err error
		a.Engine, err = engine.New(ctx, engine.Config{Env: workload.Env{Registry: a.Registry, Tally: a.Tally, Ledger: a.Ledger, Seed: 9, Pace: 1},
			Mix: []engine.Part{{Behavior: &speakers{r}, Share: 1}}, Clock: clock.New(epoch), OnError: onError, Agent: s.Agent, Agents: s.Agents})
		return a, err
	}
}

// converse has 20 users of n hosts, or of this one, write for 40 seconds and waits until all is judged, and what is
// nobody's forgotten.
func converse(t *testing.T, n, processes int, sequence bool, way time.Duration) (got workload.LedgerCount, delivered uint64, d *RemoteDriver) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &room{heard: map[int]func(id, pending string){}}
		h := &hosts{sequence: sequence, way: way}
		var cfg Config
		if n > 0 {
			d, cfg = leadHosts(t, h, n, processes, buildSpeakers(r))
		} else {
			cfg = Config{Epoch: time.Now().Add(time.Second), Settings: same("9"), Registry: measure.NewRegistry(1), Tally: new(workload.Tally), Ledger: workload.NewLedger(0, 9), BySequence: sequence}
			links(processes, &cfg, buildSpeakers(r))
			var err error
			if d, err = New(t.Context(), cfg); err != nil {
				t.Fatal(err)
			}
		}
		r.epoch, r.until = cfg.Epoch, cfg.Epoch.Add(40*time.Second)
		if err := d.SetUsers(20, 3*time.Second); err != nil {
			t.Fatal(err)
		}
		for k := range 130 {
			at := time.Duration(k+1) * time.Second
			time.Sleep(at - time.Since(cfg.Epoch))
			d.Mark(at)
			d.Tick(at)
			if err := d.Collect(t.Context()); err != nil {
				t.Fatalf("second %d: %v", k, err)
			}
			cfg.Ledger.Settle(time.Now())
			p := measure.Split(cfg.Registry.Cut())
			for _, w := range append(p.InTime, p.Late...) {
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
	return got, delivered, d
}

// A server's losses, copies, delays and refusals have the same counts in one process, in four whose acknowledgments are
// relayed, in four by sequence and in three hosts of two by sequence.
func TestCountsBySequence(t *testing.T) {
	one, _, _ := converse(t, 0, 1, false, 0)
	want, deliveries, _ := converse(t, 0, 4, false, 0)
	if want.Acked < 300 || want.Lost < 50 || want.Late < 50 || want.Duplicated < 50 || want.Misordered < 50 || want.Unanswered < 5 || want.Foreign < 5 {
		t.Errorf("not everything happened: %+v", want)
	}
	// One process does not see some messages out of order, behind those that have no answer.
	if one.Misordered <= want.Misordered && one.Misordered >= want.Misordered*9/10 {
		one.Misordered = want.Misordered
	}
	if one != want {
		t.Errorf("one process: %+v\nwant %+v", one, want)
	}
	for _, tt := range []struct {
		name             string
		hosts, processes int
	}{{"four processes", 0, 4}, {"three hosts of two", 3, 2}} {
		got, n, _ := converse(t, tt.hosts, tt.processes, true, 0)
		if got != want {
			t.Errorf("%s by sequence: %+v\nwant %+v", tt.name, got, want)
		}
		if most := 20 * uint64(want.Foreign); n < deliveries || n > deliveries+most {
			t.Errorf("%s by sequence: %d deliveries, want %d and those of %d refused messages", tt.name, n, deliveries, want.Foreign)
		}
	}
}

// The rule about the clocks of two hosts holds by sequence, too.
func TestDeliveriesBetweenHostsBySequence(t *testing.T) {
	for _, tt := range []struct {
		way  time.Duration
		left bool
	}{{40 * time.Microsecond, false}, {60 * time.Microsecond, true}} {
		relayed, n, _ := converse(t, 3, 2, false, tt.way)
		got, m, d := converse(t, 3, 2, true, tt.way)
		if got != relayed {
			t.Errorf("ways of %v: %+v, want %+v", tt.way, got, relayed)
		}
		a, left := d.Apart()
		if left != tt.left || left && (m != a.Same+a.Kept || a.Left < m || a.Within != 2*tt.way || a.Since > 10*time.Second) || !left && m < n {
			t.Errorf("ways of %v: %d deliveries, %d if relayed, left: %v %+v", tt.way, m, n, left, a)
		}
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

// stub is an agent that answers each collect with so many messages in each of its channels. It takes part in the
// accounting, and notes the channels whose marks it gets.
func stub(there net.Conn, channels []string, each int, sequence bool, got func(channel string)) {
	dec, out := json.NewDecoder(there), replyWriter{to: there}
	number := uint32(0)
	for tick := 0; ; {
		var r request
		if dec.Decode(&r) != nil {
			return
		}
		p := reply{Received: time.Now(), Replied: time.Now(), PID: 1}
		if r.Collect != nil {
			p.Report = new(report)
			if tick++; sequence && tick == 1 {
				p.Report.Joined = channels
			}
			for _, raw := range r.Collect.Accepted {
				var m mark
				if json.Unmarshal(raw, &m) == nil {
					got(m.Channel)
				}
			}
			before := number
			number += uint32(each)
			for _, c := range channels {
				for i := range each {
					m := message{ID: fmt.Sprintf("%026d", i), Channel: c, Author: 1, Sent: r.Collect.At, Acked: r.Collect.At}
					if sequence {
						m.Number = before + uint32(i) + 1
					}
					p.Report.Acked = append(p.Report.Acked, m)
				}
				if sequence && tick%10 == 0 {
					p.Report.Accepted = append(p.Report.Accepted, mark{c, [][]uint32{{9, number - uint32(10*each), number}}})
				}
			}
		}
		if r.Stop != nil {
			p.Report = new(report)
		}
		if out.write(p) != nil || r.Stop != nil {
			return
		}
	}
}

// What the coordinator of 200 agents sends does not grow with the messages, and goes to those who have users in their
// channels.
func TestBytesBySequence(t *testing.T) {
	const agents, few = 200, 10
	run := func(ticks, each int, sequence bool) (bytes int64, misled int) {
		synctest.Test(t, func(t *testing.T) {
			cfg := Config{Epoch: time.Now(), Settings: same("9"), Registry: measure.NewRegistry(1), Tally: new(workload.Tally), Ledger: workload.NewLedger(0, 9), BySequence: sequence}
			var down atomic.Int64
			var mu sync.Mutex
			for k := range agents {
				here, there := net.Pipe()
				cfg.Links = append(cfg.Links, counting{here, &down})
				channels := []string{fmt.Sprintf("%026d", 1), fmt.Sprintf("%026d", 2)}
				if k < few {
					channels = append(channels, strings.Repeat("f", 26))
				}
				go stub(there, channels, each, sequence, func(channel string) {
					if channel[0] == 'f' && k >= few {
						mu.Lock()
						misled++
						mu.Unlock()
					}
				})
			}
			d, err := New(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			down.Store(0)
			for k := range ticks {
				time.Sleep(time.Second)
				d.Tick(time.Duration(k+1) * time.Second)
				if err := d.Collect(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			bytes = down.Load()
			d.Stop(0)
		})
		return bytes, misled
	}
	one, misled := run(13, 1, true)
	ten, _ := run(13, 10, true)
	relayed, _ := run(2, 1, false)
	t.Logf("%d agents that post to two channels of all: %d bytes to them in 13 s by sequence with one message a second each in each channel, %d with ten; %d in a second if relayed", agents, one, ten, relayed)
	if misled > 0 {
		t.Errorf("%d marks came to agents without users in the channel", misled)
	}
	// A mark of an agent in a channel is its number and two more; once in 10 s, to each agent. A collect is small.
	if budget := int64(agents * (2*(agents*16+60) + 13*80)); ten > budget || one > ten {
		t.Errorf("%d and %d bytes, budget %d", one, ten, budget)
	}
	if relayed < 100*agents*2*(agents-1) {
		t.Errorf("relaying takes %d bytes, which is too few for a comparison", relayed)
	}
}

// The coordinator relays what no mark names, keeps the rest for those who ask, believes no agent the number of another
// and forgets.
func TestSequences(t *testing.T) {
	q, now := newSequences(), time.Now()
	links := []*link{{n: 0, of: 2}, {n: 1, of: 2}}
	agents := []*agent{{n: 0, link: links[0]}, {n: 1, link: links[1]}}
	report1 := &report{Acked: []message{{ID: "a", Channel: "c", Number: 1}, {ID: "b", Channel: "c"}, {Channel: "c", Pending: "u:1"}},
		Joined: []string{"c", "c", "d"}, Accepted: []mark{{"c", [][]uint32{{7, 0, 1}, {}}}}}
	relay, asked := q.take(agents[0], report1, now)
	if len(relay) != 2 || relay[0].ID != "b" || len(asked) > 0 || report1.Accepted != nil {
		t.Errorf("%+v, %+v", relay, asked)
	}
	ask := func() []message {
		r := &report{Joined: []string{"c"}, Asked: []workload.Numbered{{Agent: 0, Channel: "c", Number: 1}, {Agent: 1, Channel: "c", Number: 1}, {Agent: -1, Channel: "c", Number: 1}, {Agent: 0, Channel: "x", Number: 1}, {Agent: 0, Channel: "c", Number: 1<<32 - 1}}}
		_, asked := q.take(agents[1], r, now)
		return asked
	}
	if got := ask(); len(got) != 1 || got[0].ID != "a" {
		t.Errorf("%+v", got)
	}
	if !reflect.DeepEqual(q.readers, map[string][]uint16{"c": {0, 1}, "d": {0}}) {
		t.Errorf("%v", q.readers)
	}
	for round, want := range []int{0, 1, 1} {
		if err := q.distribute(links, now); err != nil {
			t.Fatal(err)
		}
		if len(links[1].news.accepted) != want || len(links[0].news.accepted) > 0 { // the authors' own host knows
			t.Errorf("round %d: %s, %s", round, links[0].news.accepted, links[1].news.accepted)
		}
	}
	marks := links[1].informed().accepted
	var m mark
	if err := json.Unmarshal(marks[0], &m); err != nil {
		t.Fatal(err)
	}
	if list, err := m.unpack(); err != nil || !reflect.DeepEqual(list, []workload.Mark{{Channel: "c", Agent: 0, To: 1}}) {
		t.Errorf("%+v, %v", list, err)
	}
	if err := q.distribute(links, now.Add(keptFor+1)); err != nil || len(ask()) > 0 || len(q.kept)+len(q.order) > 0 {
		t.Errorf("%v, %d and %d are kept", err, len(q.kept), len(q.order))
	}
}

// A channel's marks are encoded once for all hosts with users in it, and stand in the request of each as they are.
func TestMarksAreShared(t *testing.T) {
	const hosts = 200
	q := newSequences()
	var links []*link
	for k := range hosts {
		l := &link{n: k, of: hosts, name: "x", base: time.Now()}
		links = append(links, l)
		r := &report{Joined: []string{"c"}, Accepted: []mark{{"c", [][]uint32{{0, 10, 20}}}}}
		if k > 0 {
			r.Joined = append(r.Joined, "d") // host 0 has no users there
		}
		if k == 1 {
			r.Accepted = append(r.Accepted, mark{"d", [][]uint32{{0, 0, 3, 1, 2}}})
		}
		q.take(&agent{n: k, link: l}, r, time.Now())
	}
	for range 2 {
		if err := q.distribute(links, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	first := links[2].news
	if len(first.accepted) != 2 || len(first.clocks) != 2 {
		t.Fatalf("%d marks, %d lists of clocks", len(first.accepted), len(first.clocks))
	}
	for k, l := range links {
		for i, m := range l.news.accepted {
			if &m[0] != &first.accepted[i][0] {
				t.Errorf("host %d has a copy of %s", k, m)
			}
		}
		for i, c := range l.news.clocks {
			if &c[0] != &first.clocks[i][0] {
				t.Errorf("host %d has a copy of clocks", k)
			}
		}
		want := 2
		if k < 2 { // of host 1 are all authors in d
			want = 1
		}
		if len(l.news.accepted) != want {
			t.Errorf("host %d gets %d marks, want %d", k, len(l.news.accepted), want)
		}
	}
	for _, c := range []*collect{{}, {At: time.Second, Acked: []message{{ID: "m"}}}} {
		c.news = first
		var b bytes.Buffer
		if err := writeRequest(&b, request{Collect: c}); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != 1 || b.Bytes()[b.Len()-1] != '\n' {
			t.Errorf("%d lines", n)
		}
		var r request
		if err := json.Unmarshal(b.Bytes(), &r); err != nil {
			t.Fatalf("%v: %.80s", err, b.Bytes())
		}
		got := r.Collect
		if got.At != c.At || len(got.Acked) != len(c.Acked) || len(got.Accepted) != 2 || string(got.Accepted[1]) != `{"c":"d","m":[[1,0,3,1,2]]}` {
			t.Errorf("%+v", got)
		}
		if n := len(got.Clocks); n != 2*hosts/clockTurns || got.Clocks[n-1][0] != int64(n-1) {
			t.Errorf("%d clocks: %v", n, got.Clocks)
		}
	}
	few, many := first, first
	many.accepted = slices.Repeat(first.accepted, 500)
	allocs := func(s shared) float64 {
		r := request{Collect: &collect{At: time.Second, news: s}}
		return testing.AllocsPerRun(10, func() {
			if err := writeRequest(io.Discard, r); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := allocs(few), allocs(many); b > a+1 {
		t.Errorf("a request with %d marks allocates %.0f times, one with %d %.0f times", len(many.accepted), b, len(few.accepted), a)
	}
}

// A report has the marks of each part of the channels once in markEvery, whatever the tick, and after a silence all that
// are due once.
func TestMarksInTurn(t *testing.T) {
	bits := func(k ...int) (s workload.Slots) {
		for _, k := range k {
			s |= 1 << k
		}
		return s
	}
	for _, tt := range []struct {
		name  string
		ticks []time.Duration
		want  []workload.Slots
	}{
		{"each second", []time.Duration{1e9, 2e9, 3e9}, []workload.Slots{bits(1), bits(2), bits(3)}},
		{"each half second", []time.Duration{5e8, 1e9, 15e8, 2e9}, []workload.Slots{0, bits(1), 0, bits(2)}},
		{"each third second", []time.Duration{3e9, 6e9, 9e9, 12e9}, []workload.Slots{bits(1, 2, 3), bits(4, 5, 6), bits(7, 8, 9), bits(0, 1, 2)}},
		{"a tick again", []time.Duration{2e9, 2e9, 1e9, 3e9}, []workload.Slots{bits(1, 2), 0, 0, bits(3)}},
		{"after a silence", []time.Duration{8e9, 15e9, 95e9, 96e9}, []workload.Slots{bits(1, 2, 3, 4, 5, 6, 7, 8), bits(9, 0, 1, 2, 3, 4, 5), workload.AllSlots, bits(6)}},
	} {
		s := &served{epoch: time.Now().Add(time.Hour)}
		for i, at := range tt.ticks {
			if got := s.due(at); got != tt.want[i] {
				t.Errorf("%s: at %v %b, want %b", tt.name, at, got, tt.want[i])
			}
		}
	}
	if got := (&served{epoch: time.Now().Add(time.Hour)}).due(0); got != 0 {
		t.Errorf("before the epoch: %b", got)
	}
}

// Marks are the same in another process, and broken ones are refused.
func TestMarks(t *testing.T) {
	want := []workload.Mark{{Channel: "c", Agent: 3, After: 5, To: 9}, {Channel: "d", Agent: 3, To: 4, Not: []uint32{2, 3}, Late: []uint32{}}, {Channel: "c", Agent: 3, After: 4, To: 4, Not: []uint32{}, Late: []uint32{1}}}
	b, err := json.Marshal(packMarks(want))
	if err != nil || string(b) != `[{"c":"c","m":[[3,5,9]]},{"c":"d","m":[[3,0,4,2,2,3]]},{"c":"c","m":[[3,4,4,0,1]]}]` {
		t.Fatalf("%s, %v", b, err)
	}
	var got []mark
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for i, m := range got {
		if list, err := m.unpack(); err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], want[i]) {
			t.Errorf("%+v, %v", list, err)
		}
	}
	for _, part := range [][]uint32{{}, {1, 2}, {1, 2, 3, 1}, {1, 2, 3, 1<<32 - 1, 7}} {
		if list, err := (mark{"c", [][]uint32{part}}).unpack(); err == nil {
			t.Errorf("%v is %+v", part, list)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		go func() { _ = Serve(t.Context(), there, there, build(&channel{}, -1)) }()
		dec, enc := json.NewDecoder(here), json.NewEncoder(here)
		for _, tt := range []struct {
			r    request
			want string
		}{
			{request{Start: &Start{Agents: 1, Epoch: time.Now(), Settings: json.RawMessage("1"), Sequence: &bySequence{Hosts: 2}}}, "1 agents on 2 hosts"},
			{request{Start: &Start{Agents: 1, Epoch: time.Now(), Settings: json.RawMessage("1"), Sequence: new(bySequence)}}, "does not go by sequence"},
			{request{Start: &Start{Agents: 1, Epoch: time.Now(), Settings: json.RawMessage("1")}}, ""},
			{request{Collect: &collect{Accepted: []json.RawMessage{json.RawMessage(`{"c":"c","m":[[1]]}`)}}}, "is broken"},
			{request{Collect: &collect{Accepted: []json.RawMessage{json.RawMessage(`{"c":1}`)}}}, "a mark of messages"},
			{request{Collect: &collect{Clocks: []clockNote{{}}}}, "the clock of host 0 of 0"},
		} {
			if err := enc.Encode(tt.r); err != nil {
				t.Fatal(err)
			}
			var p reply
			if err := dec.Decode(&p); err != nil || (p.Error == "") != (tt.want == "") || !strings.Contains(string(p.Error), tt.want) {
				t.Errorf("%q, %v; want %q", p.Error, err, tt.want)
			}
		}
		_ = here.Close()
	})
}
