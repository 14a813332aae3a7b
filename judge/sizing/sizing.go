package sizing

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/judge/limiter"
	"plimsoll/plan"
)

// A Grade rates a load step as its users feel it.
type Grade string

// The grades, best first.
const (
	Excellent  Grade = "Excellent"
	Good       Grade = "Good"
	Acceptable Grade = "Acceptable"
	Borderline Grade = "Borderline"
	Poor       Grade = "Poor"
)

var grades = []Grade{Excellent, Good, Acceptable, Borderline, Poor}

// AtLeast reports whether g is as good as other. No grade ("") is as good as nothing.
func (g Grade) AtLeast(other Grade) bool {
	i := slices.Index(grades, g)
	return i >= 0 && i <= slices.Index(grades, other)
}

// The limits of the grades, in milliseconds, and the part of failed operations that costs one. They
// are those that the self-hosters' table of small machines was graded by.
const (
	excellentP99  = 100
	goodP99       = 200
	acceptableP99 = 500
	borderlineP99 = 2000
	borderlineP50 = 100
	tooManyFail   = 0.01
	mostFail      = 0.5
	fewestGraded  = 100 // operations, of which a p99 can be taken
)

// GradeOf returns the grade of a step by its median and 99th percentile in milliseconds and the
// part of its operations that failed, and the rule that gave it.
func GradeOf(p50, p99, failures float64) (Grade, string) {
	if failures > mostFail {
		return Poor, fmt.Sprintf("%s failed, more than half", percentText(failures))
	}
	var g Grade
	var rule string
	switch {
	case p99 <= excellentP99:
		g, rule = Excellent, fmt.Sprintf("p99 %s <= 100 ms", msText(p99))
	case p99 <= goodP99:
		g, rule = Good, fmt.Sprintf("p99 %s <= 200 ms", msText(p99))
	case p99 <= acceptableP99:
		g, rule = Acceptable, fmt.Sprintf("p99 %s <= 500 ms", msText(p99))
	case p99 <= borderlineP99 && p50 <= borderlineP50:
		g = Borderline
		rule = fmt.Sprintf("p99 %s <= 2 s with a median of %s <= 100 ms", msText(p99), msText(p50))
	case p99 <= borderlineP99:
		g, rule = Poor, fmt.Sprintf("median %s > 100 ms", msText(p50))
	default:
		g, rule = Poor, fmt.Sprintf("p99 %s > 2 s", msText(p99))
	}
	if failures > tooManyFail && g != Poor {
		g = grades[slices.Index(grades, g)+1]
		rule += fmt.Sprintf(", one grade less for failures of %s > 1 %%", percentText(failures))
	}
	return g, rule
}

// msText writes milliseconds so that a value beyond a limit does not look like the limit.
func msText(ms float64) string {
	switch {
	case ms >= 9950:
		return fmt.Sprintf("%.1f s", ms/1000)
	case ms > 100:
		r := math.Round(ms)
		if r < ms-1e-9 && slices.Contains([]float64{100, 200, 500, 2000}, r) {
			r++
		}
		return fmt.Sprintf("%.0f ms", r)
	}
	return fmt.Sprintf("%.3g ms", ms)
}

func percentText(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }

// A Step holds the measurements of one load step. Times are in milliseconds and unknown where no
// operation succeeded; rates are unknown where Count is 0.
type Step struct {
	Run   string `json:"run"`
	Users int    `json:"users"`
	// Valid reports whether the run is valid; Why is the reason if it is not.
	Valid bool   `json:"valid"`
	Why   string `json:"why,omitempty"`
	// Count is the number of operations that ended; Throughput is per second.
	Count      uint64  `json:"count"`
	Throughput float64 `json:"per_second"`
	P50        float64 `json:"p50_ms"`
	P95        float64 `json:"p95_ms"`
	P99        float64 `json:"p99_ms"`
	Max        float64 `json:"max_ms"`
	// Failures is the part of the operations that failed, Classes counts those by class, and Proxy
	// lists interventions between users and server, such as showing a challenge page.
	Failures float64           `json:"failures"`
	Classes  map[string]uint64 `json:"failures_by_class,omitempty"`
	Proxy    []string          `json:"proxy,omitempty"`
	// CPU is the use of the target in percent of one core, by role; Memory the most bytes that it
	// held, by role. Roles that are not seen are missing.
	CPU    map[string]float64 `json:"cpu_percent,omitempty"`
	Memory map[string]float64 `json:"memory_bytes,omitempty"`
	// Grade is empty for a step that carries none; Rule is the rule that gave it, or the reason why
	// there is none. Size sets both.
	Grade Grade  `json:"grade,omitempty"`
	Rule  string `json:"rule"`
}

// Succeeded reports whether any operation did, so that the times are known.
func (s Step) Succeeded() bool { return s.Count > 0 && s.Failures < 1 }

func sum(m map[string]float64) (v float64, ok bool) {
	for _, x := range m {
		v += x
	}
	return v, len(m) > 0
}

// TotalCPU returns the use of all roles in percent of one core, and false if none is seen.
func (s Step) TotalCPU() (float64, bool) { return sum(s.CPU) }

