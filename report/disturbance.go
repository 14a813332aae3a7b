package report

import (
	"slices"

	"plimsoll/judge/verdict"
)

// A wait stands out if its share is at least leastWait and at least standsOut times the share in
// any run of another pair.
const (
	leastWait = 0.01
	standsOut = 2
)

// disturbances searches the hosts of two kinds of pairs for waits: pairs that add most to the width
// of an undecided endpoint, and flagged pairs.
func (b *builder) disturbances() {
	for _, f := range b.Verdicts {
		runs := slices.Concat(b.of(f.Engine, baseName(*b.Document)), b.of(f.Engine, f.Arm))
		for _, r := range f.Verdict.Results {
			test := Bounded
			if r.Name == capacityName {
				test = Unbounded
			}
			blocks := slices.Clone(r.Outliers)
			if r.Kind == verdict.Inconclusive && r.Widest != 0 &&
				!slices.Contains(blocks, r.Widest) {
				blocks = append(blocks, r.Widest)
			}
			slices.Sort(blocks)
			for _, block := range blocks {
				for _, wait := range []string{WaitSteal, WaitDisk} {
					if n, ok := loudest(runs, block, test, wait); ok {
						n.Engine, n.Arm = f.Engine, f.Arm
						b.addDisturbance(n, r.Name)
					}
				}
			}
		}
	}
}

// addDisturbance adds an endpoint to the disturbance of a run that is already known, or keeps a new
// one.
func (b *builder) addDisturbance(n Disturbance, endpoint string) {
	x := oneOf(&b.Disturbances, func(x Disturbance) bool {
		return x.Engine == n.Engine && x.Arm == n.Arm && x.Run == n.Run && x.Test == n.Test &&
			x.Wait == n.Wait
	}, n)
	x.Endpoints = append(x.Endpoints, endpoint)
}

// loudest returns the run of a block whose target waited longest, if that stands out. It needs the
// reading of every run.
func loudest(runs []RunData, block int, test, wait string) (Disturbance, bool) {
	n, most := Disturbance{Block: block, Test: test, Wait: wait}, 0.0
	for _, r := range runs {
		i := slices.IndexFunc(r.Waits, func(w HostWait) bool {
			return w.Name == wait && w.Test == test
		})
		switch {
		case i < 0:
			return n, false
		case r.Cell.Block != block:
			most = max(most, r.Waits[i].Share)
		case n.Run == "" || r.Waits[i].Share > float64(n.Share):
			n.Run, n.RunArm, n.Share = r.Cell.Run, r.Cell.Arm, Number(r.Waits[i].Share)
		}
	}
	n.OtherMost = Number(most)
	return n, n.Run != "" && n.Share >= leastWait && float64(n.Share) >= standsOut*most
}

// disturbanceComments describe them in a sentence each.
func (b *builder) disturbanceComments() []string {
	var out prose
	for _, f := range b.Verdicts {
		for _, n := range b.Disturbances {
			if n.Engine != f.Engine || n.Arm != f.Arm {
				continue
			}
			what := "the hypervisor took %s of the time of the target's cores"
			if n.Wait == WaitDisk {
				what = "all work on the target's host waited for a disk in %s of the time"
			}
			out.add(
				"%spair %d stands out in %s; in the %s test of its run of %s "+what+", in no run of another pair in more than %s. It may be why.",
				b.whose(f),
				n.Block,
				list(n.Endpoints),
				n.Test,
				b.armLabel(n.RunArm),
				share(float64(n.Share)),
				share(float64(n.OtherMost)),
			)
		}
	}
	return out
}
