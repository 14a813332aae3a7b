package limiter_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"plimsoll/judge/limiter"
	"plimsoll/judge/sizing"
)

// A scene is a search at a simulated server: a ramp to beyond its capacity and a tracking around
// it.
type scene struct {
	o   limiter.Observed
	rng *rand.Rand
}

const sceneCapacity = 1000.0

func newScene() *scene {
	s := &scene{rng: rand.New(rand.NewPCG(1, 2))}
	s.o = limiter.Observed{
		Capacity: sceneCapacity,
		Reached:  true,
		Rule:     "p99(op) < 2s",
		CPU:      map[string][]float64{},
		Shared:   "target",
		Roles:    []string{"app"},
	}
	add := func(u float64) {
		s.o.Users = append(s.o.Users, u)
		s.o.Broken = append(s.o.Broken, u > sceneCapacity)
	}
	for u := 150.0; u < 1.06*sceneCapacity; u += 5 {
		add(u)
	}
	for i := range 120 {
		add(sceneCapacity * (0.98 + 0.05*math.Sin(float64(i)/6)))
	}
	s.cores("app", 0.7)
	s.cores("db", 0.2)
	return s
}

func (s *scene) cores(role string, v float64) {
	s.o.CPU[role] = s.of(func(l float64) float64 { return v * l })
}

// of makes a signal of the load, 1 at capacity, with noise of 3 %.
func (s *scene) of(f func(load float64) float64) []float64 {
	out := make([]float64, len(s.o.Users))
	for i, u := range s.o.Users {
		out[i] = f(u/sceneCapacity) * (1 + 0.03*s.rng.NormFloat64())
	}
	return out
}

// see adds a trace of the first deciding indicator of a limiter.
func (s *scene) see(t *testing.T, name, role string, f func(load float64) float64) *scene {
	t.Helper()
	i := slices.IndexFunc(limiter.Indicators(), func(x limiter.Indicator) bool {
		return x.Limiter == name && !x.Supports
	})
	if i < 0 {
		t.Fatalf("no indicator of %s", name)
	}
	s.o.Traces = append(s.o.Traces, limiter.Trace{Indicator: i, Role: role, Values: s.of(f)})
	return s
}

// A seen is a trace of a limiter on a role.
type seen struct {
	name, role string
	f          func(load float64) float64
}

func (s *scene) seeAll(t *testing.T, all []seen) *scene {
	t.Helper()
	for _, x := range all {
		s.see(t, x.name, x.role, x.f)
	}
	return s
}

func (s *scene) limiter() limiter.Limiter { return limiter.Diagnose(limiter.Indicators(), s.o) }

// The shapes of signals: one that is saturated at capacity, one that is far from it, one that waits
// only near it.
func full(l float64) float64  { return min(0.97*l, 1) }
func idle(l float64) float64  { return 0.3 * l }
func queue(l float64) float64 { return 0.8 * math.Pow(min(l, 1.1), 8) }

// flat is the same at every load.
func flat(v float64) func(float64) float64 { return func(float64) float64 { return v } }

