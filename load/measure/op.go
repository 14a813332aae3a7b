package measure

import (
	"fmt"
	"time"
)

// Class is the end of an operation. Every op ends in exactly one; [Timeout] wins over
// the phase of the failure.
type Class uint8

// The classes. Dial to WS name the phase that broke; Dropped is an op that was intended and never
// started; Script is the fault of a script of the plan, not of the target.
const (
	OK Class = iota
	Dial
	TLS
	Write
	Header
	Body
	Decode
	WS
	Timeout
	Status4xx
	Status5xx
	Dropped
	Script
	NumClasses = iota
)

var classNames = [NumClasses]string{
	"ok",
	"dial",
	"tls",
	"write",
	"header",
	"body",
	"decode",
	"ws",
	"timeout",
	"4xx",
	"5xx",
	"dropped",
	"script",
}

// String returns the class's name in rules, reports and files.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ParseClass is the inverse of String.
func ParseClass(s string) (Class, bool) {
	for i, n := range classNames {
		if n == s {
			return Class(i), true
		}
	}
	return 0, false
}

// An Op is one finished operation. The instants are offsets from the run's epoch on the monotonic
// clock and do not decrease: Intended <= Due <= Sent <= Done.
type Op struct {
	Intended, Due, Sent, Done time.Duration
	// Scheduled is true if Intended is known: from a schedule, a planned pause, or the arrival of
	// the answer after which the user could go on. Only such ops carry a lag; those of provisioning
	// and calibration have none.
	Scheduled bool
	Class     Class
	// Bytes is the size of the received body or message, in bytes.
	Bytes int64
}

// Charge sets Due so that the op waited so long for a connection, and puts the instants in order:
// all else between Intended and Sent is the generator's own, and lag. Intended, Sent and Done are
// set before.
func (o *Op) Charge(wait time.Duration) {
	o.Sent = max(o.Sent, o.Intended)
	o.Due = min(max(o.Sent-wait, o.Intended), o.Sent)
	o.Done = max(o.Done, o.Sent)
}

// Lag is the lateness of the generator: with its schedule, or between the arrival of one answer and
// being ready to send the next request.
func (o *Op) Lag() time.Duration { return o.Due - o.Intended }

// Wait is the time that the op had no connection.
func (o *Op) Wait() time.Duration { return o.Sent - o.Due }

// Service is the target's time.
func (o *Op) Service() time.Duration { return o.Done - o.Sent }

// Response is wait + service.
func (o *Op) Response() time.Duration { return o.Done - o.Due }

// Timed reports whether the class enters the latency histograms.
func (c Class) Timed() bool { return c == OK || c == Timeout }
