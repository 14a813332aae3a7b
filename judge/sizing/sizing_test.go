package sizing_test

import (
	"strings"
	"testing"

	"plimsoll/judge/sizing"
	"plimsoll/plan"
)

// seedSteps are the five rows of the self-hosters' table, number by number.
func seedSteps() []sizing.Step {
	row := func(users int, rps, p50, p95, p99, most, cpu float64) sizing.Step {
		return sizing.Step{
			Users:      users,
			Valid:      true,
			Count:      uint64(600 * rps),
			Throughput: rps,
			P50:        p50,
			P95:        p95,
			P99:        p99,
			Max:        most,
			CPU:        map[string]float64{"target": cpu},
			Memory:     map[string]float64{"target": 0.9 * (1 << 30)},
		}
	}
	return []sizing.Step{
		row(50, 10, 39, 60, 80, 98, 15),
		row(200, 40, 47, 100, 150, 200, 85), row(400, 80, 46, 150, 300, 372, 130),
		row(500, 100, 46, 200, 2000, 1677, 140), row(750, 115, 1000, 3400, 4700, 9174, 160),
	}
}

func seedOffers() []plan.Offer {
	return []plan.Offer{
		{
			Name:     "CX23",
			VCPU:     2,
			Memory:   4 << 30,
			Price:    6,
			Currency: "EUR",
		}, {Name: "CPX22", VCPU: 3, Memory: 4 << 30, Price: 9, Currency: "EUR"},
		{
			Name:     "t3.medium",
			VCPU:     2,
			Memory:   4 << 30,
			Price:    30,
			Currency: "USD",
		}, {Name: "tiny", VCPU: 1, Memory: 512 << 20, Price: 3, Currency: "EUR"},
	}
}

func TestSeedGrades(t *testing.T) {
	s := sizing.Size(seedSteps(), sizing.Machine{
		Name:   "CX23",
		Cores:  2,
		Memory: 4 << 30,
	}, seedOffers())
	for i, want := range []sizing.Grade{sizing.Excellent, sizing.Good, sizing.Acceptable, sizing.Borderline, sizing.Poor} {
		if s.Steps[i].Grade != want {
			t.Errorf(
				"%d users: %s (%s), the table says %s",
				s.Steps[i].Users,
				s.Steps[i].Grade,
				s.Steps[i].Rule,
				want,
			)
		}
	}
	// "200 concurrent active users ≈ 1,000-4,000 total registered users"
	if want := (sizing.Level{
		Users:          200,
		Next:           400,
		RegisteredFrom: 1000,
		RegisteredTo:   4000,
	}); s.Comfortable != want {
		t.Errorf("comfortable %+v, want %+v", s.Comfortable, want)
	}
	if s.Maximum.Users != 500 || s.Maximum.Next != 750 {
		t.Errorf("maximum %+v", s.Maximum)
	}
	if s.Bottleneck.Name != sizing.CPUBound ||
		!strings.Contains(
			s.Bottleneck.Sentence,
			"80 % of its 2 cores; memory stayed at 922 MiB or less of 4 GiB",
		) {
		t.Errorf("%+v", s.Bottleneck)
	}
	for i, want := range []struct {
		users, per, ratio float64
		measured          bool
	}{{200, 30, 1, true}, {300, 30, 1, false}, {200, 150, 0, false}, {0, 0, 0, false}} {
		o := s.Offers[i]
		if o.Measured != want.measured || val(o.Users) != want.users ||
			val(o.Per1000) != want.per ||
			val(o.Ratio) != want.ratio ||
			o.Measured == (o.Assumption != "") {
			t.Errorf(
				"%s: %+v users %v per 1000 %v ratio %v",
				o.Name,
				o,
				val(o.Users),
				val(o.Per1000),
				val(o.Ratio),
			)
		}
	}
	if !strings.Contains(s.Offers[3].Assumption, "memory is less") {
		t.Errorf("%q", s.Offers[3].Assumption)
	}
}

func val(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}

func TestGradeOf(t *testing.T) {
	for _, tt := range []struct {
		p50, p99, failures float64
		want               sizing.Grade
		rule               string
	}{
		{10, 100, 0, sizing.Excellent, "p99 100 ms <= 100 ms"},
		{10, 100.01, 0, sizing.Good, "p99 101 ms"},
		{10, 200, 0.01, sizing.Good, "<= 200 ms"},
		{10, 200, 0.0101, sizing.Acceptable, "one grade less for failures of 1.01 %"},
		{10, 500, 0, sizing.Acceptable, ""},
		{100, 500.1, 0, sizing.Borderline, "median"},
		{100, 2000, 0, sizing.Borderline, ""},
		{100, 2000, 0.02, sizing.Poor, "one grade less"},
		{100.1, 600, 0, sizing.Poor, "median 101 ms > 100 ms"},
		{100, 2000.1, 0, sizing.Poor, "p99 2001 ms > 2 s"},
		{100, 12000, 0.02, sizing.Poor, "p99 12.0 s > 2 s"},
		{1, 2, 0.51, sizing.Poor, "more than half"},
		{150, 300, 0, sizing.Acceptable, ""}, // the median counts from Borderline on
	} {
		g, rule := sizing.GradeOf(tt.p50, tt.p99, tt.failures)
		if g != tt.want || !strings.Contains(rule, tt.rule) {
			t.Errorf(
				"p50 %v, p99 %v, failures %v: %s (%s), want %s (%s)",
				tt.p50,
				tt.p99,
				tt.failures,
				g,
				rule,
				tt.want,
				tt.rule,
			)
		}
	}
}

