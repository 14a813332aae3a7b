package trial

import (
	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/plan"
)

// scriptGate is the gate of exceptions in scripts.
const scriptGate = "script"

// readScript takes the part of the iterations that ended in an exception.
func readScript(st stretch) Reading {
	v, _, ok := st.scripted(plan.ScriptExceptions)
	if !ok {
		return NoNeed("no iteration of a script has ended")
	}
	return Reading{Value: 100 * v}
}

// thrown is the note of a reading of the gate of exceptions, of which it has the first; "" of any
// other gate.
func (r *run) thrown(g plan.Gate) string {
	if g.Name != scriptGate || r.Thrown == nil {
		return ""
	}
	return r.Thrown()
}

// scripted returns which part of a script's iterations ended in an exception, or of its checks did
// not hold, and of how many.
func (s stretch) scripted(arg string) (v float64, n uint64, ok bool) {
	of := workload.OfIterations
	if arg == plan.FailedChecks {
		of = workload.OfChecks
	}
	w := s.merged(of)
	if n = w.Count(); n == 0 {
		return 0, 0, false
	}
	return float64(w.Classes[measure.Script]) / float64(n), n, true
}
