package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"plimsoll/load/clock"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/run/capacity"
)

// lab is a generator and a server in one: every 50 ms each user makes a tenth of an op; the latency
// and the CPU are functions of the users.
type lab struct {
	mu       sync.Mutex
	users    int
	short    int // users that never become active
	capacity float64
	lag      func(users int) time.Duration
	within   func(users int) time.Duration // lag of the operations; nil: as that of the actions
	latency  func(users int) time.Duration
	class    func() measure.Class // of the operations; nil: OK
	blind    bool                 // no CPU signal for "app"
	failing  map[string]Failure
	reg      *measure.Registry
	busy     map[string][2]float64
	healthy  map[string]Reading // besides a core at 30 %
	health   func(users int) map[string]Reading
	counts   workload.Activity // of each tick
	asked    time.Time
	wait     time.Duration
	inbox    time.Duration // of an event with each action; 0: none
	stop     chan struct{}
	wg       sync.WaitGroup
	max      int
	arrival  float64 // CPU seconds of "app" that a new user costs
	owed     float64 // the rest of them
	initial  float64 // operations that a new user makes at once, a fifth of the rest in each second
	backlog  float64 // the rest of them
}

// unanswered is the latency of an op that the server never answers, and that is not waited for.
const unanswered = time.Duration(-1)

func newLab(capacity float64) *lab {
	l := &lab{
		capacity: capacity,
		reg:      measure.NewRegistry(1),
		busy:     map[string][2]float64{},
		stop:     make(chan struct{}),
	}
	l.lag = func(int) time.Duration { return 100 * time.Microsecond }
	l.latency = func(int) time.Duration { return 10 * time.Millisecond }
	l.wg.Go(func() {
		rec := l.reg.Recorder(0)
		post := rec.Name("post")
		sched := rec.Name(workload.Schedule)
		inbox := rec.Name(workload.Inbox)
		for {
			select {
			case <-l.stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			l.mu.Lock()
			n := l.users
			first := l.backlog * 0.2 * 0.05
			l.backlog -= first
			for range (n+9)/10 + int(first+0.5) {
				lag, lat := l.lag(n), l.latency(n)
				rec.Lag(sched, lag)
				if l.within != nil {
					lag = l.within(n)
				}
				if lat == unanswered {
					continue
				}
				op := measure.Op{Due: lag, Sent: lag + l.wait, Done: lag + lat, Scheduled: true}
				if l.class != nil {
					op.Class = l.class()
				}
				rec.Record(post, &op)
				if l.inbox > 0 {
					rec.Lag(inbox, l.inbox)
				}
			}
			for role, share := range map[string]float64{
				"app":       float64(n) / l.capacity * 0.85,
				"generator": 0.3,
			} {
				b, used := l.busy[role], 0.05*min(share, 1)
				if role == "app" {
					late := min(l.owed, 0.05-used)
					l.owed -= late
					used += late
				}
				l.busy[role] = [2]float64{b[0] + used, b[1] + 0.05}
			}
			l.mu.Unlock()
		}
	})
	return l
}

func (l *lab) SetUsers(n int, _ time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed += l.arrival * float64(max(n-l.users, 0))
	l.backlog += l.initial * float64(max(n-l.users, 0))
	l.users = n
	l.max = max(l.max, n)
	return nil
}
func (l *lab) Users() (int, int, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.users, max(l.users-l.short, 0), 0
}
func (l *lab) Stop(time.Duration) {
	l.mu.Lock()
	l.users = 0
	l.mu.Unlock()
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.wg.Wait()
}
func (l *lab) Busy(role string) (float64, float64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if role == "app" && l.blind {
		return 0, 0, errors.New("no such cores")
	}
	b := l.busy[role]
	return b[0], b[1], nil
}
func (l *lab) Query(context.Context, string) (float64, bool, error) { return 0, false, nil }
func (l *lab) Health(int, float64) map[string]Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]Reading{"core": {Value: 30}}
	maps.Copy(out, l.healthy)
	if l.health != nil {
		maps.Copy(out, l.health(l.users))
	}
	return out
}
func (l *lab) Activity() workload.Activity {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	if now := time.Now(); c.Actions == 0 { // all users think all the time
		if !l.asked.IsZero() {
			c.Open = time.Duration(max(l.users-l.short, 0)) * now.Sub(l.asked)
		}
		l.asked = now
	}
	return c
}
func (l *lab) Failing() map[string]Failure { return l.failing }

