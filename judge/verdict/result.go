package verdict

import (
	"math"
	"slices"

	"plimsoll/plan"
	"plimsoll/stats"
)

// Kind is the conclusion.
type Kind string

// The five conclusions. All are about the new arm as against the base.
const (
	Better       Kind = "better"
	Worse        Kind = "worse"
	Same         Kind = "same"
	Inconclusive Kind = "inconclusive"
	Invalid      Kind = "invalid"
)

// ExitStatus returns the exit status of a program that ends with this conclusion: 0 for better and
// same, 3 for worse, 4 for inconclusive, 5 for invalid (and for anything that is not a conclusion).
func (k Kind) ExitStatus() int {
	switch k {
	case Better, Same:
		return 0
	case Worse:
		return 3
	case Inconclusive:
		return 4
	default:
		return 5
	}
}

// Pair holds the numbers of one block: a run of each arm, adjacent in time. A censored value is a
// lower bound: the search ended at its own limit, and the true value is at least this.
type Pair struct {
	Block        int     `json:"block"` // as people count them, from 1; unique in a sample
	Base         float64 `json:"base"`
	New          float64 `json:"new"`
	BaseCensored bool    `json:"base_censored,omitempty"`
	NewCensored  bool    `json:"new_censored,omitempty"`
	// BaseOps and NewOps are the numbers of operations behind an error rate; 0 is unknown. With
	// them "no error in either arm" can be reported with the rate that would have shown.
	BaseOps int64 `json:"base_ops,omitempty"`
	NewOps  int64 `json:"new_ops,omitempty"`
	// First is the run of the pair that came first: [FirstBase], [FirstNew], or "" if it is unknown
	// or they ran at once.
	First string `json:"first,omitempty"`
}

// The orders of the runs of a [Pair].
const (
	FirstBase = "base"
	FirstNew  = "new"
)

// Options describes how the comparison was planned. The zero value is a comparison with the number
// of pairs that it has, at the two-sided level of 5 %.
type Options struct {
	// Alpha is the two-sided level of this look, in [0.0001, 0.2]; 0 means stats.FixedAlpha.
	Alpha float64
	// Blocks is the number of pairs planned for this look; 0 is unknown. Another number of pairs is
	// a warning: pairs added or left out because of their values spoil the level.
	Blocks int
	// Look is the number of this look among Looks planned ones, from 1; both are 0 for a comparison
	// with one.
	Look, Looks int
	// Over is true if no look comes after this one, because the time of the comparison was over.
	Over bool
	// BaseName and NewName are the names of the arms; "base" and "new" by default.
	BaseName, NewName string
}

// Fixed returns the options of a comparison with a declared number of blocks and one look at the
// end.
func Fixed(blocks int) Options { return Options{Alpha: stats.FixedAlpha, Blocks: blocks} }

// Summary describes one arm by itself: the geometric mean of its runs and the t interval on their
// logarithms (arithmetic, and never below zero, for absolute endpoints) at the level of the look.
// It shows the variation between runs; the difference between arms is judged from the pairs, not
// from it. Lo and Hi are NaN when there is no interval; Mean is NaN for no runs. AtLeast marks a
// mean over censored values.
type Summary struct {
	Name         string
	N            int
	Mean, Lo, Hi float64
	AtLeast      bool
}