func TestDiagnose(t *testing.T) {
	for _, tt := range []struct {
		name       string
		seen       []seen
		want       string
		confidence string
		also       func(s *scene)
	}{
		{"cores of its own", []seen{{"cpu", "app", full}, {"cpu", "db", idle}}, "cpu app", limiter.High, nil},
		{"shared cores name who uses them", []seen{{"cpu", "target", full}}, "cpu app", limiter.High, nil},
		{"shared cores, the database uses them", []seen{{"cpu", "target", full}}, "cpu db", limiter.High, func(s *scene) {
			s.cores("db", 2)
		}},
		{"every role sees the same cores", []seen{{"cpu", "app", full}, {"cpu", "db", full}, {"cpu", "proxy", full}}, "cpu app", limiter.High, nil},
		{"quota before the cores", []seen{{"cpu", "app", full}, {"cpu-quota", "app", queue}}, "cpu-quota app", limiter.High, nil},
		{"a pool waits for its throttled database", []seen{{"db-pool", "app", queue}, {"cpu-quota", "db", queue}}, "cpu-quota db", limiter.High, nil},
		{"a pool by itself", []seen{{"db-pool", "app", queue}, {"cpu", "db", idle}, {"cpu", "app", idle}}, "db-pool app", limiter.High, nil},
		{"locks fill the pool", []seen{{"db-pool", "app", queue}, {"db-locks", "db", queue}}, "db-locks db", limiter.High, nil},
		{"a slow disk holds locks", []seen{{"db-pool", "app", queue}, {"db-locks", "db", queue}, {"disk", "db", queue}}, "disk db", limiter.High, nil},
		{"collection takes the CPU", []seen{{"cpu", "app", full}, {"gc", "app", queue}}, "gc app", limiter.High, nil},
		{"mutex", []seen{{"app-locks", "app", queue}, {"cpu", "app", idle}}, "app-locks app", limiter.High, nil},
		{"mutex waits of a busy core", []seen{{"app-locks", "app", queue}, {"cpu", "app", full}}, "cpu app", limiter.High, nil},
		{"a full backlog looks like loss", []seen{{"network-loss", "proxy", queue}, {"accept-backlog", "app", queue}}, "accept-backlog app", limiter.High, nil},
		{"a full backlog, unevenly", []seen{{"network-loss", "proxy", queue}, {"accept-backlog", "app", flat(16)}}, "accept-backlog app", limiter.Medium, nil},
		{"the ring loses segments", []seen{{"network-loss", "app", queue}, {"nic-ring", "proxy", queue}}, "nic-ring proxy", limiter.High, nil},
		{"loss seen by both neighbors of the proxy", []seen{{"network-loss", "app", queue}, {"network-loss", "", queue}}, "network-loss proxy", limiter.High, nil},
		{"loss between app and database", []seen{{"network-loss", "db", queue}}, "network-loss db", limiter.High, nil},
		{"loss ranks before use", []seen{{"cpu", "db", full}, {"network-loss", "app", queue}}, "network-loss app", limiter.High, nil},
		{"files", []seen{{"fd-limit", "app", func(l float64) float64 {
			return min(l, 1)
		}}}, "fd-limit app", limiter.High, nil},
		{"nothing is saturated", []seen{{"cpu", "app", idle}, {"db-pool", "app", flat(0.001)}}, "UNKNOWN", "", nil},
		{"high at every load does not follow it", []seen{{"db-locks", "db", flat(0.28)}, {"accept-backlog", "app", flat(0.5)}}, "UNKNOWN", "", nil},
		{"saturated from the beginning", []seen{{"cpu", "app", flat(0.99)}}, "cpu app", limiter.Medium, nil},
		{"two rivals", []seen{{"db-locks", "db", queue}, {"app-locks", "app", queue}}, "app-locks app", limiter.Medium, nil},
		{"nobody watched the proxy", []seen{{"cpu", "app", full}}, "cpu app", limiter.Medium, func(s *scene) {
			s.o.Roles = append(s.o.Roles, "proxy")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene().seeAll(t, tt.seen)
			if tt.also != nil {
				tt.also(s)
			}
			l := s.limiter()
			if l.Name != tt.want || l.Confidence != tt.confidence {
				t.Errorf(
					"named %q with confidence %q, want %q, %q\n%s\nothers %+v\ndoubts %q",
					l.Name,
					l.Confidence,
					tt.want,
					tt.confidence,
					l.Sentence,
					l.Others,
					l.Doubts,
				)
			}
			if l.Advice == "" || l.Sentence == "" {
				t.Errorf("no advice or no sentence: %+v", l)
			}
			// The order in which series come is chance; the name is not.
			slices.Reverse(s.o.Traces)
			if again := s.limiter(); again.Name != l.Name ||
				!reflect.DeepEqual(again.Doubts, l.Doubts) {
				t.Errorf("with the traces in another order: %q %q", again.Name, again.Doubts)
			}
		})
	}
}

