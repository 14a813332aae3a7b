package fleet

import (
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"plimsoll/load/workload"
)

// noted reads the lines of clocks that a link is to get, and returns how many bytes they take.
func noted(t *testing.T, l *link) (list []clockNote, size int) {
	t.Helper()
	for _, b := range l.informed().clocks {
		var some []clockNote
		if err := json.Unmarshal([]byte("["+string(b)+"]"), &some); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		list, size = append(list, some...), size+len(b)
	}
	return list, size
}

// Clocks that travel to the agents map instants as the coordinator maps those of messages.
func TestClocksMap(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var links []*link
	for k := range 4 {
		l := &link{n: k, of: 4, name: "x", base: time.Now(), epoch: time.Duration(rnd.IntN(1e9))}
		offset, drift := time.Duration(rnd.IntN(1e10)-5e9), (rnd.Float64()-0.5)*2e-4
		for i := range 10 {
			at := time.Duration(i) * stretch
			l.clock.add(clockSample{at: at, offset: offset + time.Duration(drift*float64(at)), way: time.Duration(100+k) * time.Microsecond})
		}
		l.ahead, _ = l.clock.at(0)
		links = append(links, l)
	}
	tell(links, 0, time.Now())
	for to, l := range links {
		list, _ := noted(t, l)
		c := clocks{to, make([]*clockNote, len(links))}
		peers, err := c.take(list)
		if err != nil || len(list) != len(links) {
			t.Fatalf("%d clocks, %v", len(list), err)
		}
		for from, p := range peers {
			at := 95 * time.Second
			if from == to {
				if p != (workload.Peer{}) {
					t.Errorf("own clock: %+v", p)
				}
				continue
			}
			here := at - links[from].drifted(at)
			want := here + l.drifted(here)
			got := at + p.Offset + time.Duration(float64(p.Drift)*1e-12*float64(at))
			errs := time.Duration(100+from+100+to) * time.Microsecond / 2 // and as much again
			if (got-want).Abs() > 5*time.Microsecond || p.Within != 2*errs {
				t.Errorf("from %d to %d: %v is %v, want %v; %+v", from, to, at, got, want, p)
			}
		}
	}
	if list, _ := noted(t, links[0]); len(list) > 0 {
		t.Errorf("%v once more", list)
	}
	tell(links, 0, time.Now())
	if list, _ := noted(t, links[0]); len(list) > 0 {
		t.Errorf("%v, which the others have", list)
	}
}

// A clock maps as it stands until its line and that of the own host are known. Later lines take the place of those before.
func TestClocksTake(t *testing.T) {
	c := clocks{1, make([]*clockNote, 3)}
	for i, tt := range []struct {
		list []clockNote
		want [3]workload.Peer
	}{
		{[]clockNote{{0, 5, 6, 7}}, [3]workload.Peer{}},
		{[]clockNote{{1, 100, 200, 300}}, [3]workload.Peer{{Offset: 95, Drift: 194, Within: 307}}},
		{[]clockNote{{2, 1, 2, 3}, {0, 1, 1, 1}, {2, 10, 20, 30}}, [3]workload.Peer{{Offset: 99, Drift: 199, Within: 301}, {}, {Offset: 90, Drift: 180, Within: 330}}},
	} {
		got, err := c.take(tt.list)
		if err != nil || [3]workload.Peer(got) != tt.want {
			t.Errorf("%d: %+v, %v; want %+v", i, got, err, tt.want)
		}
	}
	for _, h := range []int64{-1, 3} {
		if _, err := c.take([]clockNote{{h}}); err == nil {
			t.Errorf("host %d is taken", h)
		}
	}
}

