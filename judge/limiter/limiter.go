package limiter

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plimsoll/stats"
)

// The rule's own constants. The first three are the survey's (the attribution rule after 5.2).
const (
	baseLoad    = 0.7 // of the capacity: up to here is the baseline
	significant = 4.0 // robust z of the indicator at capacity against the baseline
	doseRho     = 0.8 // Spearman's coefficient of indicator and load
	doseFrom    = 0.8 // of the capacity: levels that all lie above show no dose response
	// the same of a loss, which comes in bursts and is next to nothing without a cause.
	lossRho     = 0.5
	nearLoad    = 0.97 // of the capacity: from here is "at capacity"
	nearAtLeast = 0.9  // the same for a search that was seldom there
	fewestAt    = 5    // samples at capacity, and of the baseline
	noiseLag    = 5    // samples between two readings whose rate windows hardly overlap
	fewestBins  = 4    // levels of load, for a dose response
	equalUse    = 0.02 // of busy cores: readings of the same cores by two probes differ by less
	alikeUse    = 0.10 // of the use of the cores of two roles: the cores may be the same
	fullUse     = 0.95 // of busy cores, from which on they may be why something is lost
	// of the use of busy cores: a watched system that uses less does not fill them; one that uses
	// less than aloneShare does not fill them alone.
	ownShare     = 0.5
	aloneShare   = 0.8
	mostFailures = 0.5 // of the failed operations: at so many, refusals broke the rule
	// a role with less than this part of the largest consumer's CPU only shares its cores.
	cpuMinor = 0.5
)

// loadBins are the levels of load, in parts of the capacity, over which a dose response is judged.
var loadBins = []float64{0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 1.03, math.Inf(1)}

// A Trace is an indicator over a run, for one role, on the clock of [Observed]. NaN is a missing
// value.
type Trace struct {
	Indicator int // in the catalog that [Diagnose] is given
	Role      string
	Values    []float64
	Dose      []float64 // nil when that is Values
}

// Observed holds the signals and the outcome of a run, sampled at one clock.
type Observed struct {
	Users []float64 // active, per sample
	// Broken is true for each sample at which the rule that ended the search did not hold; nil if
	// unknown.
	Broken []bool
	// Capacity is the place where the evidence is taken: the estimate of a search, the users of a
	// bounded test.
	Capacity float64
	// Reached is true if something stopped the run: a search that ended at a violated rule, a
	// bounded test with a broken one.
	Reached bool
	// Rule is the one that ended it; Why is the reason why none did, if Reached is false.
	Rule, Why string
	// Void is the reason why the run is not valid; "" for a valid run. No limiter is named for a
	// void run.
	Void string
	// Failed describes the failed operations if there were more than supported users may have; ""
	// otherwise. If set, something limited the run, even if another event ended it.
	Failed string
	// Failures are the parts of these that are the doing of a limiter, by its name: refused ones,
	// cut ones.
	Failures map[string]float64
	// AllFailed describes the failed operations of a run if nearly all failed, and Cause the
	// first of them; "" otherwise.
	AllFailed, Cause string
	// Generator holds the red findings of the gates of the run's health that the target alone
	// cannot turn red, as texts; Foreign is true if they are about other processes on the hosts and
	// not about the generator.
	Generator []string
	Foreign   bool
	// Crowd holds the users of the generator's cores where it used few of them itself, or where
	// Foreign is true; nil where its own use was high, or is not known.
	Crowd  *Crowd
	Traces []Trace
	// CPU holds the cores in use by role, per sample: who uses cores that several share.
	CPU map[string][]float64
	// Busy holds the cores that all processes use where a role runs, by role, per sample; a missing
	// role is unknown.
	Busy map[string][]float64
	// Shared names the cores that several roles share, as a role of the CPU indicators ("target");
	// "" when there are none.
	Shared string
	// Roles are those that the system under test has.
	Roles []string
}

