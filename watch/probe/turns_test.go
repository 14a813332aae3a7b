package probe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// shared is a host whose counters a test moves, in the recorded files of a real one.
type shared struct {
	t    testing.TB
	proc string
	cg   string // the cgroup's cpu.stat
	// Ticks of two cores by mode, and everything else that is counted.
	cores             [2][cpuModes]uint64
	switches, retrans uint64
	sectors, throttle uint64
	stalled, faults   uint64 // microseconds, pages
	packets, received uint64
	waited, conntrack uint64 // nanoseconds, searches
	established       uint64 // a gauge
}

func newShared(t testing.TB) *shared {
	dir := t.TempDir()
	h := &shared{t: t, proc: filepath.Join(dir, "proc"), established: 3}
	for from, to := range map[string]string{
		"testdata/proc": h.proc,
		"testdata/sys":  filepath.Join(dir, "sys"),
	} {
		failure.None(t, os.CopyFS(to, os.DirFS(from)))
	}
	h.cg = filepath.Join(dir, "sys/fs/cgroup/cpu/box/cpu.stat")
	h.write()
	return h
}

func (h *shared) sys() string { return filepath.Join(filepath.Dir(h.proc), "sys") }

// write writes the counters as the kernel would show them.
func (h *shared) write() {
	h.t.Helper()
	var stat, sched strings.Builder
	for i, c := range h.cores {
		fmt.Fprintf(&stat, "cpu%d", i)
		for _, v := range c {
			fmt.Fprintf(&stat, " %d", v)
		}
		stat.WriteString(" 0 0\n")
		fmt.Fprintf(&sched, "cpu%d 0 0 0 0 0 0 %d %d %d\n", i, 3*h.waited, h.waited, h.switches)
	}
	fmt.Fprintf(
		&stat,
		"intr 5 0\nctxt %d\nprocesses %d\nprocs_running 2\nprocs_blocked 0\n",
		h.switches,
		h.switches/7,
	)
	for name, text := range map[string]string{
		"stat":         stat.String(),
		"schedstat":    sched.String(),
		"vmstat":       fmt.Sprintf("pgmajfault %d\npswpin 0\npswpout 0\noom_kill 0\n", h.faults),
		"pressure/cpu": fmt.Sprintf("some avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", h.stalled),
		"pressure/io":  fmt.Sprintf("some avg10=0.00 total=%d\nfull avg10=0.00 total=%d\n", h.stalled/2, h.stalled/3),
		"diskstats": fmt.Sprintf("   8       0 sda %d 0 %d %d %d 0 %d %d 2 %d %d\n",
			h.sectors/8, h.sectors, h.sectors/4, h.sectors/16, h.sectors/2, h.sectors/5, h.sectors/3, h.sectors/2),
		"net/snmp": fmt.Sprintf("Tcp: ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs "+
			"InErrs OutRsts\nTcp: 1 2 3 4 %d %d %d %d 0 0\n", h.established, h.packets, h.packets, h.retrans),
		"net/dev":               fmt.Sprintf("  lo: %d %d 0 0 0 0 0 0 %d %d 0 0 0 0 0 0\n", h.received, h.packets, h.received, h.packets),
		"net/softnet_stat":      fmt.Sprintf("%08x 00000000 %08x\n%08x 00000000 00000000\n", h.packets, h.retrans, h.packets/2),
		"net/stat/nf_conntrack": fmt.Sprintf("entries  found insert_failed drop\n0000000a  00000001 %08x 00000000\n", h.conntrack),
	} {
		if err := os.WriteFile(filepath.Join(h.proc, name), []byte(text), 0o666); err != nil {
			h.t.Fatal(err)
		}
	}
	quota := fmt.Appendf(
		nil,
		"nr_periods %d\nnr_throttled %d\nthrottled_time %d\n",
		h.throttle,
		h.throttle/2,
		h.throttle*1e6+7,
	)
	if err := os.WriteFile(h.cg, quota, 0o666); err != nil {
		h.t.Fatal(err)
	}
}

// work lets ticks pass, of which core 0 is busy for some, with everything that comes with work.
func (h *shared) work(ticks, busy uint64) {
	h.t.Helper()
	h.cores[0][cpuUser] += busy
	h.cores[0][cpuIdle] += ticks - busy
	h.cores[1][cpuSystem] += busy / 2
	h.cores[1][cpuSteal] += busy / 5
	h.cores[1][cpuIdle] += ticks - busy/2 - busy/5
	h.switches += 11*busy + 1
	h.retrans += busy / 3
	h.sectors += 9 * busy
	h.throttle += busy
	h.stalled += 1234*busy + 1
	h.faults += busy
	h.packets += 40 * busy
	h.received += 40_001 * busy
	h.waited += 1_234_567 * busy
	h.conntrack += busy
	h.established = 3 + ticks
	h.write()
}

