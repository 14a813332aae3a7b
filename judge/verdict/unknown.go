package verdict

import "plimsoll/plan"

// Unknown returns an inconclusive result without pairs, for a reason that lies with neither arm:
// the endpoint could not be measured here, and nothing follows about the target.
func Unknown(e plan.Endpoint, reason string, opt Options) Result {
	r := newResult(e, nil, opt)
	r.describeArms()
	return r.conclude(Inconclusive, reason)
}
