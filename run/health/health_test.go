package health

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/load/clock"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/trial"
)

func newHealth(last LastSample, c *clock.Clock, cores []int, shared bool) *GateReader {
	return New(Config{
		Last:       last,
		Clock:      c,
		Generator:  cores,
		SharedHost: shared,
		Headroom:   Headroom{Why: "not calibrated"},
	})
}

// Every reading is of a gate.
func TestReadingsOfGates(t *testing.T) {
	for name := range readings {
		if _, ok := plan.Gates(nil).Of(name); !ok {
			t.Errorf("there is no gate %s", name)
		}
	}
	for name := range hostReadings {
		if readings[name] == nil {
			t.Errorf("%s is read on other hosts alone", name)
		}
	}
}

func TestHealthIsReadFromFreshSamples(t *testing.T) {
	now := time.Now()
	type sample struct {
		v   float64
		age time.Duration
	}
	samples := map[string]sample{
		`plimsoll_cpu_busy_hottest_ratio{role="generator"}`:      {0.62, 0},
		`plimsoll_cpu_steal_ratio{role="generator"}`:             {0.02, 0},
		"plimsoll_generator_cpu_ratio":                           {1.5, time.Second},
		"plimsoll_generator_sched_latency_p99_seconds":           {0.003, 10 * time.Second},
		"plimsoll_generator_open_fds":                            {900, 0},
		"plimsoll_generator_fds_limit":                           {1200, 0},
		"node_sockstat_TCP_tw":                                   {100, 0},
		"node_memory_MemAvailable_bytes":                         {1 << 30, 0},
		"node_memory_MemTotal_bytes":                             {4 << 30, 0},
		`container_cpu_cfs_throttled_seconds_total{role="self"}`: {5, 0},
		`plimsoll_cpu_busy_hottest_ratio{role="host"}`:           {0.99, 0},
		`container_cpu_cfs_throttled_seconds_total{role="else"}`: {9, 0},
		"plimsoll_generator_pause_max_seconds":                   {0, 0},
		"plimsoll_generator_gc_cpu_ratio":                        {0.1, 0},
	}
	last := func(key string) (float64, time.Time, bool) {
		s, ok := samples[key]
		return s.v, now.Add(-s.age), ok
	}
	h := newHealth(last, clock.New(now), []int{1, 2}, true)
	h.generator.ports = 2000
	h.of.Headroom.Share = func(users int, ops float64) float64 {
		return float64(users)/1000 + ops/10_000
	}
	got := h.Health(300, 1000)
	for _, g := range plan.DefaultGates() {
		if g.Name == "headroom" &&
			(g.Level(got[g.Name].Value) != "" || g.Level(30) != "amber" || g.Level(10) != "red") {
			t.Errorf("headroom is what is left: %+v at %v %%", g, got[g.Name].Value)
		}
	}
	for name, want := range map[string]float64{
		"core":     62,
		"steal":    2,
		"cpu":      75,
		"fds":      75,
		"fds_free": 300,
		"ports":    50,
		"memory":   75,
		"clock":    0,
		"headroom": 60,
		"gc":       10,
	} {
		if rd := got[name]; rd.Why != "" || rd.Value < want-1e-9 || rd.Value > want+1e-9 {
			t.Errorf("%s: %+v, want %v", name, rd, want)
		}
	}
	for name, why := range map[string]string{
		"sched":     "older than 3s",
		"throttled": "one sample is not a rate",
	} {
		if rd := got[name]; !strings.Contains(rd.Why, why) {
			t.Errorf("%s: %+v, want %q", name, rd, why)
		}
	}
	now = now.Add(time.Second)
	samples[`container_cpu_cfs_throttled_seconds_total{role="self"}`] = sample{5.02, 0}
	if rd := h.Health(0, 0)["throttled"]; rd.Why != "" || rd.Value < 1.99 || rd.Value > 2.01 {
		t.Errorf("20 ms of throttling in a second: %+v, want 2 %%", rd)
	}
	h.of.TargetRoles, h.of.TargetCores = []string{"app", "db"}, []int{0, 1}
	samples[`plimsoll_cpu_busy_ratio{role="target"}`] = sample{0.9, 0}
	samples[`plimsoll_process_cpu_ratio{role="app"}`] = sample{0.8, 0}
	if rd := h.Health(0, 0)["others"]; !strings.Contains(
		rd.Why,
		"no sample of plimsoll_process_cpu_ratio",
	) {
		t.Errorf("the database was not seen, and others are %+v", rd)
	}
	// The CPU time of the database's ended processes is seen a second late: 60 points too much,
	// then 60 too little, and 30 are others'.
	for i, db := range []float64{-0.8, 1.6, -0.8, 1.6, 0.4, 0.4} {
		now = now.Add(time.Second)
		samples[`plimsoll_process_cpu_ratio{role="db"}`] = sample{db, 0}
		for range 3 { // a tick may be shorter than a second; one sample counts once
			rd := h.Health(0, 0)["others"]
			if few := strings.Contains(rd.Why, "too few"); few != (i < 4) {
				t.Errorf("after %d samples: %+v", i+1, rd)
			}
			if i >= 4 && (rd.Value < 29.9 || rd.Value > 30.1) {
				t.Errorf("1.2 of 1.8 busy cores are the target's: %+v, want 30 %%", rd)
			}
		}
	}
	// With wires, the 20 points that the kernel worked on packets are the target's: 10 are others'.
	h.of.Wired, h.target.foreign.values = true, nil
	for i := range 7 {
		now = now.Add(time.Second)
		samples[`plimsoll_process_cpu_ratio{role="db"}`] = sample{0.4, 0}
		for _, core := range h.of.TargetCores {
			samples[fmt.Sprintf(`node_cpu_seconds_total{cpu="%d",mode="softirq"}`, core)] = sample{
				100 + 0.2*float64(i),
				0,
			}
		}
		rd := h.Health(0, 0)["others"]
		if few := strings.Contains(rd.Why, "too few"); few != (i < 5) ||
			!few && (rd.Value < 9.9 || rd.Value > 10.1) {
			t.Errorf("with wires, sample %d: %+v, want 10 %%", i, rd)
		}
	}
	shared := newHealth(last, clock.New(now), nil, true).Health(1, 1)
	if rd := shared["core"]; !strings.Contains(rd.Why, "share their cores") {
		t.Errorf("a shared core: %+v", rd)
	}
	if rd := shared["headroom"]; !strings.Contains(rd.Why, "not calibrated") {
		t.Errorf("no calibration: %+v", rd)
	}
	if rd := newHealth(last, clock.New(now), nil, false).Health(1, 1)["core"]; rd.Value != 99 {
		t.Errorf("a host of its own: %+v", rd)
	}
}