// Result is the judgment on one endpoint. Numbers that are not known are NaN, and null in JSON.
type Result struct {
	plan.Endpoint `json:"endpoint"`
	Kind          Kind `json:"kind"`
	// Indicative marks a sample below six pairs: its Kind is always Inconclusive.
	Indicative bool   `json:"indicative,omitempty"`
	N          int    `json:"n"` // pairs
	Pairs      []Pair `json:"pairs"`

	// Alpha is the two-sided level of the look. Look, Looks and Over are as in Options.
	Alpha float64 `json:"alpha"`
	Look  int     `json:"look,omitempty"`
	Looks int     `json:"looks,omitempty"`
	Over  bool    `json:"over,omitempty"`

	// Effect is new/base - 1 (0.05 is 5 % more), or new - base in percentage points for absolute
	// endpoints. Lo and Hi are its interval of level 1-alpha, Lo90 and Hi90 that of level
	// 1-2·alpha, which is compared with the margin. Unknown values are NaN: intervals below three
	// pairs, and, where more than half of the pairs are bounds, all except the one end of the
	// interval that bounds leave, Lo or Hi. Where some pairs are bounds, the interval holds for all
	// true values behind them, and Effect is the mean with each bound at the possible value nearest
	// to the other pairs.
	Effect float64 `json:"effect"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Lo90   float64 `json:"lo90"`
	Hi90   float64 `json:"hi90"`

	// P is the two-sided p-value of the t test on the differences, of stats.Spans where some pairs
	// are bounds, and of the sign test where more than half are; SignFlipP that of the exact
	// sign-flip test, HolmP is P adjusted for the other endpoints (set by Combine; NaN before).
	P         float64 `json:"p"`
	SignFlipP float64 `json:"sign_flip_p"`
	HolmP     float64 `json:"holm_p"`

	// HL is the Hodges-Lehmann estimate of the effect, the robust twin of Effect, with its exact
	// interval.
	HL   float64 `json:"hl"`
	HLLo float64 `json:"hl_lo"`
	HLHi float64 `json:"hl_hi"`

	// SD is the standard deviation of the differences on their scale (of ln ratios, or points), of
	// those that are not bounds. MDE is the effect that this many pairs with this spread would find
	// in four of five cases, as a positive ratio minus one or in points. PairsNeeded is the number
	// of pairs needed in all for MDE to reach the margin and for numbers like these to be decided;
	// 0 if there is a verdict already, or if it is not known or out of reach.
	SD          float64 `json:"sd"`
	MDE         float64 `json:"mde"`
	PairsNeeded int     `json:"pairs_needed"`

	// Order is the effect that coming second in a pair had, which the difference is free of; nil
	// where the order is not known or unbalanced, and a part of the noise. Spread compares how the
	// arms vary between runs; nil below six pairs, with bounds and for absolute endpoints.
	Order  *OrderEffect `json:"order_effect,omitempty"`
	Spread *Spread      `json:"spread,omitempty"`

	// NonInferior reports whether the bad end of the interval is inside the margin, and the
	// interval is evidence: of six pairs or more and, where it has no width, of enough operations.
	NonInferior bool `json:"non_inferior"`

	Base Summary `json:"base"`
	New  Summary `json:"new"`

	// Failed are the runs behind the endpoint [FailedRuns]; nil for others. N is the smaller number
	// of them then, and there are no Pairs.
	Failed *FailedPair `json:"failed,omitempty"`

	// Implies is the effect of a change of a cost on the capacity (set by Combine); nil for other
	// endpoints, and for a cost without an interval or of fewer than six pairs.
	Implies *Implied `json:"implies,omitempty"`

	// Kinds are the kinds of operations behind typical(OP); nil for other endpoints.
	Kinds *Kinds `json:"kinds,omitempty"`

	// Mix are the kinds of operations behind a cost; nil for other endpoints, and where each run's
	// own mix stands.
	Mix *RemovedMix `json:"mix,omitempty"`

	// Levels are the parts of the spread in a duet; nil where they are not known.
	Levels *Levels `json:"levels,omitempty"`

	// ByClock are the shares of a cost of base and new that pauses of a duet added, and that are
	// left out of it.
	ByClock [2]float64 `json:"by_clock,omitzero"`

	// Withheld is the reason why the result may be neither the same nor better ([Result.Withhold]);
	// empty where nothing is withheld.
	Withheld string `json:"withheld,omitempty"`

	// Coarse is what it takes to judge the endpoint by its margin, where the plan can find twice the
	// margin and not the margin ([Combine]); empty elsewhere.
	Coarse string `json:"coarse,omitempty"`

	// Outliers and Widest are block numbers: the flagged pairs, and the one that adds most to the
	// width of the interval (0 if unknown).
	Outliers []int     `json:"outliers,omitempty"`
	Widest   int       `json:"widest,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`

	// Reason is the reason for Kind, a clause without capital and period; Sentence is a whole
	// sentence.
	Reason   string `json:"reason"`
	Sentence string `json:"sentence"`
}

// A FailedPair holds the attempts of both arms.
type FailedPair struct {
	Base Attempts `json:"base"`
	New  Attempts `json:"new"`
}

// HasInterval reports whether the effect is known with an interval.
func (r Result) HasInterval() bool { return !math.IsNaN(r.Lo) && !math.IsNaN(r.Hi) }

// Decisive returns the interval of the effect that decided the result, and its level: at 1-2·alpha
// it lies inside the margin of a result that is the same, at 1-alpha it decides all others. Ends
// that are not known are NaN.
func (r Result) Decisive() (lo, hi, level float64) {
	if r.Kind == Same {
		return r.Lo90, r.Hi90, 1 - 2*r.Alpha
	}
	return r.Lo, r.Hi, 1 - r.Alpha
}

// HasEffect reports whether the size of the difference is known.
func (r Result) HasEffect() bool { return !math.IsNaN(r.Effect) }

// Censored reports whether a pair of the sample is only a bound.
func (r Result) Censored() bool { return censored(r.Pairs) }

func censored(pairs []Pair) bool { return slices.ContainsFunc(pairs, Pair.bound) }

// bound reports whether the difference of the pair is only a bound.
func (p Pair) bound() bool { return p.BaseCensored || p.NewCensored }

// bounds returns how many pairs are only bounds.
func (r Result) bounds() int {
	n := 0
	for _, p := range r.Pairs {
		if p.bound() {
			n++
		}
	}
	return n
}

// NotJudged returns the reasons for the results that decide nothing, by endpoint.
func (v Verdict) NotJudged() map[string]string {
	out := map[string]string{}
	for _, r := range v.Aside {
		out[r.Name] = r.Reason
	}
	return out
}

// Verdict is the judgment on all endpoints of one database.
type Verdict struct {
	Database   string   `json:"database"`
	Kind       Kind     `json:"kind"`
	Indicative bool     `json:"indicative,omitempty"`
	Results    []Result `json:"results"`
	// Aside are results that decide nothing: neither arm had an error, of too few operations to
	// judge that, or a coarse endpoint shows no change.
	Aside []Result `json:"not_judged,omitempty"`
	// Undecided names the endpoints that the plan could not decide, and that have no result or a
	// coarse one without a change.
	Undecided []string `json:"undecided,omitempty"`

	Lead   string `json:"lead"`   // the sentence that a person would write
	Reason string `json:"reason"` // why, a clause
}

// Worst returns the conclusion that decides the exit status of several databases: worse before
// invalid before inconclusive before better before same. Without verdicts it is Invalid.
func Worst(verdicts ...Verdict) Kind {
	for _, k := range []Kind{Worse, Invalid, Inconclusive, Better, Same} {
		for _, v := range verdicts {
			if v.Kind == k {
				return k
			}
		}
	}
	return Invalid
}