// TestDiagnoseRuleOfCPU has a rule that limits the cores by itself: a disk that is waited for as
// well did not break it.
func TestDiagnoseRuleOfCPU(t *testing.T) {
	for rule, want := range map[string]string{
		"cpu(app) < 85%": "cpu app",
		"p99(op) < 2s":   "disk db",
	} {
		s := newScene().see(t, "cpu", "app", full).see(t, "disk", "db", queue)
		s.o.Rule = rule
		if l := s.limiter(); l.Name != want || len(l.Others) != 1 {
			t.Errorf(
				"%s: named %q, want %q, and the other beside it: %+v",
				rule,
				l.Name,
				want,
				l.Others,
			)
		}
	}
	s := newScene().see(t, "cpu", "app", full).see(t, "gc", "app", queue)
	s.o.Rule = "cpu(app) < 85%"
	if l := s.limiter(); l.Name != "gc app" {
		t.Errorf("named %q, want the collection that takes the CPU time", l.Name)
	}
}

// TestDiagnoseRuleOfCPUWithoutADose has cores whose use the broken rule limits, without a dose
// response: below the limit of the indicator, at one level of load, or without samples at capacity.
func TestDiagnoseRuleOfCPUWithoutADose(t *testing.T) {
	const rule = "cpu(app) < 70%"
	for _, tt := range []struct {
		name       string
		use        func(load float64) float64 // nil without samples at capacity
		confidence string
	}{
		{"below the indicator's limit", func(l float64) float64 {
			return 0.72 - 0.1*math.Abs(l-1)
		}, limiter.Medium},
		{"falling until the capacity", func(l float64) float64 {
			if l < 0.95 {
				return 0.75 - 0.1*l
			}
			return 0.85
		}, limiter.Medium},
		{"not watched", nil, limiter.Low},
	} {
		s := newScene().see(t, "disk", "db", flat(0.01)).see(t, "cpu", "db", idle)
		if tt.use != nil {
			s.see(t, "cpu", "app", tt.use)
		}
		s.o.Rule = rule
		if l := s.limiter(); l.Name != "cpu app" || l.Confidence != tt.confidence ||
			!strings.Contains(l.Sentence+strings.Join(l.Doubts, " "), rule) ||
			l.Advice == "" {
			t.Errorf(
				"%s: named %q with confidence %q: %s %q",
				tt.name,
				l.Name,
				l.Confidence,
				l.Sentence,
				l.Doubts,
			)
		}
		s.o.Reached, s.o.Failed = false, "9 of 10 operations failed"
		if l := s.limiter(); l.Name != limiter.LimitUnknown {
			t.Errorf("%s: a rule that did not end the run names %q", tt.name, l.Name)
		}
	}
}

// TestDiagnoseWithout checks the text when no limiter can be named.
func TestDiagnoseWithout(t *testing.T) {
	s := newScene().see(t, "cpu", "app", full)
	s.o.Generator = []string{"core: 96 %"}
	if l := s.limiter(); l.Name != limiter.LimitGenerator ||
		!strings.Contains(l.Sentence, "LIMITED BY LOAD GENERATOR: core: 96 %") {
		t.Errorf("the generator comes first, not %+v", l)
	}
	s.o.Foreign = true
	if l := s.limiter(); l.Name != limiter.LimitHost || !strings.Contains(l.Sentence, "OTHERS") {
		t.Errorf("somebody else, not %+v", l)
	}
	s.o.Generator = nil
	s.o.Reached = false
	s.o.Why = "the search reached max_users"
	if l := s.limiter(); l.Name != limiter.LimitNone ||
		!strings.Contains(l.Sentence, "reached max_users") {
		t.Errorf("nothing stopped it, and yet %+v", l)
	}
}

