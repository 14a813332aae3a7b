package limiter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Crowd holds the users of the generator's cores in a run whose generator was held up. Cores are
// of the whole host.
type Crowd struct {
	Own float64 // cores that the generator used, as a part of its own
	// Busiest is the part of the generator's busiest core that everybody used; 0 where it was not
	// read.
	Busiest float64
	// cores that the target's processes used; 0 where they may not use the generator's
	Target float64
	Others []Neighbor
}

// A Neighbor is a program beside the run.
type Neighbor struct {
	Name  string
	Cores float64
}

// crowdLeast is the use, in cores, from which on somebody is named.
const crowdLeast = 0.1

// crowdedCore is the use of a core below which nobody filled it.
const crowdedCore = 0.5

// aboutGenerator is the diagnosis of a run whose generator was held up: by whoever used its cores,
// and by the generator itself only where its own use of them is not known or not low.
func (o Observed) aboutGenerator() Limiter {
	const nothing = ". The run says nothing about the system under test."
	gates := strings.Join(o.Generator, "; ")
	own := Limiter{
		Name:       LimitGenerator,
		Kind:       LimitGenerator,
		Confidence: High,
		Sentence:   "LIMITED BY LOAD GENERATOR: " + gates + nothing,
		Advice:     "Give the generator more cores or hosts, or fewer users; docs/validity.md says what each gate means.",
	}
	if o.Crowd == nil && !o.Foreign {
		return own
	}
	c := Crowd{}
	if o.Crowd != nil {
		c = *o.Crowd
	}
	slices.SortStableFunc(c.Others, func(a, b Neighbor) int {
		return cmp.Compare(b.Cores, a.Cores)
	})
	used, others := "", 0.0
	var names, texts []string
	for _, n := range c.Others {
		if others += n.Cores; n.Cores >= crowdLeast {
			names = append(names, n.Name)
			texts = append(texts, fmt.Sprintf("%s %.2f", n.Name, n.Cores))
		}
	}
	if !o.Foreign {
		used = fmt.Sprintf("; the generator itself used %.3g %% of its cores", 100*c.Own)
	}
	if c.Target >= max(crowdLeast, others) {
		return Limiter{
			Name:       LimitShared,
			Kind:       LimitShared,
			Confidence: High,
			Sentence: fmt.Sprintf(
				"LIMITED BY THE TARGET ON THE GENERATOR'S CORES: %s%s, the target's processes %.2f cores of this host%s",
				gates,
				used,
				c.Target,
				nothing,
			),
			Advice: adviceOf[LimitShared],
		}
	}
	l := Limiter{Name: LimitHost, Kind: LimitHost, Confidence: High, Advice: adviceOf[LimitHost]}
	switch {
	case len(names) > 0:
		used += "; in cores of this host: " + strings.Join(texts, ", ")
		l.Advice = fmt.Sprintf(
			"End or move %s, and run again; more cores for the generator do not help while others take them.",
			strings.Join(names, ", "),
		)
	case !o.Foreign && 0 < c.Busiest && c.Busiest < crowdedCore:
		own.Confidence = Medium
		own.Sentence = fmt.Sprintf("LIMITED BY LOAD GENERATOR: %s%s, and nobody filled them (%.3g %% of the busiest): "+
			"it was late by itself, for moments%s", gates, used, 100*c.Busiest, nothing)
		return own
	case !o.Foreign:
		used += "; by whom they were used was not seen (interrupts, short-lived processes, the hypervisor)"
		l.Confidence = Low
	}
	l.Sentence = "LIMITED BY OTHERS ON THE HOST: " + gates + used + nothing
	return l
}

// allFailed is the diagnosis of a run whose operations all failed, or nearly all.
func (o Observed) allFailed() Limiter {
	l := Limiter{Name: LimitFailures, Kind: LimitFailures, Confidence: High, Failed: o.AllFailed}
	for _, kind := range []string{LimitRefusals, LimitCut} {
		if o.Failures[kind] >= mostFailures {
			l.Name = kind + " " + wholeTarget
			l.Kind = kind
			l.Role = wholeTarget
		}
	}
	l.Advice = adviceOf[l.Kind]
	l.Sentence = "ALL OPERATIONS FAILED, or nearly all: " + o.AllFailed
	if o.Cause != "" {
		l.Sentence += "; the first one: " + o.Cause
	}
	l.Sentence += ". The run says nothing about how much the system under test carries."
	if len(o.Generator) > 0 {
		l.Doubts = o.Generator
	}
	return l
}