// TotalMemory returns the bytes of all roles, and false if none is seen.
func (s Step) TotalMemory() (float64, bool) { return sum(s.Memory) }

func (s Step) grade() (Grade, string) {
	switch {
	case !s.Valid:
		return "", "not valid: " + s.Why
	case len(s.Proxy) > 0 && s.Failures > tooManyFail:
		return "", "not the server's answers: " + s.Proxy[0]
	case s.Count < fewestGraded:
		return "", fmt.Sprintf("%d operations are too few for a p99; hold the step longer", s.Count)
	}
	return GradeOf(s.P50, s.P99, s.Failures)
}

// A Machine describes the host of the target; 0 is unknown.
type Machine struct {
	Name   string  `json:"name,omitempty"`
	Cores  float64 `json:"cores,omitempty"`
	Memory float64 `json:"memory_bytes,omitempty"`
}

// A Level is the number of users served with a grade: the users of the highest step that has it, if
// all graded steps below have it too. Nothing is interpolated: between Users and Next nothing was
// measured.
type Level struct {
	Users int `json:"users"` // 0: not even the lowest step
	// Next is the lowest step above, which lacks the grade; 0 if there is none, and then Users is a
	// lower bound.
	Next int `json:"next,omitempty"`
	// RegisteredFrom and RegisteredTo are the registered users that this makes when 20 % and 5 % of
	// them are there at a time.
	RegisteredFrom int `json:"registered_from"`
	RegisteredTo   int `json:"registered_to"`
}

// The part of the registered users who are there at a time, from the self-hosters' table.
const (
	mostConcurrent  = 0.20
	leastConcurrent = 0.05
)

// A Result is the sizing of a machine by a ladder of load steps.
type Result struct {
	Machine Machine `json:"machine"`
	Steps   []Step  `json:"steps"`
	// Comfortable is graded Good or better, Maximum anything but Poor.
	Comfortable Level      `json:"comfortable"`
	Maximum     Level      `json:"maximum"`
	Bottleneck  Bottleneck `json:"bottleneck"`
	// Limiter is the diagnosis from the series of the steps; nil if none was requested.
	Limiter *limiter.Limiter `json:"limiter,omitempty"`
	Offers  []OfferCost      `json:"offers,omitempty"`
}

// Size grades the steps, which ascend, and draws the conclusions. offers may be empty; one of them
// is the machine, by its name, or there are no costs.
func Size(steps []Step, m Machine, offers []plan.Offer) Result {
	s := Result{Machine: m, Steps: slices.Clone(steps)}
	for i := range s.Steps {
		s.Steps[i].Grade, s.Steps[i].Rule = s.Steps[i].grade()
	}
	s.Comfortable = s.level(Good)
	s.Maximum = s.level(Borderline)
	s.Bottleneck = FindBottleneck(s.Steps, m)
	s.Offers = s.costs(offers)
	return s
}

