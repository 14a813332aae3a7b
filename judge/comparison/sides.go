package comparison

import (
	"maps"
	"slices"
	"sync"

	"plimsoll/judge/verdict"
	"plimsoll/plan"
)

// A side is one of two that are compared: an arm on a database.
type side struct{ arm, engine string }

// A pairing holds the pairs of each endpoint of two sides, and the runs that failed.
type pairing struct {
	Judgement // without a verdict
	name      string
	label     [2]string
	endpoints []endpointPairs
	left      []string // endpoints that the plan could not decide
	// attempts count the runs of both sides, unclear the void runs whose reason may be the target's
	// doing. With always, attempts are judged though none failed.
	attempts [2]verdict.Attempts
	unclear  [2]int
	always   bool
	// counted means that runs without a number are reported, and do not leave out an endpoint.
	counted bool
}

// endpointPairs are the pairs of one endpoint.
type endpointPairs struct {
	plan.Endpoint
	pairs   []verdict.Pair
	unknown string // the reason why nothing follows about either side; empty for most
	// tell adds findings beyond the pairs to the result.
	tell func(r *verdict.Result, opt verdict.Options)
}

// judgeSides judges every arm against the first on each database, and every database against the
// first within each arm, from what gather returns of two sides. Databases that have nothing to
// compare under one load are left out.
func judgeSides(arms, engines []string, opt verdict.Options,
	gather func(base, other side, label [2]string) pairing) (ofArms, ofDatabases []Judgement) {
	fresh, others := arms[1:], engines[min(1, len(engines)):]
	ofArms = make([]Judgement, len(engines)*len(fresh))
	ofDatabases = make([]Judgement, len(others)*len(arms))
	var wg sync.WaitGroup
	later := func(to *Judgement, base, other side, label [2]string) {
		wg.Go(func() {
			p := gather(base, other, label)
			p.Engine = other.engine
			p.Arm = other.arm
			p.label = label
			*to = p.judge(opt)
		})
	}
	for i, e := range engines {
		for k, a := range fresh {
			label := [2]string{arms[0], a}
			later(&ofArms[i*len(fresh)+k], side{arms[0], e}, side{a, e}, label)
		}
	}
	for i, e := range others {
		for k, a := range arms {
			label := [2]string{engines[0], e}
			later(&ofDatabases[i*len(arms)+k], side{a, engines[0]}, side{a, e}, label)
		}
	}
	wg.Wait()
	ofDatabases = slices.DeleteFunc(ofDatabases, func(j Judgement) bool {
		return j.OtherLoad != "" && len(j.Verdict.Results) == 0
	})
	return ofArms, ofDatabases
}

// judge judges the pairs of each endpoint and the numbers of failed runs, and combines the results.
func (p *pairing) judge(opt verdict.Options) Judgement {
	opt.BaseName, opt.NewName = p.label[0], p.label[1]
	var results []verdict.Result
	for _, e := range p.endpoints {
		r := verdict.Judge(e.Endpoint, e.pairs, opt)
		if e.unknown != "" {
			r = verdict.Unknown(e.Endpoint, e.unknown, opt)
		}
		e.tell(&r, opt)
		results = append(results, r)
	}
	x, y := p.attempts[0], p.attempts[1]
	switch {
	case p.OtherLoad != "":
		// Other loads make other numbers of runs fail, and which arm they speak for is not known.
		what := "failed by the target's doing, under different loads"
		withholdFailed(results, x.Failed, y.Failed, verdict.FailedArm, what, p.label)
	case x.Failed+y.Failed > 0 || p.always:
		results = append(results, verdict.JudgeFailed(x, y, opt))
	}
	if a, b := p.unclear[0], p.unclear[1]; b > a {
		withholdFailed(results, a, b, verdict.OddNumbers,
			"are void for a reason that may be the target's doing", p.label)
	}
	p.Verdict = verdict.Combine(p.name, results, p.left...)
	if p.Skipped == nil {
		p.Skipped = map[string]string{}
	}
	maps.Copy(p.Skipped, p.Verdict.NotJudged())
	return p.Judgement
}