// sampled is a set of samples that are all fresh.
type sampled struct {
	now    time.Time
	values map[string]float64
}

func (s *sampled) last(key string) (float64, time.Time, bool) {
	v, ok := s.values[key]
	return v, s.now, ok
}

// In a container that allows 1,024 open files a run that needs few of them is sound; the files that
// it opens matter.
func TestFewFilesOfASmallContainer(t *testing.T) {
	s := &sampled{
		now: time.Now(),
		values: map[string]float64{
			"plimsoll_generator_open_fds":  600,
			"plimsoll_generator_fds_limit": 1024,
		},
	}
	var gate plan.Gate
	for _, g := range plan.DefaultGates() {
		if g.Name == "fds_free" {
			gate = g
		}
	}
	h := newHealth(s.last, clock.New(s.now), nil, true)
	step := func(open float64) (float64, string) {
		s.now, s.values["plimsoll_generator_open_fds"] = s.now.Add(time.Second), open
		rd := h.Health(1, 1)["fds_free"]
		if rd.Why != "" {
			t.Fatalf("%+v", rd)
		}
		return rd.Value, gate.Level(rd.Value)
	}
	for _, open := range []float64{600, 605, 600, 604} {
		if v, level := step(open); v < 400 || level != "" {
			t.Errorf("%v of 1024 files open, few opened: %v, %q", open, v, level)
		}
	}
	// one more such second, and hardly a file is left
	if v, level := step(800); v != 1024-800-196 || level != "amber" {
		t.Errorf("196 files opened in a second: %v, %q", v, level)
	}
	for range filesOver {
		step(790)
	}
	if v, level := step(790); v != 234 || level != "" {
		t.Errorf("half a minute later: %v, %q", v, level)
	}
	if v, level := step(1010); v != 0 || level != "red" {
		t.Errorf("14 files are left: %v, %q", v, level)
	}
}

// Time that the hypervisor takes from the target makes the target look slow: it has a gate of its
// own, also on the target's other hosts, and is not counted as others' work on its cores.
func TestStealOfTheTargetIsSeen(t *testing.T) {
	s := &sampled{now: time.Now(), values: map[string]float64{
		`plimsoll_cpu_steal_ratio{role="generator"}`: 0,
		`plimsoll_cpu_steal_ratio{role="target"}`:    0.01,
		`plimsoll_cpu_busy_ratio{role="target"}`:     0.5,
		`plimsoll_process_cpu_ratio{role="app"}`:     0.4,
	}}
	h := newHealth(s.last, clock.New(s.now), []int{1}, true)
	h.of.TargetCores, h.of.TargetRoles = []int{0}, []string{"app"}
	read := func(n int) (last map[string]trial.Reading) {
		for range n {
			s.now = s.now.Add(time.Second)
			last = h.Health(1, 1)
		}
		return last
	}
	if rd := read(meanLeast - 1)["target_steal"]; !strings.Contains(rd.Why, "too few") {
		t.Errorf("%+v", rd)
	}
	if rd := read(meanOver)["target_steal"]; rd.Why != "" || rd.Value < 0.99 || rd.Value > 1.01 {
		t.Errorf("a guest that is robbed of 1 %%: %+v", rd)
	}
	s.values[`plimsoll_cpu_steal_ratio{role="target"}`] = 0.06
	got := read(meanOver)
	if rd := got["target_steal"]; rd.Value < 5.99 || rd.Value > 6.01 {
		t.Errorf("6 %% of the target's cores: %+v", rd)
	}
	if rd := got["others"]; rd.Value < 3.99 || rd.Value > 4.01 {
		t.Errorf(
			"10 points went to nobody known, 6 of them to the hypervisor: others %+v, want 4",
			rd,
		)
	}
	if rd := got["steal"]; rd.Value != 0 {
		t.Errorf("the generator was robbed of nothing: %+v", rd)
	}
	const far = `plimsoll_cpu_steal_ratio{instance="app-0",role="app"}`
	s.values[far] = 0.2
	h = newHealth(s.last, clock.New(s.now), nil, false)
	if rd := h.Health(1, 1)["target_steal"]; rd.Inapplicable ||
		!strings.Contains(rd.Why, "probe of kind agent") {
		t.Errorf("a host that nobody sees: %+v", rd)
	}
	h.of.Steal = func() []string { return []string{far} }
	if rd := read(meanOver)["target_steal"]; rd.Value < 19.9 || rd.Value > 20.1 {
		t.Errorf("another host: %+v", rd)
	}
	if rd := newHealth(s.last, clock.New(s.now), nil, true).Health(1, 1)["target_steal"]; !rd.Inapplicable {
		t.Errorf("shared cores: %+v", rd)
	}
	if !record.Foreign("target_steal") {
		t.Error("a search that it ended can be half of a pair")
	}
}