// watched is a run on the host.
type watched struct {
	turns *Turns
	host  *HostProbe
	first map[string]float64
	ticks uint64 // of its own turns
	done  uint64 // at its last sample
}

func (h *shared) watch(turns *Turns) *watched {
	h.t.Helper()
	p, err := NewHost(HostOptions{
		Proc:  h.proc,
		Sys:   h.sys(),
		Roles: map[string][]int{"target": {0}},
		Turns: turns,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { p.Close() })
	w := &watched{turns: turns, host: p}
	w.first = w.sample(h.t)
	return w
}

func newTurns(t testing.TB, proc string) *Turns {
	turns, err := NewTurns(proc)
	failure.None(t, err)
	t.Cleanup(func() { turns.Close() })
	return turns
}

// sample reads the host at the run's own time.
func (w *watched) sample(t testing.TB) map[string]float64 {
	t.Helper()
	s, err := w.host.Sample(t.Context(), t0.Add(time.Duration(w.ticks)*10*time.Millisecond))
	failure.None(t, err)
	w.done = w.ticks
	return values(t, s)
}

// isCounter reports whether a series is a counter.
func isCounter(key string) bool {
	name, _, _ := strings.Cut(key, "{")
	return !gauges[name] &&
		(strings.HasSuffix(name, "_total") || strings.HasPrefix(name, "node_netstat_") ||
			strings.HasPrefix(name, "node_vmstat_") || strings.HasPrefix(name, "node_nf_conntrack_stat_"))
}

// Two arms alternate, in turns of random length with time of neither between, and only the first
// burns the CPU. The second's series hold none of that; and what the turns of both and the time
// between them hold adds up to what the host holds, for each of its counters.
func TestTurnsDivideTheHost(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 19))
		h := newShared(t)
		h.work(1000, 500)
		all := h.watch(nil)
		var runs []*watched // the arms, and the time between
		for range 3 {
			runs = append(runs, h.watch(newTurns(t, h.proc)))
		}
		burn := []float64{0.9, 0.1, 0.5}
		for range 60 {
			i := rng.IntN(3)
			w := runs[i]
			w.turns.Begin()
			for range 1 + rng.IntN(3) {
				n := 10 + rng.Uint64N(40)
				h.work(n, uint64(burn[i]*float64(n)))
				w.ticks += n
				all.ticks += n
				if x := runs[rng.IntN(3)]; x.ticks > x.done { // in its turn or in another's
					m := x.sample(t)
					if got, ok := m[`plimsoll_cpu_busy_ratio{role="target"}`]; x == runs[1] &&
						(!ok || got > 0.1) {
						t.Fatalf("the idle arm's cores were busy for %v of its turns (%v)", got, ok)
					}
				}
			}
			w.turns.End()
		}
		whole := all.sample(t)
		sum, little := map[string]float64{}, map[string]float64{}
		for i, w := range runs {
			w.ticks++ // a sample needs a time of its own
			for key, v := range w.sample(t) {
				if isCounter(key) {
					sum[key] += v - w.first[key]
					if i == 1 {
						little[key] = v - w.first[key]
					}
				}
			}
		}
		moved := 0
		for key, v := range whole {
			if !isCounter(key) {
				continue
			}
			want := v - all.first[key]
			if math.Abs(sum[key]-want) > 1e-6*max(1, want) {
				t.Errorf(
					"seed %d: %s grew by %v in all turns, and by %v on the host",
					seed,
					key,
					sum[key],
					want,
				)
			}
			if strings.HasSuffix(key, `mode="idle"}`) || want < 100 {
				continue
			}
			if moved++; little[key] > 0.2*want {
				t.Errorf(
					"seed %d: %s grew by %v, and by %v with the arm that works little",
					seed,
					key,
					want,
					little[key],
				)
			}
		}
		if moved < 10 {
			t.Errorf("seed %d: only %d counters moved", seed, moved)
		}
		runs[1].turns.Begin()
		if got := runs[1].sample(t)["node_netstat_Tcp_CurrEstab"]; got != float64(h.established) {
			t.Errorf(
				"seed %d: %v connections are established, want %d: a state is the host's",
				seed,
				got,
				h.established,
			)
		}
	}
}