func rules(t *testing.T, texts ...string) []plan.SLO {
	t.Helper()
	var out []plan.SLO
	for _, s := range texts {
		r, err := plan.ParseSLO(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func spec(t *testing.T, l *lab) Config {
	t.Helper()
	w, err := record.Create(filepath.Join(t.TempDir(), "run"), record.Manifest{ID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Window:   1500 * time.Millisecond,
		Clock:    clock.New(time.Now()),
		Driver:   l,
		Registry: l.reg,
		Signals:  l,
		Writer:   w,
		Rules:    rules(t, "mean(op) < 100ms", "cpu(app) < 85%"),
	}
}

// virtual runs a test of its own in virtual time.
func virtual(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func boundedSpec(t *testing.T, l *lab) Config {
	t.Helper()
	s := spec(t, l)
	s.Bounded = &bounded
	return s
}

func carryOut(t *testing.T, s Config) Outcome {
	t.Helper()
	out, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// interrupted carries out a trial that is interrupted after 4.5 s.
func interrupted(t *testing.T, s Config) Outcome {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(4500*time.Millisecond, func() { cancel(errors.New("interrupt")) })
	out, err := Run(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func eventsOf(t *testing.T, r *record.Run) []record.Event {
	t.Helper()
	events, err := r.Events()
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func finish(t *testing.T, s Config, out Outcome) *record.Run {
	t.Helper()
	if err := s.Writer.Update(func(m *record.Manifest) {
		m.Phases, m.Capacity = out.Phases, out.Capacity
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Writer.Seal(context.Background(), out.Validity, out.Interrupted); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(s.Writer.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func gates(v record.Validity) string {
	var s []string
	for _, f := range v.Findings {
		s = append(s, f.Level+" "+f.Gate)
	}
	return strings.Join(s, ", ")
}

var bounded = *measuredFor(5 * time.Second)

// Each phase is told when it begins and when it has ended.
func TestPhasesAreTold(t *testing.T) {
	virtual(t, "bounded", func(t *testing.T) {
		s := boundedSpec(t, newLab(1000))
		var told []string
		s.Phase = func(name string) {
			told = append(told, fmt.Sprintf("%s at %v", name, s.Clock.Now().Round(time.Second)))
		}
		out := carryOut(t, s)
		var want []string
		for _, p := range out.Phases {
			want = append(want, fmt.Sprintf("%s at %v", p.Name, p.From), fmt.Sprintf(" at %v", p.To))
		}
		if len(want) < 4 || !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

func TestBoundedTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := boundedSpec(t, l)
		out := carryOut(t, s)
		if !out.Validity.Valid || len(out.Broken) != 0 {
			t.Errorf(
				"valid %v (%s), broken %v",
				out.Validity.Valid,
				gates(out.Validity),
				out.Broken,
			)
		}
		r := finish(t, s, out)
		ph, ok := r.Manifest.Phase("measure")
		if !ok || ph.From != 3*time.Second || ph.To != 8*time.Second || ph.Users != 100 {
			t.Fatalf("phase %+v", ph)
		}
		m, err := r.Merged(ph.From, ph.To)
		if err != nil {
			t.Fatal(err)
		}
		if n := m["post"].Count(); n < 990 || n > 1010 {
			t.Errorf("%d posts in 5 s at 200/s", n)
		}
	})
}

// TestBoundedTrialOutcomes holds which rules of a bounded test break, and what voids it.
func TestBoundedTrialOutcomes(t *testing.T) {
	slow := func(l *lab) { l.latency = func(int) time.Duration { return 150 * time.Millisecond } }
	for _, tt := range []struct {
		name     string
		set      func(*lab)
		rules    []string // nil for those of spec
		broken   string   // the beginning of the one that is
		warned   int
		findings string
	}{
		{"late generator", func(l *lab) {
			l.lag = func(int) time.Duration { return 30 * time.Millisecond }
		}, nil, "", 0, "red lag"},
		{"users that never come", func(l *lab) { l.short = 5 }, nil, "", 0, "red users"},
		{"a rule without data", func(l *lab) {
			l.blind = true
		}, nil, "", 0, "red rule without data"},
		{"a signal lost", func(l *lab) {
			l.failing = map[string]Failure{"db": {Since: time.Now().Add(-time.Minute), Why: "gone"}}
		}, nil, "", 0, "red signals"},
		{"a slow target", slow, nil, "mean(op) < 100ms: 150", 0, ""},
		{"a slow target, for shorter than the phase", slow, []string{"mean(op) < 100ms for 3s"}, "mean(op) < 100ms for 3s: 150", 0, ""},
		{"too few operations", slow, []string{"mean(op) < 100ms min 500000", "p99(op) < 1s min 500000"}, "", 0, "amber rules"},
		{"warnings", func(l *lab) { slow(l); l.blind = true },
			[]string{"mean(op) < 100ms warning", "cpu(app) < 85% warning"}, "", 1, "amber rule without data"},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			tt.set(l)
			s := boundedSpec(t, l)
			if tt.rules != nil {
				s.Rules = rules(t, tt.rules...)
			}
			out := carryOut(t, s)
			got, broken := gates(out.Validity), strings.Join(out.Broken, "; ")
			if !strings.HasPrefix(broken, tt.broken) || (broken == "") != (tt.broken == "") ||
				len(out.Warned) != tt.warned {
				t.Errorf("broken %q, warned %q", broken, out.Warned)
			}
			if !strings.Contains(got, tt.findings) || (got == "") != (tt.findings == "") {
				t.Errorf("findings %q, want %q", got, tt.findings)
			}
			valid := !strings.Contains(tt.findings, "red")
			if r := finish(t, s, out); out.Validity.Valid != valid || r.Validity.Valid != valid {
				t.Errorf("valid %v, stored as %v", out.Validity.Valid, r.Validity.Valid)
			}
		})
	}
}

// A signal that was gone and came back has a gap that the report must show, and voids nothing: an
// overloaded server may be too busy to serve its metrics.
func TestSignalWithAGap(t *testing.T) {
	for gap, want := range map[time.Duration]string{
		6 * time.Second: "amber signals",
		4 * time.Second: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(1000)
			from := time.Now()
			l.failing = map[string]Failure{"db": {Since: from, Until: from.Add(gap), Why: "gone"}}
			s := boundedSpec(t, l)
			out := carryOut(t, s)
			if got := gates(out.Validity); !out.Validity.Valid ||
				want != "" && !strings.Contains(got, want) ||
				want == "" && strings.Contains(got, "signals") {
				t.Errorf(
					"a gap of %v: valid %v, findings %q, want %q",
					gap,
					out.Validity.Valid,
					got,
					want,
				)
			}
			finish(t, s, out)
		})
	}
}

func searchSpec(s Config, start, most int) Config {
	s.Search = &SearchTest{
		Config: capacity.Config{
			Start:    start,
			Max:      most,
			RampRate: 0.05,
			Window:   s.Window,
			Budget:   30 * time.Second,
		},
		Rush: time.Second,
	}
	return s
}

// searched carries out a search from 480 users on.
func searched(t *testing.T, l *lab) (Config, Outcome) {
	t.Helper()
	s := searchSpec(spec(t, l), 480, 5000)
	return s, carryOut(t, s)
}

// measuredFor is a bounded test of 100 users whose measured phase begins after three seconds.
func measuredFor(d time.Duration) *BoundedTest {
	return &BoundedTest{Users: 100, Ramp: 2 * time.Second, Settle: time.Second, Measure: d}
}

// windowOf is a bounded test of half a minute whose last part counts, and which no stop rule ends.
func windowOf(last time.Duration) *BoundedTest {
	b := measuredFor(30 * time.Second)
	b.Window = last
	b.Until = func() (string, error) { return "", nil }
	return b
}

func TestSearchFindsTheCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(800)
		s := searchSpec(spec(t, l), 480, 5000)
		s.Bounded = &bounded
		out := carryOut(t, s)
		c := out.Capacity
		if c == nil || c.Kind != record.Estimate || math.Abs(c.Users/800-1) > 0.03 ||
			c.Rule != "cpu(app) < 85%" {
			t.Fatalf("capacity %+v", c)
		}
		if f := c.Forecast; f == nil || f.Most != 30*time.Second || f.Least <= 0 || f.Ramp <= 0 {
			t.Errorf("forecast %+v", f)
		} else if math.Abs(f.CPU/(800/0.85)-1) > 0.05 || f.Reach <= 480 {
			t.Errorf("the utilization predicts a limit of %.0f users, want %.0f; reach %.0f", f.CPU, 800/0.85, f.Reach)
		}
		if l.max > 1000 {
			t.Errorf("%d users on a server for 800", l.max)
		}
		r := finish(t, s, out)
		ev := eventsOf(t, r)
		seen := map[string]int{}
		for _, e := range ev {
			seen[e.Kind]++
		}
		if seen["slo"] < 10 || seen["decision"] < 5 || seen["users"] < 10 {
			t.Errorf("events %v", seen)
		}
	})
}

// A host that is disturbed for a moment, and looks overloaded for as long, pauses the search and
// leaves no mark on its answer.
func TestADisturbedMomentIsNoEvidence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(800)
		began := time.Now()
		disturbed := func() bool {
			at := time.Since(began)
			return at > 4*time.Second && at < 6*time.Second
		}
		l.health = func(int) map[string]Reading {
			if disturbed() {
				return map[string]Reading{"steal": {Value: 9}}
			}
			return map[string]Reading{"steal": {Value: 0}}
		}
		l.latency = func(int) time.Duration {
			if disturbed() {
				return 10 * time.Second
			}
			return 10 * time.Millisecond
		}
		_, out := searched(t, l)
		if c := out.Capacity; c.Kind != record.Estimate || math.Abs(c.Users/800-1) > 0.03 ||
			c.Rule != "cpu(app) < 85%" {
			t.Fatalf("capacity %+v", c)
		}
		if !out.Validity.Valid {
			t.Errorf("findings %s", gates(out.Validity))
		}
	})
}

// A generator that is late when it has many users must never be taken for a server that is slow.
func TestLateGeneratorGivesAtLeast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(800)
		l.lag = func(n int) time.Duration {
			if n > 600 {
				return 40 * time.Millisecond
			}
			return time.Millisecond
		}
		_, out := searched(t, l)
		c := out.Capacity
		if c.Kind != record.AtLeast || c.Rule != record.ByGate+"lag" || c.Users < 480 ||
			c.Users > 620 {
			t.Fatalf("capacity %+v", c)
		}
		if !out.Validity.Valid || gates(out.Validity) != "amber lag" {
			t.Errorf("valid %v, findings %s", out.Validity.Valid, gates(out.Validity))
		}
	})
}