// A host that answers with kept reports passes the lines that came meanwhile on to its processes, in their order and once.
func TestHostKeepsClocks(t *testing.T) {
	here, there := net.Pipe()
	l := newLink(0, here, Config{Links: []io.ReadWriteCloser{here}})
	l.agents = []*agent{{link: l}}
	s := &hosted{start: new(hostStart), mail: map[*link][]message{}, driver: &RemoteDriver{links: []*link{l}, agents: l.agents}}
	got := make(chan []clockNote, 2)
	var child sync.WaitGroup
	child.Go(func() {
		dec, out := json.NewDecoder(there), replyWriter{to: there}
		for {
			var r request
			if dec.Decode(&r) != nil {
				return
			}
			got <- r.Collect.Clocks
			if out.write(reply{Report: new(report)}) != nil {
				return
			}
		}
	})
	s.hear(&collect{Clocks: []clockNote{{0, 1}}})
	s.hear(&collect{Clocks: []clockNote{{0, 2}, {1, 3}}})
	for _, want := range [][]clockNote{{{0, 1}, {0, 2}, {1, 3}, {1, 4}}, nil} {
		c := new(collect)
		if want != nil {
			c.Clocks = []clockNote{{1, 4}}
		}
		if _, err := s.collect(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if g := <-got; !slices.Equal(g, want) {
			t.Errorf("%v, want %v", g, want)
		}
	}
	_ = here.Close()
	child.Wait()
}

// The others get the line of a host when theirs does not serve any more: few of them once the drifts are known. At every
// instant an event that is mapped by a line is within its error.
func TestClockLinesAreFew(t *testing.T) {
	const hosts, rounds = 200, 300
	rnd := rand.New(rand.NewPCG(3, 4))
	base := time.Now()
	type host struct {
		offset, drift float64
		skew          time.Duration // by which the way there is longer than the way back
	}
	var of []host
	var links []*link
	exchange := func(l *link, h host, at time.Duration) {
		extra := time.Duration(rnd.ExpFloat64() * 2e4)
		way := 200*time.Microsecond + extra
		off := h.offset + h.drift*float64(at) + float64(h.skew)/2 + (rnd.Float64()-0.5)*float64(extra)
		l.clock.add(clockSample{at: at, offset: time.Duration(off), way: way})
	}
	for k := range hosts {
		h := host{rnd.Float64() * 1e10, (rnd.Float64() - 0.5) * 1e-4, time.Duration(rnd.IntN(100)-50) * time.Microsecond}
		l := &link{n: k, of: hosts, name: "x", base: base, epoch: 500 * time.Millisecond}
		for i := range exchanges {
			exchange(l, h, time.Duration(i)*10*time.Millisecond)
		}
		l.ahead, _ = l.clock.at(500 * time.Millisecond)
		links, of = append(links, l), append(of, h)
	}
	known := make([]*clockNote, hosts)
	bytes := make([]int, rounds)
	turn := 0
	for k := range rounds {
		now := 500*time.Millisecond + time.Duration(k+1)*time.Second
		for i, l := range links {
			for range rereads {
				if l.clock.due(now) {
					exchange(l, of[i], now)
				}
			}
		}
		turn = tell(links, turn, base.Add(now))
		for i, l := range links {
			list, n := noted(t, l)
			if i > 0 {
				continue // all of them get the same
			}
			bytes[k] = n
			if most := hosts / clockTurns; len(list) > most {
				t.Errorf("round %d: %d lines, want at most %d", k, len(list), most)
			}
			for _, c := range list {
				known[c[0]] = &c
			}
		}
		for i, l := range links {
			c := known[i]
			if c == nil && k < clockTurns-1 {
				continue
			}
			for _, at := range []time.Duration{now - 5*time.Second, now} {
				run := float64(at - l.epoch)
				ahead := float64(c[1]) + float64(c[2])*1e-12*run
				if miss := math.Abs(ahead - (of[i].offset + of[i].drift*float64(at) - float64(l.ahead))); miss > float64(c[3]) {
					t.Errorf("round %d, host %d: off by %v, said to be within %v", k, i, time.Duration(miss), time.Duration(c[3]))
				}
			}
		}
	}
	for i, c := range known { // which was more by far while the drift was not known
		if half := links[i].clock.line().half; c[3] > 4*int64(half) {
			t.Errorf("host %d: said to be within %v, where %v are known", i, time.Duration(c[3]), half)
		}
	}
	sum := func(list []int) (n int) {
		for _, v := range list {
			n += v
		}
		return n
	}
	first, later := sum(bytes[:10]), sum(bytes[60:])/((rounds-60)/10)
	t.Logf("lines of %d clocks for each host: %d bytes in the first ten seconds, %d in ten seconds after the first minute", hosts, first, later)
	if each := 34; first > hosts*each || later > hosts*each/10 {
		t.Errorf("%d and %d bytes", first, later)
	}
}