// TestDiagnoseAtTheEdge has an estimate beyond all that the search tried for long: who broke the
// rule was at capacity.
func TestDiagnoseAtTheEdge(t *testing.T) {
	s := newScene()
	s.see(t, "cpu-quota", "app", queue)
	s.o.Capacity = 1.2 * sceneCapacity
	if got := s.limiter(); got.Name != "cpu-quota app" {
		t.Errorf("%s: %s", got.Name, got.Sentence)
	}
	s.o.Broken = make([]bool, len(s.o.Users)) // nothing broke below it, so nothing of it was seen
	if got := s.limiter(); got.Name != limiter.LimitUnknown {
		t.Errorf("without time at capacity: %s: %s", got.Name, got.Sentence)
	}
}

// TestDiagnoseOnThePath has loss of which the app sees too little for a dose response.
func TestDiagnoseOnThePath(t *testing.T) {
	s := newScene().see(t, "network-loss", "app", flat(0.0005)).see(t, "network-loss", "", queue)
	if got := s.limiter(); got.Name != "network-loss proxy" {
		t.Errorf("%s: %s", got.Name, got.Sentence)
	}
	s = newScene().see(t, "network-loss", "", queue).see(t, "network-loss", "app", flat(0))
	if got := s.limiter(); got.Name != "network-loss host" {
		t.Errorf("loss that only the generator sees: %s: %s", got.Name, got.Sentence)
	}
	// It and the proxy lose the packets between them; packets of the app arrive.
	s.see(t, "network-loss", "proxy", queue)
	if got := s.limiter(); got.Name != "network-loss proxy" || len(got.Others) > 0 {
		t.Errorf(
			"loss between generator and proxy: %s, others %v: %s",
			got.Name,
			got.Others,
			got.Sentence,
		)
	}
}

// TestDiagnoseSlowToEmpty has a queue that fills beyond the capacity and stays full while the users
// are taken back, to a fifth below it.
func TestDiagnoseSlowToEmpty(t *testing.T) {
	s := newScene()
	up := len(s.o.Users) - 120
	for i := up; i < len(s.o.Users); i++ {
		s.o.Users[i] = sceneCapacity * (0.8 + 0.2*float64(i-up)/120)
		s.o.Broken[i] = true
	}
	s.see(t, "db-locks", "db", queue)
	v := s.o.Traces[0].Values
	for i := up; i < len(v); i++ {
		v[i] = 1.5 - 0.5*float64(i-up)/120 // the fuller the fewer users there are
	}
	if got := s.limiter(); got.Name != "db-locks db" || got.Evidence[0].Rho == nil ||
		*got.Evidence[0].Rho < 0.9 {
		t.Errorf("%s, %s: %s", got.Name, got.Confidence, got.Sentence)
	}
}

// TestDiagnoseOneCore has a core that three probes see with noise of their own: whichever of them
// is beyond doubt, the role that uses most of it is named.
func TestDiagnoseOneCore(t *testing.T) {
	for _, clear := range []string{"db", "proxy"} {
		s := newScene()
		for _, role := range []string{"app", "db", "proxy"} {
			s.see(t, "cpu", role, full)
			if v := s.o.Traces[len(s.o.Traces)-1].Values; role != clear {
				for i := range v {
					v[i] += 0.2 * s.rng.NormFloat64()
				}
			}
		}
		if got := s.limiter(); got.Name != "cpu app" {
			t.Errorf("%s is clear: %s, %s", clear, got.Name, got.Sentence)
		}
	}
}

// TestDiagnoseNearOnly has levels of load that all lie near the capacity: they show no dose
// response.
func TestDiagnoseNearOnly(t *testing.T) {
	s := newScene()
	for i := range s.o.Users {
		s.o.Users[i] = sceneCapacity * (1 + 0.14*math.Sin(float64(i)/9))
		s.o.Broken[i] = s.o.Users[i] > sceneCapacity
	}
	s.see(t, "cpu-quota", "app", func(l float64) float64 { return 0.7 - 0.3*(l-1) })
	if got := s.limiter(); got.Name != "cpu-quota app" || got.Confidence == limiter.High {
		t.Errorf("%s, %s: %s", got.Name, got.Confidence, got.Sentence)
	}
}