func TestStepsWithoutGrade(t *testing.T) {
	steps := seedSteps()
	steps[1].Valid, steps[1].Why = false, "lag: the generator was late"
	steps[2].Count = 99
	s := sizing.Size(steps, sizing.Machine{}, nil)
	if s.Steps[1].Grade != "" || !strings.Contains(s.Steps[1].Rule, "the generator was late") {
		t.Errorf("%+v", s.Steps[1])
	}
	if s.Steps[2].Grade != "" || !strings.Contains(s.Steps[2].Rule, "too few") {
		t.Errorf("%+v", s.Steps[2])
	}
	if s.Comfortable.Users != 50 || s.Comfortable.Next != 500 || s.Maximum.Users != 500 {
		t.Errorf("comfortable %+v, maximum %+v", s.Comfortable, s.Maximum)
	}
	if s.Bottleneck.Name != sizing.UnknownBound { // without cores, CPU shows nothing
		t.Errorf("%+v", s.Bottleneck)
	}
	if s.Offers != nil {
		t.Errorf("%+v", s.Offers)
	}
	for i := range steps {
		steps[i].Valid = false
	}
	if s := sizing.Size(steps, sizing.Machine{}, nil); s.Graded() ||
		s.Bottleneck.Name != sizing.UnknownBound ||
		s.Comfortable.Users != 0 {
		t.Errorf("%+v", s)
	}
}

func TestBottleneck(t *testing.T) {
	machine := sizing.Machine{Name: "CX23", Cores: 2, Memory: 4 << 30}
	for _, tt := range []struct {
		name   string
		change func([]sizing.Step) []sizing.Step
		want   string
		in     string
	}{
		{"cpu", func(s []sizing.Step) []sizing.Step { return s }, sizing.CPUBound, "at 750 users"},
		{"below the knee", func(s []sizing.Step) []sizing.Step {
			return s[:2]
		}, sizing.NotReached, "Add steps"},
		{"idle", func(s []sizing.Step) []sizing.Step {
			for i := range s {
				s[i].CPU = map[string]float64{"app": 20}
			}
			return s
		}, sizing.UnknownBound, "uses 10 % of its 2 cores"},
		{"unseen", func(s []sizing.Step) []sizing.Step {
			for i := range s {
				s[i].CPU = nil
			}
			return s
		}, sizing.UnknownBound, "not seen"},
		{"memory", func(s []sizing.Step) []sizing.Step {
			s[4].CPU, s[4].Memory = nil, map[string]float64{"db": 3.6 * (1 << 30)}
			return s
		}, sizing.MemoryBound, "3.6 GiB of 4 GiB"},
		{"failures", func(s []sizing.Step) []sizing.Step {
			s[4].Failures, s[4].Classes = 0.05, map[string]uint64{"5xx": 7, "timeout": 90}
			return s
		}, sizing.FailuresBound, "90 timeout, 7 5xx"},
		{"proxy", func(s []sizing.Step) []sizing.Step {
			s[1].Failures, s[1].Proxy = 0.9, []string{"status 403 challenge page of a proxy"}
			return s
		}, sizing.ProxyBound, "challenge page"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := sizing.Size(tt.change(seedSteps()), machine, nil)
			if s.Bottleneck.Name != tt.want || !strings.Contains(s.Bottleneck.Sentence, tt.in) {
				t.Errorf("%+v", s.Bottleneck)
			}
		})
	}
	steps := seedSteps()
	steps[1].Failures, steps[1].Proxy = 0.9, []string{"status 429 too many requests"}
	if s := sizing.Size(steps, machine, nil); s.Steps[1].Grade != "" ||
		!strings.Contains(s.Steps[1].Rule, "429") {
		t.Errorf("a step of a proxy's answers: %+v", s.Steps[1])
	}
}

func TestOffersWithoutCPU(t *testing.T) {
	s := sizing.Size(seedSteps()[:2], sizing.Machine{Name: "CX23", Cores: 2}, seedOffers())
	if o := s.Offers[1]; val(o.Users) != 200 || !o.AtLeast ||
		!strings.Contains(o.Assumption, "not shown") {
		t.Errorf("a larger offer: %+v", o)
	}
	offers := seedOffers()
	offers[3].Memory = 4 << 30
	s = sizing.Size(seedSteps()[:2], sizing.Machine{Name: "CX23", Cores: 2}, offers)
	if o := s.Offers[3]; o.Users != nil || !strings.Contains(o.Assumption, "smaller") {
		t.Errorf("a smaller offer: %+v", o)
	}
}