// Limit adds the limiter that the series of the steps show; nil adds nothing. It becomes the
// bottleneck where the figures of the steps alone show none, and where they show only that the CPU
// is used up it adds whose and why. A proxy's refusal and failures stay: they are why the step was
// no better.
func (s *Result) Limit(l *limiter.Limiter, offers []plan.Offer) {
	s.Limiter = l
	if l == nil || l.Kind == limiter.LimitNone || l.Kind == limiter.LimitUnknown {
		return
	}
	b := &s.Bottleneck
	switch b.Name {
	case UnknownBound:
		b.Name, b.Sentence = l.Kind, l.Sentence
		s.Offers = s.costs(offers) // which depend on the limiter
	case CPUBound, MemoryBound:
		b.Sentence += " By the evidence of its steps: " + lowerFirst(l.Sentence)
	}
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// Graded reports whether any step carries a grade.
func (s Result) Graded() bool {
	return slices.ContainsFunc(s.Steps, func(s Step) bool { return s.Grade != "" })
}

func (s Result) level(least Grade) Level {
	var l Level
	for _, st := range s.Steps {
		if st.Grade == "" {
			continue
		}
		if !st.Grade.AtLeast(least) {
			l.Next = st.Users
			break
		}
		l.Users = st.Users
	}
	l.RegisteredFrom = int(math.Round(float64(l.Users) / mostConcurrent))
	l.RegisteredTo = int(math.Round(float64(l.Users) / leastConcurrent))
	return l
}

// A Bottleneck is the cause that kept the steps from being better, with its evidence. Name is one
// of the constants.
type Bottleneck struct {
	Name string `json:"name"`
	// Users is the step at which it shows; 0 if none.
	Users    int    `json:"users,omitempty"`
	Sentence string `json:"sentence"`
}

// Names of bottlenecks.
const (
	NotReached    = "not reached"
	CPUBound      = "cpu"
	MemoryBound   = "memory"
	FailuresBound = "failures"
	ProxyBound    = "proxy"
	UnknownBound  = "unknown"
)

const (
	// of all cores: "CPU consistently > 80 %: upgrade", in the self-hosters' table.
	cpuFull    = 0.80
	memoryFull = 0.875
)

// FindBottleneck names the bottleneck from the steps alone: refusals, failures, or a resource of
// the machine that was used up in a step below Good. It does not guess: if nothing qualifies, the
// name is [UnknownBound].
func FindBottleneck(steps []Step, m Machine) Bottleneck {
	if b, ok := refusal(steps); ok {
		return b
	}
	tight := slices.IndexFunc(steps, Step.belowGood)
	if tight < 0 {
		graded := slices.ContainsFunc(steps, func(s Step) bool { return s.Grade != "" })
		if !graded {
			return Bottleneck{UnknownBound, 0, "Unknown: no step carries a grade."}
		}
		return Bottleneck{NotReached, 0,
			"Not reached: no step was less than Good. Add steps with more users to find it."}
	}
	for _, s := range steps[tight:] {
		if !s.belowGood() {
			continue
		}
		if b, ok := exhausted(s, steps, m); ok {
			return b
		}
	}
	return unexplained(steps, steps[tight], m)
}

func (s Step) belowGood() bool { return s.Grade != "" && !s.Grade.AtLeast(Good) }

// refusal returns the first step whose operations failed by a proxy.
func refusal(steps []Step) (Bottleneck, bool) {
	for _, s := range steps {
		if len(s.Proxy) > 0 && s.Failures > tooManyFail {
			return Bottleneck{ProxyBound, s.Users, fmt.Sprintf(
				"A proxy, not the server: at %d users %s of the operations failed, with %s. "+
					"The steps say nothing about the server until the proxy lets this host "+
					"through.",
				s.Users, percentText(s.Failures), s.Proxy[0])}, true
		}
	}
	return Bottleneck{}, false
}

// exhausted returns the failures of a step, or the resource that it used up.
func exhausted(s Step, steps []Step, m Machine) (Bottleneck, bool) {
	if s.Failures > tooManyFail {
		return Bottleneck{FailuresBound, s.Users, fmt.Sprintf(
			"Failures: at %d users %s of the operations failed (%s).",
			s.Users, percentText(s.Failures), classText(s.Classes))}, true
	}
	if cpu, ok := s.TotalCPU(); ok && m.Cores > 0 && cpu >= 100*m.Cores*cpuFull-1e-9 {
		text := fmt.Sprintf("CPU: at %d users the target uses %.0f %% of one core, "+
			"which is %.0f %% of its %g cores", s.Users, cpu, cpu/m.Cores, m.Cores)
		if len(s.CPU) > 1 {
			text += " (" + roleText(s.CPU) + ")"
		}
		return Bottleneck{CPUBound, s.Users, text + memoryText(steps, m) + "."}, true
	}
	if mem, ok := s.TotalMemory(); ok && m.Memory > 0 && mem >= m.Memory*memoryFull {
		return Bottleneck{MemoryBound, s.Users, fmt.Sprintf(
			"Memory: at %d users the target holds %s of %s.",
			s.Users, bytesText(mem), bytesText(m.Memory))}, true
	}
	return Bottleneck{}, false
}

// unexplained is the bottleneck of steps that used nothing up; tight is the first below Good.
func unexplained(steps []Step, tight Step, m Machine) Bottleneck {
	text := fmt.Sprintf("Unknown: from %d users on the grade is %s, "+
		"and nothing that was measured is used up", tight.Users, tight.Grade)
	if cpu, ok := steps[len(steps)-1].TotalCPU(); !ok {
		text += "; the CPU of the target is not seen from here"
	} else if m.Cores > 0 {
		text += fmt.Sprintf("; the target uses %.0f %% of its %g cores in the last step",
			cpu/m.Cores, m.Cores)
	}
	return Bottleneck{UnknownBound, tight.Users, text + "."}
}

// memoryText reports that memory was not the bottleneck.
func memoryText(steps []Step, m Machine) string {
	most := 0.0
	for _, s := range steps {
		mem, _ := s.TotalMemory()
		most = max(most, mem)
	}
	if most == 0 {
		return ""
	}
	if m.Memory > 0 {
		return fmt.Sprintf(
			"; memory stayed at %s or less of %s",
			bytesText(most),
			bytesText(m.Memory),
		)
	}
	return fmt.Sprintf("; memory stayed at %s or less", bytesText(most))
}

func roleText(m map[string]float64) string {
	var parts []string
	for _, role := range sortedByValue(m) {
		parts = append(parts, fmt.Sprintf("%s %.0f %%", role, m[role]))
	}
	return strings.Join(parts, ", ")
}

func sortedByValue(m map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(m[b], m[a]), strings.Compare(a, b))
	})
}

func classText(classes map[string]uint64) string {
	counts := map[string]float64{}
	for c, n := range classes {
		counts[c] = float64(n)
	}
	var parts []string
	for _, c := range sortedByValue(counts) {
		parts = append(parts, fmt.Sprintf("%d %s", classes[c], c))
	}
	return strings.Join(parts, ", ")
}

func bytesText(b float64) string {
	if b >= 1<<30 {
		return fmt.Sprintf("%.2g GiB", b/(1<<30))
	}
	return fmt.Sprintf("%.0f MiB", b/(1<<20))
}