// Users whose rules were violated were not carried, however sound the generator was. The generator
// of this test becomes late once the search goes down again.
func TestAtLeastIsNoMoreThanTheTargetCarried(t *testing.T) {
	for _, tt := range []struct {
		name     string
		capacity float64
		latency  time.Duration
		kind     string
		lo, hi   float64
	}{
		{"a ramp beyond the capacity", 800, 10 * time.Millisecond, record.AtLeast, 450, 805},
		{"violated from the start", 5000, 150 * time.Millisecond, record.Invalid, 0, 0},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(tt.capacity)
			l.latency = func(int) time.Duration { return tt.latency }
			l.lag = func(n int) time.Duration { // called with l locked
				if n < l.max*97/100 {
					return 40 * time.Millisecond
				}
				return 100 * time.Microsecond
			}
			s := searchSpec(spec(t, l), 480, 5000)
			s.Search.RampRate = 0.1
			out := carryOut(t, s)
			c := out.Capacity
			if c.Kind != tt.kind || c.Rule != record.ByGate+"lag" || c.Users < tt.lo ||
				c.Users > tt.hi {
				t.Errorf("capacity %+v, want %s of %v to %v", c, tt.kind, tt.lo, tt.hi)
			}
			if c.Kind == record.AtLeast && (c.Reached < c.Users || c.Reached > float64(l.max)) {
				t.Errorf("reached %v, want %v to %d", c.Reached, c.Users, l.max)
			}
			if valid := tt.kind != record.Invalid; out.Validity.Valid != valid {
				t.Errorf("valid %v, findings %s", out.Validity.Valid, gates(out.Validity))
			}
			if tt.kind == record.AtLeast && float64(l.max) < 1.03*tt.capacity {
				t.Errorf(
					"only %d users were tried on a server for %v: the scene is not what the test needs",
					l.max,
					tt.capacity,
				)
			}
		})
	}
}