// TestDiagnoseLittle expects low confidence of a run that went to its capacity at once and stayed
// there.
func TestDiagnoseLittle(t *testing.T) {
	s := newScene()
	for i := range s.o.Users {
		s.o.Users[i], s.o.Broken[i] = sceneCapacity, true
	}
	s.see(t, "db-locks", "db", queue)
	l := s.limiter()
	if l.Name != "db-locks db" || l.Confidence != limiter.Low || len(l.Doubts) != 2 {
		t.Errorf("named %q with confidence %q for %q", l.Name, l.Confidence, l.Doubts)
	}
}

// TestDiagnoseMissing expects an indicator without data at capacity to neither accuse nor
// exonerate.
func TestDiagnoseMissing(t *testing.T) {
	s := newScene().see(t, "cpu", "app", full)
	for i, u := range s.o.Users {
		if u > 0.9*sceneCapacity {
			s.o.Traces[0].Values[i] = math.NaN()
		}
	}
	l := s.limiter()
	if l.Name != limiter.LimitUnknown || len(l.Exonerated) > 0 ||
		!strings.Contains(l.Sentence, "no signal has 5 samples at capacity") {
		t.Errorf("%q, exonerated %v: %s", l.Name, l.Exonerated, l.Sentence)
	}
}

// TestDiagnoseCoresThatOthersFill has full cores of which the system uses a part: below half of the
// use there, others are named, and waiting for a core is their symptom; below 0.8 they are named
// where something waits, which may be the cause or their symptom. Where it is not known who uses
// them, the role is.
func TestDiagnoseCoresThatOthersFill(t *testing.T) {
	for _, tt := range []struct {
		name string
		app  float64 // cores that it uses at capacity; 0 for not watched
		busy float64 // cores that processes use where it runs; 0 for not watched
		more string  // a limiter that qualifies too
		want string
	}{
		{"a neighbor has most", 0.3, 1, "", "host"},
		{"a neighbor has some", 0.7, 1, "", "cpu app"},
		{"nobody knows who else is there", 0.3, 0, "", "cpu app"},
		{"nobody watched the app", 0, 1, "", "cpu app"},
		{"mutex waits of a core that others have", 0.3, 1, "app-locks", "host"},
		{"a full pool, and a neighbor has some", 0.55, 1, "db-pool", "host"},
		{"a full pool behind the app's own core", 0.9, 1, "db-pool", "cpu app"},
		{"loss, and a neighbor has some", 0.55, 1, "network-loss", "network-loss app"},
		{"loss is no symptom of them", 0.3, 1, "network-loss", "network-loss app"},
	} {
		s := newScene().see(t, "cpu", "app", flat(0.9))
		s.o.CPU = map[string][]float64{}
		if tt.app > 0 {
			s.cores("app", tt.app)
		}
		if tt.busy > 0 {
			s.o.Busy = map[string][]float64{"app": s.of(flat(tt.busy))}
		}
		if tt.more != "" {
			s.see(t, tt.more, "app", queue)
		}
		got := s.limiter()
		if got.Name != tt.want || got.Advice == "" {
			t.Errorf("%s: named %q, want %q: %s", tt.name, got.Name, tt.want, got.Sentence)
		}
		if others := strings.HasPrefix(got.Sentence, "LIMITED BY OTHERS ON THE HOST: app: its cores are busy"); others != (tt.want == "host") {
			t.Errorf("%s: %s", tt.name, got.Sentence)
		}
	}
}

// TestDiagnoseCoresThatRolesShareUnevenlyRead has an app, a proxy and a database that fill a core
// together, of which none has half, and whose agents read it differently: no other process does.
func TestDiagnoseCoresThatRolesShareUnevenlyRead(t *testing.T) {
	s := newScene().see(t, "cpu", "app", flat(0.9)).
		see(t, "cpu", "db", flat(0.86)).
		see(t, "cpu", "proxy", flat(0.94))
	s.o.Busy = map[string][]float64{}
	for role, v := range map[string]float64{"app": 0.35, "db": 0.25, "proxy": 0.25} {
		s.cores(role, v)
		s.o.Busy[role] = s.of(flat(0.85 + v/10))
	}
	if got := s.limiter(); got.Kind != limiter.LimitCPU {
		t.Errorf("named %q: %s", got.Name, got.Sentence)
	}
	delete(s.o.CPU, "proxy") // it is there, and its use is unknown
	s.cores("app", 0.2)
	if got := s.limiter(); got.Kind == limiter.LimitHost {
		t.Errorf("named %q: %s", got.Name, got.Sentence)
	}
}

