package main

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/judge/limiter"
	"plimsoll/studies/study"
)

// An outcome is the score of a run.
type outcome int

// The outcomes. A void run does not count, and is listed.
const (
	isRight outcome = iota // a right name, or UNKNOWN where that is right
	isWrong                // another name
	// UNKNOWN, or nothing, where a name was right; or nothing where UNKNOWN was.
	isUnnamed
	// the fault was not there, or the generator or its host was not healthy.
	isVoid
)

func (o outcome) String() string {
	return [...]string{"right", "wrong", "unnamed", "void"}[o]
}

// outcome scores a run, by the names that were right when it was made.
func (r result) outcome() outcome {
	switch {
	case r.Injected == "":
		return isVoid
	case r.Limiter == unknown && r.Exonerated == 0:
		return isUnnamed // nothing was seen at the capacity, so nothing was found innocent either
	case slices.Contains(r.Right, r.Limiter):
		return isRight
	case r.Limiter == limiter.LimitGenerator, r.Limiter == limiter.LimitHost:
		return isVoid
	case r.Limiter == unknown, r.Limiter == limiter.LimitNone, r.Limiter == "":
		return isUnnamed
	}
	return isWrong
}

// The figures to reach (docs/limiter.md): the least share right of those named, and the largest
// share named wrongly.
const (
	leastRight = 0.90
	mostWrong  = 0.05
)

// shares are the counts of some runs.
type shares struct {
	right, wrong, unnamed, void int
	named                       int // of right, those with a name
}

func (s *shares) add(r result) {
	switch r.outcome() {
	case isRight:
		s.right++
		if r.Limiter != unknown {
			s.named++
		}
	case isWrong:
		s.wrong++
	case isUnnamed:
		s.unnamed++
	case isVoid:
		s.void++
	}
}

// scored are the runs that count.
func (s shares) scored() int { return s.right + s.wrong + s.unnamed }

// met reports whether the figures are reached. No run reaches nothing.
func (s shares) met() bool {
	return s.named > 0 && float64(s.named) >= leastRight*float64(s.named+s.wrong) &&
		float64(s.wrong) <= mostWrong*float64(s.scored())
}

// share prints k of n with its interval.
func share(k, n int) string {
	if n == 0 {
		return "0 of 0"
	}
	iv := study.ShareInterval(k, n, 0.95)
	return fmt.Sprintf(
		"%d of %d, %.0f %% [%.0f, %.0f]",
		k,
		n,
		100*float64(k)/float64(n),
		100*iv.Lo,
		100*iv.Hi,
	)
}

// table is the Markdown of a suite: a function of the faults and the results alone. It returns the
// counts of all runs.
func table(suite string, faults []fault, results []result) (string, shares) {
	var b strings.Builder
	target, all := "make "+suites[suite].target, shares{}
	kinds := map[string]*shares{kindSingle: {}, kindPair: {}, kindOutside: {}, "": {}}
	b.WriteString(
		"| fault | what is limited | right | named first, by run (confidence) | right | wrong | unnamed | void |\n|---|---|---|---|---|---|---|---|\n",
	)
	var first, last, machines, commits = "", "", []string{}, []string{}
	for _, f := range faults {
		var row shares
		var named []string
		for _, r := range results {
			if r.Fault != f.name {
				continue
			}
			row.add(r)
			all.add(r)
			kinds[f.kind].add(r)
			named = append(named, r.named())
			if r.At != "" && (first == "" || r.At < first) {
				first = r.At
			}
			last = max(last, r.At)
			machines, commits = study.With(machines, r.Machine), study.With(commits, r.Commit)
		}
		fmt.Fprintf(
			&b,
			"| `%s` | %s | %s | %s | %d | %d | %d | %d |\n",
			f.name,
			f.what,
			strings.Join(f.right, " or "),
			strings.Join(named, ", "),
			row.right,
			row.wrong,
			row.unnamed,
			row.void,
		)
	}
	if all == (shares{}) {
		return "Not measured yet: `" + target + "`.\n\n" + b.String(), all
	}
	b.WriteString(
		"\n| | right | right of those named | named wrongly | unnamed | void |\n|---|---|---|---|---|---|\n",
	)
	for _, k := range []struct {
		name string
		s    shares
	}{{"single faults", *kinds[kindSingle]}, {"pairs", *kinds[kindPair]}, {"outside the catalog", *kinds[kindOutside]}, {"**all**", all}} {
		if k.s == (shares{}) {
			continue
		}
		fmt.Fprintf(
			&b,
			"| %s | %s | %s | %s | %s | %d |\n",
			k.name,
			share(k.s.right, k.s.scored()),
			share(k.s.named, k.s.named+k.s.wrong),
			share(k.s.wrong, k.s.scored()),
			share(k.s.unnamed, k.s.scored()),
			k.s.void,
		)
	}
	said := "The figures to reach, 90 % right of those named and 5 % named wrongly, are reached"
	if !all.met() {
		said = "The figures to reach, 90 % right of those named and 5 % named wrongly, are not reached"
	}
	built := ""
	if len(commits) > 0 {
		built = "; commit " + strings.Join(commits, ", ")
	}
	head := fmt.Sprintf(
		"Measured from %s to %s by `%s` on %s%s: %d runs of %d faults.\n\n",
		first,
		last,
		target,
		strings.Join(machines, " and "),
		built,
		all.scored()+all.void,
		len(faults),
	)
	return head + b.String() + "\n" + said + ".\n", all
}

// named is the limiter that a run named, for the table.
func (r result) named() string {
	n := r.Limiter
	switch {
	case r.Injected == "":
		return "not injected"
	case n == "" || n == limiter.LimitNone:
		return "nothing"
	case r.Confidence != "" && n != unknown:
		n += " (" + r.Confidence + ")"
	}
	return n
}