func TestInterruptedTrialIsReadableAndInvalid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := boundedSpec(t, l)
		out := interrupted(t, s)
		if out.Interrupted != "interrupt" || out.Validity.Valid {
			t.Fatalf("%+v", out)
		}
		r := finish(t, s, out)
		if r.Manifest.State != record.Interrupted {
			t.Errorf("state %s", r.Manifest.State)
		}
		if m, err := r.Merged(0, time.Minute); err != nil || m["post"].Count() < 800 {
			t.Errorf("%v, %v", m, err)
		}
	})
}

// A rule that must be violated for 5 s is violated from the moment at which it has been, however
// far its values lie apart: the ticks of a search, the seconds of a series or the windows of a
// bounded test.
func TestRuleHeldForLongerThanAWindow(t *testing.T) {
	rule := rules(t, "mean(op) < 100ms for 5s")[0]
	values := func(second int) float64 {
		if second == 7 || second == 8 {
			return 0.05 // a good moment breaks the run of bad ones
		}
		return 0.2
	}
	for apart, want := range map[time.Duration]string{
		200 * time.Millisecond: "[5 6 14 15 16 17 18 19]",
		time.Second:            "[5 6 14 15 16 17 18 19]",
		2 * time.Second:        "[6 16 18]",
	} {
		s := new(ruleState)
		var violated []int
		for at := time.Duration(0); at < 20*time.Second; at += apart {
			second := int(at / time.Second)
			v, whole := s.hold(at, rule.For, values(second), rule.Less)
			if v != 0.2 && v != 0.05 {
				t.Errorf("%v apart, second %d: value %v, which was never seen", apart, second, v)
			}
			if whole != (at >= rule.For) {
				t.Errorf("%v apart: at %v the values reach back long enough: %v", apart, at, whole)
			}
			rd := capacity.RuleReading{
				Value: v,
				Limit: rule.Threshold,
				Less:  rule.Less,
				OK:    true,
				Brief: !whole,
			}
			if st := rd.Status(); (st == capacity.Undecided) != (at < rule.For) {
				t.Errorf("%v apart, at %v: status %d", apart, at, st)
			} else if st == capacity.Violated && (len(violated) == 0 || violated[len(violated)-1] != second) {
				violated = append(violated, second)
			}
		}
		if got := fmt.Sprint(violated); got != want {
			t.Errorf("%v apart: violated in seconds %s, want %s", apart, got, want)
		}
	}
}

