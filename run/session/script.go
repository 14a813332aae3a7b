package session

import "plimsoll/load/workload"

// said records a line of the users' log, and keeps the first exception of a script.
func (r *run) said(line string) {
	if text, ok := workload.ExceptionIn(line); ok {
		r.thrown.CompareAndSwap(nil, &text)
	}
	_ = r.event("error", line)
}

// firstThrown returns the first exception of a script in the run; "" without one.
func (r *run) firstThrown() string {
	if text := r.thrown.Load(); text != nil {
		return *text
	}
	return ""
}