// TestDiagnosePoolsOfTheApp has pools beside that of the database: each is named where it fills,
// and is a symptom of the resource that it waits for.
func TestDiagnosePoolsOfTheApp(t *testing.T) {
	catalog := limiter.Indicators()
	at := map[string]int{}
	for _, name := range []string{limiter.LimitWorkers, limiter.LimitOutbound} {
		at[name] = len(catalog)
		catalog = append(catalog, limiter.Indicator{
			Limiter: name,
			Rank:    limiter.Saturation,
			What:    "waits",
			Limit:   0.05,
			Unit:    "ratio",
		})
	}
	for _, tt := range []struct {
		pools []string
		cause string // "" or a limiter of the catalog, on role
		role  string
		want  string
	}{
		{[]string{limiter.LimitWorkers}, "", "", "workers app"},
		{[]string{limiter.LimitOutbound}, "", "", "outbound-pool app"},
		{[]string{limiter.LimitWorkers, limiter.LimitOutbound}, "", "", "outbound-pool app"},
		{[]string{limiter.LimitWorkers}, "db-pool", "app", "db-pool app"},
		{[]string{limiter.LimitWorkers}, "db-locks", "db", "db-locks db"},
		{[]string{limiter.LimitWorkers, limiter.LimitOutbound}, "cpu-quota", "app", "cpu-quota app"},
	} {
		s := newScene().see(t, "cpu", "app", idle)
		for _, p := range tt.pools {
			s.o.Traces = append(s.o.Traces, limiter.Trace{
				Indicator: at[p],
				Role:      "app",
				Values:    s.of(queue),
			})
		}
		if tt.cause != "" {
			s.see(t, tt.cause, tt.role, queue)
		}
		if got := limiter.Diagnose(catalog, s.o); got.Name != tt.want || got.Advice == "" {
			t.Errorf(
				"%v and %q: named %q, want %q: %s",
				tt.pools,
				tt.cause,
				got.Name,
				tt.want,
				got.Sentence,
			)
		}
	}
}

func TestIndicators(t *testing.T) {
	for _, x := range limiter.Indicators() {
		if x.Limit <= 0 || x.What == "" || !strings.Contains(x.Query, "role") {
			t.Errorf("%s: %+v", x.Limiter, x)
		}
	}
}

func TestSizingLimit(t *testing.T) {
	l := &limiter.Limiter{
		Name:     "db-pool app",
		Kind:     limiter.LimitPool,
		Sentence: "Limited by db-pool app: full.",
	}
	for _, tt := range []struct{ name, want string }{
		{sizing.UnknownBound, "Limited by db-pool app: full."},
		{sizing.CPUBound, "S. By the evidence of its steps: limited by db-pool app: full."},
		{sizing.ProxyBound, "S."}, {sizing.FailuresBound, "S."},
	} {
		s := sizing.Result{Bottleneck: sizing.Bottleneck{Name: tt.name, Sentence: "S."}}
		if s.Limit(l, nil); s.Bottleneck.Sentence != tt.want || s.Limiter != l {
			t.Errorf("%s: %q, want %q", tt.name, s.Bottleneck.Sentence, tt.want)
		}
	}
	s := sizing.Result{Bottleneck: sizing.Bottleneck{Name: sizing.UnknownBound, Sentence: "S."}}
	if s.Limit(&limiter.Limiter{
		Kind:     limiter.LimitUnknown,
		Sentence: "UNKNOWN",
	}, nil); s.Bottleneck.Sentence != "S." {
		t.Errorf("an unknown limiter became %q", s.Bottleneck.Sentence)
	}
}
