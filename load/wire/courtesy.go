package wire

import "runtime"

// A courtesy decides whether a user who has sent a request lets the others go first who can run
// now, before it looks for the answer. Where many send at the same moment, theirs go out one after
// the other, and most answers are there when the users look: they need neither wait for the poller
// nor be woken by it, and no read finds nothing. A user who is alone has nobody to let pass.
// Nothing is late by it: the answer's arrival is the kernel's, and a user whose answer waits to be
// read waits for its core in any case.
//
// It learns: after an answer that was not there, the user looks at once for the next requests.
type courtesy struct{ skip, misses uint8 }

// mostMisses bounds what is remembered: after so many answers in a row that were not there, it is
// tried again once in 1<<mostMisses requests.
const mostMisses = 5

// now lets the others pass, if that is worth it, and reports whether it did.
func (t *courtesy) now() bool {
	if t.skip > 0 {
		t.skip--
		return false
	}
	runtime.Gosched()
	return true
}

// learn takes in whether the answer was there after the others had passed.
func (t *courtesy) learn(there bool) {
	if there {
		t.misses = 0
		return
	}
	t.misses = min(t.misses+1, mostMisses)
	t.skip = 1<<t.misses - 1
}
