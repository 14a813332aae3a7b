package statements

import (
	"cmp"
	"math"
	"slices"

	"plimsoll/judge/attribution"
	"plimsoll/stats"
)

const (
	leastBlocks  = 4
	mostFindings = 10
	// level is the confidence of intervals, and the rate of false findings is 1 - level. Where
	// nothing has changed, something is found in as many comparisons.
	level = 0.95
	// floor is the smallest change of a measure that is a finding, as a ratio.
	floor = 1.03
	// leastCalls is the number of calls that a run of each arm needs for ratios, and that an arm
	// needs in all for a statement that the other does not have.
	leastCalls = 10
	// mostIssued is how many calls of one statement an operation issues at most.
	mostIssued = 100
)

// Attribute compares the statements of two arms, in blocks.
//
// A statement is found by its time or its calls per operation. Of each the ratios of the arms in
// the blocks, as logarithms, are tested against ±3 % with variances that borrow from the other
// statements (see [stats.ModeratedT]), beyond what other shares of operations explain: users of a
// slower arm wait longer, and have done other things by the end. Those of times are beyond the common change, the median of
// the ratios of the time per call in the block, as in the normalization of sequencing counts
// (Anders and Huber, Genome Biology 11:R106, 2010); a change of most statements is therefore a
// common one. The smaller p-value of a statement, times two, stands for it, and Benjamini and
// Hochberg adjust these for the number of statements. Half of their weight is on statements that do
// their work in another way, and there three quarters on the time: those whose plan differs, or that
// read twice or half as much (Genovese, Roeder and Wasserman, Biometrika 93, 2006). Between
// deployments of one build times do not depend on that.
//
// Time, rows and reads per call describe a statement that was found. Rows, reads and plans find
// none: an arm's database is deployed once, so that its layout and its planner's statistics are in
// all blocks alike, and blocks do not show how they vary between deployments.
func Attribute(blocks []PairedCensus) Difference {
	d := Difference{Findings: []ChangedStatement{}}
	var used []PairedCensus
	for _, b := range blocks {
		for _, side := range []Issued{b.Base, b.New} {
			if d.Missing == "" && side.Census.Missing != "" {
				d.Missing, d.Remedy = side.Census.Missing, side.Remedy
			}
		}
		if b.Base.known() && b.New.known() {
			used = append(used, b)
		}
	}
	d.Blocks = len(used)
	switch {
	case len(used) == 0:
		d.Withheld = NoStatements
		return d
	case len(used) < leastBlocks:
		d.Withheld = TooFewBlocks
		return d
	}
	d.Missing, d.Remedy = "", ""
	all := paired(used)
	total := d.total(used)
	d.Common = all.settle()
	all.test(newMix(used))
	d.find(all, total)
	return d
}

func (i Issued) known() bool {
	return i.Census.Missing == "" && i.Operations > 0 && len(i.Statements) > 0
}

// seconds is the execution time of all statements per operation.
func (i Issued) seconds() float64 {
	sum := i.Others.Seconds
	for _, s := range i.Statements {
		sum += s.Seconds
	}
	return sum / i.Operations
}

// total sets the time of all statements, and returns its difference.
func (d *Difference) total(blocks []PairedCensus) attribution.IntervalEstimate {
	var base, fresh []float64
	for _, b := range blocks {
		base = append(base, b.Base.seconds())
		fresh = append(fresh, b.New.seconds())
	}
	d.Base, d.New = stats.Mean(base), stats.Mean(fresh)
	d.Change = ratio(logs(base, fresh))
	return difference(base, fresh)
}

// find sets the findings, and the plans that differ beside them.
func (d *Difference) find(all candidates, total attribution.IntervalEstimate) {
	for i, q := range stats.BenjaminiHochberg(all.weighted()) {
		f := all[i].finding(q)
		switch {
		case q <= 1-level:
			if total.Low > 0 || total.High < 0 {
				f.Share = f.Cost.Value / total.Value
			}
			d.Findings = append(d.Findings, f)
		case f.Plan != nil:
			d.Plans = append(d.Plans, f)
		}
	}
	slices.SortStableFunc(d.Findings, func(a, b ChangedStatement) int {
		return cmp.Or(
			cmp.Compare(certain(b), certain(a)),
			cmp.Compare(math.Abs(b.Cost.Value), math.Abs(a.Cost.Value)),
		)
	})
	slices.SortStableFunc(d.Plans, func(a, b ChangedStatement) int {
		return cmp.Compare(b.Figures[0].Base, a.Figures[0].Base)
	})
	d.More = max(0, len(d.Findings)-mostFindings)
	d.Findings = d.Findings[:len(d.Findings)-d.More]
	d.Plans = d.Plans[:min(len(d.Plans), mostFindings)]
}

// certain returns the part of a statement's cost that is certain to have changed, up or down: by the
// interval of its difference, or by that of its ratio, whichever says more. The difference of a time
// that grows manyfold varies as manyfold, and its ratio does not.
func certain(f ChangedStatement) float64 {
	part := max(f.Cost.Low, -f.Cost.High, 0)
	for _, m := range f.Figures {
		if m.Measure == Time {
			part = max(part, m.Base*m.Change.Low, -m.Base*m.Change.High)
		}
	}
	return part
}

// logs returns the logarithms of the ratios of pairs, without those that have a zero.
func logs(base, fresh []float64) (out []float64) {
	for i := range base {
		if base[i] > 0 && fresh[i] > 0 {
			out = append(out, math.Log(fresh[i])-math.Log(base[i]))
		}
	}
	return out
}

// ratio returns the change that logarithms of ratios show, as a share; zero for too few.
func ratio(logs []float64) attribution.IntervalEstimate {
	s := stats.Sample{Values: logs}
	in := stats.TInterval(s, level)
	if !in.Known() {
		return attribution.IntervalEstimate{}
	}
	return attribution.IntervalEstimate{
		Value: math.Expm1(s.Mean()),
		Low:   math.Expm1(in.Lo),
		High:  math.Expm1(in.Hi),
	}
}

// difference returns the mean difference of pairs.
func difference(base, fresh []float64) attribution.IntervalEstimate {
	s := stats.Sample{}
	for i := range base {
		s.Values = append(s.Values, fresh[i]-base[i])
	}
	in := stats.TInterval(s, level)
	return attribution.IntervalEstimate{Value: s.Mean(), Low: in.Lo, High: in.Hi}
}
