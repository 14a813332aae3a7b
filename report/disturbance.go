package report

import (
	"slices"

	"plimsoll/judge/verdict"
)

// The names of a [HostWait].
const (
	WaitSteal = "steal" // the hypervisor ran other guests on the target's cores
	WaitDisk  = "disk"  // all work on the target's host waited for a disk
)

// A HostWait is the part of a test's time in which the target had to wait for resources that its
// host shares with others. The others differ from run to run: they widen intervals, and are not a
// change of the target.
type HostWait struct {
	Name  string
	Test  string  // Bounded or Unbounded
	Share float64 // of the time of the test in which was measured, 0 to 1
}

// A Disturbance is a pair that stands out in endpoints, with the reading that stands out on the
// host of one of its runs against all runs of the other pairs. Their coincidence does not prove a
// cause.
type Disturbance struct {
	Engine    string   `json:"engine"`
	Arm       string   `json:"arm"` // the finding's
	Endpoints []string `json:"endpoints"`
	Block     int      `json:"block"`
	Run       string   `json:"run"`
	RunArm    string   `json:"run_arm"`
	Test      string   `json:"test"`
	Wait      string   `json:"wait"`       // WaitSteal or WaitDisk
	Share     Number   `json:"share"`      // of the test's time, 0 to 1
	OtherMost Number   `json:"other_most"` // the largest share in a run of another pair
}

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
						b.heard(n, r.Name)
					}
				}
			}
		}
	}
}

// heard adds an endpoint to the disturbance of a run that is already known, or keeps a new one.
func (b *builder) heard(n Disturbance, endpoint string) {
	i := slices.IndexFunc(b.Disturbances, func(x Disturbance) bool {
		return x.Engine == n.Engine && x.Arm == n.Arm && x.Run == n.Run && x.Test == n.Test &&
			x.Wait == n.Wait
	})
	if i < 0 {
		i = len(b.Disturbances)
		b.Disturbances = append(b.Disturbances, n)
	}
	b.Disturbances[i].Endpoints = append(b.Disturbances[i].Endpoints, endpoint)
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
				b.whose(
					f,
				),
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
