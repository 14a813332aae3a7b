package workload

import (
	"errors"

	"plimsoll/load/measure"
	"plimsoll/load/wire"
)

// ClassOf maps a failure of package wire to its class; a refused WebSocket handshake has the class
// of its status. An error that is not of wire is one of decoding: [measure.Decode].
func ClassOf(err error) measure.Class {
	e, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return measure.Decode
	}
	if e.Timeout {
		return measure.Timeout
	}
	if h, ok := errors.AsType[*wire.HandshakeError](err); ok && h.Status >= 400 {
		return ClassOfStatus(h.Status)
	}
	switch e.Phase {
	case wire.PhaseDial:
		return measure.Dial
	case wire.PhaseTLS:
		return measure.TLS
	case wire.PhaseNone, wire.PhaseWrite:
		return measure.Write
	case wire.PhaseHeader:
		return measure.Header
	case wire.PhaseBody:
		return measure.Body
	case wire.PhaseWS:
		return measure.WS
	}
	return measure.Header
}

// ClassOfStatus is the class of an answer with an unwanted status.
func ClassOfStatus(status int) measure.Class {
	switch {
	case status >= 500:
		return measure.Status5xx
	case status >= 400:
		return measure.Status4xx
	}
	return measure.Decode
}