// Evidence is the reading of one indicator.
type Evidence struct {
	Limiter string  `json:"limiter"`
	Role    string  `json:"role,omitempty"`
	What    string  `json:"what"`
	Unit    string  `json:"unit,omitempty"`
	Limit   float64 `json:"limit"`
	// At is its mean at capacity, Base its median at up to 0.7 of it (nil where the run has too
	// little of that).
	At   float64  `json:"at_capacity"`
	Base *float64 `json:"below,omitempty"`
	// Z is the robust distance of both, Rho Spearman's coefficient with the load over Levels
	// levels; nil where unknown.
	Z      *float64 `json:"z,omitempty"`
	Rho    *float64 `json:"rho,omitempty"`
	Levels int      `json:"levels,omitempty"`
	// High is true if the value at capacity is at or above the limit; Qualifies, if it also rose
	// with the load.
	High      bool `json:"high"`
	Qualifies bool `json:"qualifies"`

	rank     Rank
	supports bool
	uneven   string // why it qualifies without a dose response of its own; "" when it has one
}

// A Suspect is a limiter that qualified on a role but is not named first.
type Suspect struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// The confidence that a limiter is the right one.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// A Limiter is the resource or fault that stopped a run, as far as its series show it.
type Limiter struct {
	// Name is the kind and the role ("cpu-quota db"), or one of [LimitGenerator], [LimitUnknown],
	// [LimitNone].
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Role       string `json:"role,omitempty"`
	Confidence string `json:"confidence,omitempty"`
	Sentence   string `json:"sentence"`
	// Doubts lists the reasons that lower the confidence.
	Doubts   []string   `json:"doubts,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Others qualified too: symptoms of the one named, and rivals.
	Others []Suspect `json:"others,omitempty"`
	// Exonerated are the indicators that were seen and stayed below their limits, or did not follow
	// the load.
	Exonerated []Evidence `json:"exonerated,omitempty"`
	// Unseen are the roles of the system that nothing watched.
	Unseen []string `json:"unseen,omitempty"`
	// Failed is [Observed.Failed].
	Failed string `json:"failed,omitempty"`
	Advice string `json:"advice,omitempty"`
}

// Diagnose names the limiter of a run by a fixed rule: failures of all operations first; then the
// generator, or those who used its cores; then the indicators that at capacity are beyond their
// limit, significantly above the baseline, and rise with the load; of those the ones that no other
// explains; of those, errors with loss before time spent waiting before use. Nothing qualifies:
// UNKNOWN. It is deterministic and changes nothing in its arguments.
//
// Sources: the survey of load generators, the attribution rule after 5.2; Gregg, The USE Method
// (utilization, saturation, errors of every resource, exoneration by elimination).
func Diagnose(catalog []Indicator, o Observed) Limiter {
	if o.AllFailed != "" {
		return o.allFailed()
	}
	if len(o.Generator) > 0 {
		return o.aboutGenerator()
	}
	if o.Void != "" {
		return Limiter{
			Name:     LimitNone,
			Kind:     LimitNone,
			Sentence: "No limiter is named, because the run is not valid: " + o.Void + ".",
		}
	}
	if !o.Reached && o.Failed == "" {
		return Limiter{
			Name:     LimitNone,
			Kind:     LimitNone,
			Sentence: "Nothing limited the run: " + o.Why + ".",
		}
	}
	var all []Evidence
	way := o.wayUp()
	for _, t := range o.Traces {
		if e, ok := weigh(catalog[t.Indicator], t, o, way); ok {
			all = append(all, e)
		}
	}
	l := Limiter{Unseen: unseen(o, all), Failed: o.Failed}
	explainLoss(all)
	explainFailures(all, o)
	explainRule(all, o)
	suspects := candidates(all, o)
	for _, e := range all {
		if !e.Qualifies {
			l.Exonerated = append(l.Exonerated, e)
		}
	}
	first := slices.IndexFunc(suspects, func(s suspect) bool { return s.behind == "" })
	if first < 0 {
		return l.unwatched(o)
	}
	top := suspects[first]
	l.Kind, l.Role, l.Name, l.Evidence, l.Advice = top.kind, top.role, top.name(), top.evidence, adviceOf[top.kind]
	l.Exonerated = slices.DeleteFunc(l.Exonerated, func(e Evidence) bool {
		mine := e.Limiter == top.kind && e.Role == top.role
		if mine {
			l.Evidence = append(l.Evidence, e)
		}
		return mine
	})
	for i, s := range suspects {
		switch {
		case i == first:
		case s.behind != "":
			l.Others = append(l.Others, Suspect{s.name(), "a symptom of " + s.behind})
		default:
			l.Others = append(
				l.Others,
				Suspect{s.name(), fmt.Sprintf("qualifies as well: %s", s.evidence[0].Text())},
			)
		}
	}
	l.Confidence, l.Doubts = confidence(top, suspects, l.Unseen)
	l.Sentence = fmt.Sprintf("Limited by %s: %s.", l.Name, l.Evidence[0].Text())
	if l.Kind == LimitHost {
		l.Sentence = fmt.Sprintf(
			"LIMITED BY OTHERS ON THE HOST: %s; what was watched of the system used %.0f %% of what processes used there.",
			l.Evidence[0].Text(),
			100*ownPart(o, sameCores(l.Evidence[0], all, o)),
		)
	}
	return l
}

// unwatched is the limiter of a run without an indicator that qualifies: the CPU that the broken
// rule limits, or UNKNOWN.
func (l Limiter) unwatched(o Observed) Limiter {
	role, ok := o.cpuRule()
	if !ok {
		return l.unknown(o)
	}
	l.Kind = LimitCPU
	l.Role = role
	l.Name = LimitCPU + " " + role
	l.Advice = adviceOf[LimitCPU]
	l.Sentence = fmt.Sprintf("Limited by %s: the rule that broke, %s, limits it.", l.Name, o.Rule)
	l.Confidence = Low
	l.Doubts = []string{"no series of these cores has enough samples at capacity"}
	return l
}

func (l Limiter) unknown(o Observed) Limiter {
	l.Name = LimitUnknown
	l.Kind = LimitUnknown
	l.Advice = adviceOf[LimitUnknown]
	l.Sentence = "UNKNOWN: no resource that was watched is saturated at capacity"
	var near []string
	for _, e := range l.Exonerated {
		if e.High && !e.supports {
			near = append(near, e.Limiter+" "+cmp.Or(e.Role, "host")+" ("+e.Text()+")")
		}
	}
	if len(near) > 0 {
		l.Sentence = "UNKNOWN: nothing that is high at capacity rose to it with the load: " + strings.Join(
			near,
			"; ",
		)
	}
	if len(l.Exonerated) == 0 {
		l.Sentence = fmt.Sprintf(
			"UNKNOWN: no signal has %d samples at capacity; the run ended too soon after it got there",
			fewestAt,
		)
	}
	if len(l.Unseen) > 0 {
		l.Sentence += "; nothing was watched of " + strings.Join(l.Unseen, ", ")
	}
	if o.Failed != "" {
		l.Sentence += "; " + o.Failed
	}
	if o.Rule != "" && o.Reached {
		l.Sentence += "; the rule that broke is " + o.Rule
	}
	l.Sentence += "."
	return l
}

// A suspect is a limiter of a role with all its evidence that qualified, strongest first.
type suspect struct {
	kind, role string
	evidence   []Evidence
	rank       Rank
	strength   float64
	behind     string // the suspect that explains it
}

func (s suspect) name() string {
	if s.kind == LimitHost {
		return s.kind
	}
	return strings.TrimSpace(s.kind + " " + cmp.Or(s.role, "host"))
}

// limited reports whether the suspect is the resource that the rule limits by itself: no other
// resource, however scarce, could have broken a rule of CPU time.
func (s suspect) limited(rule string) bool {
	return strings.HasPrefix(rule, "cpu(") && (s.kind == LimitCPU || s.kind == LimitHost)
}

// candidates groups the qualified evidence by limiter and role, finds which explains which, and
// orders them: unexplained first, then the resource that the broken rule limits by itself, then by
// rank and strength, then by name, so that the order never depends on chance.
func candidates(all []Evidence, o Observed) []suspect {
	var out []suspect
	for _, e := range all {
		if !e.Qualifies {
			continue
		}
		kind, role := e.Limiter, e.Role
		if e.Limiter == LimitCPU {
			roles := sameCores(e, all, o)
			own := ownPart(o, roles)
			if own < ownShare || own < aloneShare && waits(all, roles) {
				kind, role = LimitHost, ""
			} else {
				e.Role = consumer(o, roles)
				role = e.Role
			}
		}
		i := slices.IndexFunc(out, func(s suspect) bool { return s.kind == kind && s.role == role })
		if i < 0 {
			out = append(out, suspect{kind: kind, role: role})
			i = len(out) - 1
		}
		s := &out[i]
		s.evidence = append(s.evidence, e)
		s.rank = max(s.rank, e.rank)
		s.strength = max(s.strength, e.strength())
	}
	out = onPath(out, all)
	for i := range out {
		s := &out[i]
		slices.SortStableFunc(s.evidence, func(a, b Evidence) int {
			return cmp.Compare(b.strength(), a.strength())
		})
		for j := range out {
			if i != j && explains(out[j], *s, o) {
				s.behind = out[j].name()
				break
			}
		}
	}
	slices.SortStableFunc(out, func(a, b suspect) int {
		return cmp.Or(
			before(a.behind == "", b.behind == ""),
			before(a.limited(o.Rule), b.limited(o.Rule)),
			cmp.Compare(b.rank, a.rank),
			cmp.Compare(b.strength, a.strength),
			cmp.Compare(a.name(), b.name()),
		)
	})
	return out
}

// before orders what is true before what is not.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// onPath names the proxy where the generator loses packets that it sends, because it sends to the
// proxy alone; and where both neighbors of the proxy lose, or it and the app: they have nothing
// else in common. One of them must qualify; of the others it is enough that their loss is beyond
// its limit, because few events show no clear dose response.
func onPath(in []suspect, all []Evidence) []suspect {
	lost := map[string]int{}
	for i, s := range in {
		if s.kind == LimitLoss {
			lost[s.role] = i + 1
		}
	}
	seen := map[string]bool{}
	for _, e := range all {
		if e.Limiter == LimitLoss && e.High && !e.supports {
			seen[e.Role] = true
		}
	}
	app := lost["app"]
	client := max(lost[""], lost["generator"])
	proxy := lost["proxy"]
	between := client > 0 && slices.ContainsFunc(all, func(e Evidence) bool {
		return e.Role == "proxy"
	})
	around := max(app, client, proxy) > 0 && seen["app"] &&
		(seen["proxy"] || seen[""] || seen["generator"])
	if !between && !around {
		return in
	}
	merged := suspect{kind: LimitLoss, role: "proxy", rank: Loss}
	for _, i := range []int{app, client, proxy} {
		if i > 0 {
			merged.evidence = append(merged.evidence, in[i-1].evidence...)
			merged.strength = max(merged.strength, in[i-1].strength)
		}
	}
	out := slices.DeleteFunc(slices.Clone(in), func(s suspect) bool {
		return s.kind == LimitLoss &&
			slices.Contains([]string{"", "generator", "app", "proxy"}, s.role)
	})
	return append(out, merged)
}

// strength returns the distance of an indicator from its limit, 1 at the limit and at most 10.
func (e Evidence) strength() float64 { return min(e.At/e.Limit, 10) }

func usage(o Observed, role string) float64 { return coresAt(o, o.CPU[role]) }

// coresAt is the mean of a series of cores at capacity; 0 where it has none.
func coresAt(o Observed, cores []float64) float64 {
	v := stats.Mean(sampled(cores, func(i int) bool { return o.Users[i] >= nearLoad*o.Capacity }))
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// sameCores are the roles that share the cores of an indicator of the CPU: all that have processes
// where it is of the shared cores, and otherwise those whose own reading of it is the same, because
// two sets of cores are not equally busy for long.
func sameCores(e Evidence, all []Evidence, o Observed) []string {
	if e.Role == o.Shared && o.Shared != "" {
		return slices.Sorted(maps.Keys(o.CPU))
	}
	roles := []string{e.Role}
	for _, x := range all {
		if x.Limiter == LimitCPU && x.What == e.What && x.Role != e.Role &&
			math.Abs(x.At-e.At) <= equalUse {
			roles = append(roles, x.Role)
		}
	}
	return roles
}

// ownPart returns which part of the busy time of the cores that some roles share the system's
// processes use, by their readings above 0. It is NaN, which is not known, where the own use of a
// role was not watched that is there. Roles of whose cores as much is busy may be there too, and
// count as if they were: two agents that read the same cores differ by little.
func ownPart(o Observed, roles []string) float64 {
	used, busy := 0.0, 0.0
	for _, role := range roles {
		busy = max(busy, coresAt(o, o.Busy[role]))
	}
	there := slices.Clone(roles)
	for _, role := range slices.Sorted(maps.Keys(o.Busy)) {
		if math.Abs(coresAt(o, o.Busy[role])-busy) <= alikeUse*busy &&
			!slices.Contains(there, role) {
			there = append(there, role)
		}
	}
	for _, role := range there {
		if len(o.CPU[role]) == 0 {
			return math.NaN()
		}
		used += usage(o, role)
	}
	if used == 0 || busy == 0 {
		return math.NaN()
	}
	return used / busy
}

// waits reports whether a wait of one of some roles qualifies that busy cores would explain: with
// others on the cores it cannot be told whether it is theirs.
func waits(all []Evidence, roles []string) bool {
	return slices.ContainsFunc(all, func(e Evidence) bool {
		return e.Qualifies && slices.Contains(roles, e.Role) && waitsForCores(e.Limiter)
	})
}

// waitsForCores reports whether a limiter may be a symptom of the busy cores of its role.
func waitsForCores(kind string) bool { return slices.Contains(behind[kind].same, LimitCPU) }

// consumer is the one of some roles that uses most CPU at capacity; the first, where that is not
// known of any.
func consumer(o Observed, roles []string) string {
	if len(roles) == 0 {
		return o.Shared
	}
	best := roles[0]
	for _, role := range roles {
		if u, most := usage(o, role), usage(o, best); u > most ||
			u == most && u > 0 && role < best {
			best = role
		}
	}
	return best
}

// confidence grades the certainty of the name: its evidence needs a baseline and a dose response,
// its next rival must be weaker, and every role must have been watched.
func confidence(top suspect, all []suspect, missing []string) (string, []string) {
	var doubts []string
	if e := top.evidence[0]; !slices.ContainsFunc(top.evidence, func(e Evidence) bool {
		return e.uneven == ""
	}) {
		doubts = append(
			doubts,
			"it did not rise steadily with the load; it is named because "+e.uneven,
		)
	}
	if !slices.ContainsFunc(top.evidence, func(e Evidence) bool { return e.Rho != nil }) {
		doubts = append(doubts, fmt.Sprintf(
			"fewer than %d levels of load were seen, so it was not tried whether it rises with the load",
			fewestBins,
		))
	}
	if slices.ContainsFunc(top.evidence, func(e Evidence) bool {
		return e.Base != nil && *e.Base >= e.Limit && e.rank != Loss
	}) {
		doubts = append(doubts, "it was saturated at the lowest load already")
	} else if !slices.ContainsFunc(top.evidence, func(e Evidence) bool { return e.Base != nil }) {
		doubts = append(doubts, "there was no time at 0.7 of the capacity or less to compare with")
	}
	for _, s := range all {
		if s.behind == "" && s.name() != top.name() && s.rank == top.rank &&
			s.strength > top.strength/2 {
			doubts = append(doubts, s.name()+" is nearly as strong")
			break
		}
	}
	if len(missing) > 0 {
		doubts = append(doubts, "nothing was watched of "+strings.Join(missing, ", "))
	}
	switch len(doubts) {
	case 0:
		return High, nil
	case 1:
		return Medium, doubts
	}
	return Low, doubts
}

// unseen are the roles without any indicator or CPU use.
func unseen(o Observed, all []Evidence) (out []string) {
	for _, role := range o.Roles {
		_, used := o.CPU[role]
		if !used && !slices.ContainsFunc(all, func(e Evidence) bool { return e.Role == role }) {
			out = append(out, role)
		}
	}
	return out
}