// Ratios of the cores and rates of the disks are over turns.
func TestTurnsHaveRatiosOfTheirOwn(t *testing.T) {
	h := newShared(t)
	w := h.watch(newTurns(t, h.proc))
	// 100 ms of its own, with 4 ticks of work; then 300 ms of another, busy all the time
	for range 5 {
		w.turns.Begin()
		h.work(10, 4)
		w.turns.End()
		w.ticks += 10
		h.work(30, 30)
	}
	m := w.sample(t)
	for key, want := range map[string]float64{
		`plimsoll_cpu_busy_ratio{role="target"}`:         0.4,
		`plimsoll_cpu_busy_hottest_ratio{role="target"}`: 0.4,
		`plimsoll_cpu_busy_ratio{role="host"}`:           0.3,
		`plimsoll_cpu_steal_ratio{role="host"}`:          0,
		`plimsoll_disk_busy_ratio{device="sda"}`:         0,
	} {
		got, ok := m[key]
		if key == `plimsoll_disk_busy_ratio{device="sda"}` {
			// of 9 sectors for each tick of work, a third is milliseconds
			want = float64(20*9/3) / 500
		}
		if !ok || math.Abs(got-want) > 0.02 {
			t.Errorf("%s = %v (%v), want %v", key, got, ok, want)
		}
	}
}

// The cores' own sums, which a trial reads at any time, are those of the samples.
func TestTurnsSumCores(t *testing.T) {
	h := newShared(t)
	turns := newTurns(t, h.proc)
	h.work(100, 100)
	b0, t0, err := turns.Cores([]int{0, 1})
	failure.None(t, err)
	step := func(busy, total float64) {
		t.Helper()
		b, all, err := turns.Cores([]int{0, 1})
		if err != nil || math.Abs(b-b0-busy) > 1e-9 || math.Abs(all-t0-total) > 1e-9 {
			t.Errorf("busy %v of %v s, %v; want %v of %v", b-b0, all-t0, err, busy, total)
		}
	}
	h.work(50, 50)
	step(0, 0) // no turn yet
	turns.Begin()
	turns.Begin()
	step(0, 0)
	h.work(20, 10)
	step(0.17, 0.4) // core 0: 10 ticks, core 1: 5 of work and 2 stolen
	h.work(20, 10)
	turns.End()
	turns.End()
	h.work(40, 40)
	step(0.34, 0.8)
	turns.Begin()
	h.work(20, 0)
	step(0.34, 1.2)
	if _, _, err := turns.Cores([]int{2}); err == nil ||
		!strings.Contains(err.Error(), "core 2 is not there") {
		t.Errorf("a core that is not there: %v", err)
	}
}

// A file that cannot be read at an end of a turn gives an error and no growth of others.
func TestTurnsLoseAFile(t *testing.T) {
	h := newShared(t)
	w := h.watch(newTurns(t, h.proc))
	key := `node_cpu_seconds_total{cpu="0",mode="user"}`
	turn := func(lostBegin, lostEnd bool) {
		lose := func(lost bool, mark func()) {
			if lost {
				failure.None(t, os.Truncate(filepath.Join(h.proc, "stat"), 0))
			}
			mark()
			h.write()
		}
		lose(lostBegin, w.turns.Begin)
		h.work(10, 10)
		w.ticks += 10
		lose(lostEnd, w.turns.End)
		if lostEnd {
			_, err := w.host.Sample(t.Context(), t0)
			failure.Says(t, err, "could not be read at the end of the turn")
		}
		h.work(10, 10)
	}
	turn(false, false)
	turn(true, false) // nothing is known of it
	turn(false, true) // the same
	turn(false, false)
	if got := w.sample(t)[key] - w.first[key]; math.Abs(got-0.2) > 1e-9 {
		t.Errorf("%s grew by %v, want 0.2 s of the two turns that were seen", key, got)
	}
}

// The CPU time of this process is that of its turns.
func TestTurnsOfThisProcess(t *testing.T) {
	turns := newTurns(t, newShared(t).proc)
	burn := func() {
		before, err := selfCPU()
		failure.None(t, err)
		for now := before; now-before < 30*time.Millisecond; {
			now, err = selfCPU()
			failure.None(t, err)
		}
	}
	at := func() time.Duration {
		d, err := turns.SelfCPU()
		failure.None(t, err)
		return d
	}
	start := at()
	burn()
	if got := at() - start; got != 0 {
		t.Errorf("%v of CPU time before the first turn", got)
	}
	turns.Begin()
	burn()
	turns.End()
	own := at() - start
	if own < 30*time.Millisecond {
		t.Errorf("%v of CPU time in a turn that burned 30 ms", own)
	}
	burn()
	if got := at() - start; got != own {
		t.Errorf("%v of CPU time after the turn, %v at its end", got, own)
	}
	if d, err := (*Turns)(nil).SelfCPU(); err != nil || d < 90*time.Millisecond {
		t.Errorf("without turns: %v, %v", d, err)
	}
}

// Who hears of turns hears of the one under way, and of each end once.
func TestTurnsAreHeard(t *testing.T) {
	turns := newTurns(t, newShared(t).proc)
	var heard []bool
	turns.Begin()
	turns.Hear(func(on bool) { heard = append(heard, on) })
	turns.Begin()
	turns.End()
	turns.End()
	turns.Begin()
	if got := fmt.Sprint(heard); got != "[true false true]" {
		t.Errorf("heard %v", got)
	}
}