// An overloaded level is seen also by a rule that looks further back than a window: on disk, in the
// series, and in the judgement of the level.
func TestLevelThatARuleHeldForLongBreaks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &climber{lab: newLab(100_000), most: 7500}
		c.latency = func(n int) time.Duration {
			if n >= 3000 {
				return 300 * time.Millisecond
			}
			return 10 * time.Millisecond
		}
		s := spec(t, c.lab)
		s.Driver = c
		s.Rules = rules(t, "mean(op) < 100ms for 4s")
		s.Bounded = &BoundedTest{
			Users:   7500,
			Ramp:    30 * time.Second,
			Settle:  time.Second,
			Measure: 10 * time.Second,
		}
		db, out := recordSeries(t, s)
		if got := gates(out.Validity); out.Validity.Valid || !strings.Contains(got, "red level") {
			t.Errorf("valid %v, findings %q, want the level among them", out.Validity.Valid, got)
		}
		_, end, _ := db.Bounds()
		if got := ask(t, db, "max_over_time(plimsoll_slo_violated[1h])", end); got != 1 {
			t.Errorf("violated in the series: %v", got)
		}
		r, err := record.Open(s.Writer.Dir())
		if err != nil {
			t.Fatal(err)
		}
		events := eventsOf(t, r)
		violated := 0
		for _, e := range events {
			if e.Kind == "slo" && e.Phase == "measure" && e.Violated {
				violated++
				if e.Value < 0.29 || e.Value > 0.31 {
					t.Errorf("violated with a value of %v, want 0.3", e.Value)
				}
			}
		}
		if violated < 5 {
			t.Errorf("%d evaluations of the measured phase were violated, want all", violated)
		}
	})
}

// losing is a lab whose agent is lost after some collects, or when the users are stopped.
type losing struct {
	*lab
	left int
	lost bool
}

func (l *losing) Stop(grace time.Duration) {
	l.lab.Stop(grace)
	l.left = 0
}

func (l *losing) Collect(context.Context) error {
	if l.left--; l.left >= 0 {
		return nil
	}
	l.lost = true
	return fmt.Errorf("%w: 2 of 3", ErrLost)
}

func TestLostAgentEndsTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(1000)
		s := boundedSpec(t, l)
		s.Driver = &losing{lab: l, left: 6}
		from := time.Now()
		out := carryOut(t, s)
		r := finish(t, s, out)
		if out.Interrupted == "" || r.Validity.Valid ||
			!strings.Contains(gates(r.Validity), "agents") {
			t.Errorf("%q, %+v", out.Interrupted, r.Validity.Findings)
		}
		if took := time.Since(from); took > 12*time.Second {
			t.Errorf("it went on for %v", took)
		}
		if n := len(out.Phases); n == 0 || out.Phases[n-1].To != 7*s.Window/6 {
			t.Errorf("phases %+v", out.Phases)
		}
	})
}

func TestAgentLostAtTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := boundedSpec(t, newLab(1000))
		s.Driver = &losing{lab: s.Driver.(*lab), left: math.MaxInt}
		out := carryOut(t, s)
		if r := finish(t, s, out); out.Interrupted == "" || r.Validity.Valid ||
			gates(r.Validity) != "red agents" {
			t.Errorf("%q, %+v", out.Interrupted, r.Validity.Findings)
		}
	})
}
