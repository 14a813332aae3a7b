package limiter

import (
	"slices"
	"strings"
)

// explainLoss lets an indicator of dropped connections or packets that is beyond its limit at
// capacity qualify where loss does, even if it came too unevenly for a dose response of its own:
// dropped packets are sent again after a timeout, so that they cause the loss.
func explainLoss(all []Evidence) {
	if !slices.ContainsFunc(all, func(e Evidence) bool {
		return e.Limiter == LimitLoss && e.Qualifies
	}) {
		return
	}
	for i := range all {
		if e := &all[i]; e.High && !e.Qualifies && !e.supports && e.rank == Loss &&
			slices.Contains(behind[LimitLoss].any, e.Limiter) {
			e.Qualifies, e.uneven = true, "it explains the loss that did"
		}
	}
}

// cpuRule returns the role whose CPU time the broken rule limits; ok reports whether it is such a
// rule.
func (o Observed) cpuRule() (role string, ok bool) {
	rule, ok := strings.CutPrefix(o.Rule, "cpu(")
	role, _, closed := strings.Cut(rule, ")")
	return role, ok && closed && o.Reached
}

// explainRule lets the busiest cores of a role qualify where the rule that broke limits their use:
// the rule has measured it, whether or not the way up shows a dose response, and whatever limit it
// sets.
func explainRule(all []Evidence, o Observed) {
	role, ok := o.cpuRule()
	if !ok {
		return
	}
	best := -1
	for i, e := range all {
		if e.Limiter != LimitCPU || e.supports || e.Role != role && e.Role != o.Shared {
			continue
		}
		if e.Qualifies {
			return
		}
		if best < 0 || e.strength() > all[best].strength() ||
			e.strength() == all[best].strength() && e.Role < all[best].Role {
			best = i
		}
	}
	if best >= 0 {
		all[best].Qualifies, all[best].uneven = true, "the rule that broke, "+o.Rule+", limits it"
	}
}

// explainFailures lets refusals qualify without a dose response where the failed operations that
// ended the run are mostly their doing: a search that steps back at the first of them sees few
// levels of load with any.
func explainFailures(all []Evidence, o Observed) {
	if o.Reached && !strings.HasPrefix(o.Rule, "rate(") {
		return
	}
	for i := range all {
		if e := &all[i]; e.High && !e.Qualifies && !e.supports &&
			o.Failures[e.Limiter] >= mostFailures {
			e.Qualifies = true
		}
	}
}

// explains reports whether b is a symptom of a.
func explains(a, b suspect, o Observed) bool {
	if (a.kind == LimitCPU || a.kind == LimitHost) && b.rank == Loss && a.evidence[0].At < fullUse {
		return false // cores that are idle now and then lose nothing
	}
	if slices.Contains(behind[b.kind].any, a.kind) {
		return true
	}
	if a.kind == LimitRefusals && b.kind == LimitRefusals {
		// a process that counts its own refusals identifies their source
		return b.role == wholeTarget
	}
	if slices.Contains(behind[b.kind].same, a.kind) &&
		(a.role == b.role || slices.Contains(serves[b.role], a.role)) {
		return true
	}
	if a.kind == LimitHost {
		return waitsForCores(b.kind) // and so for the process that has them
	}
	// Cores that several roles share are busy for all of them; the one that uses most of them is
	// named.
	if a.kind == LimitCPU && b.kind == LimitCPU && a.role != b.role {
		ca, cb := usage(o, a.role), usage(o, b.role)
		return cb < cpuMinor*ca
	}
	return false
}
