package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
)

// A Phase is the part of an operation that failed.
type Phase uint8

// The phases of an operation, in their order.
const (
	// before anything was sent: the request itself is wrong, or the context was over.
	PhaseNone   Phase = iota
	PhaseDial         // making the TCP connection, name resolution included
	PhaseTLS          // the TLS handshake
	PhaseWrite        // sending the request
	PhaseHeader       // waiting for and reading the status line and the header
	PhaseBody         // reading and decoding the body
	PhaseWS           // the WebSocket handshake (after TLS) and everything after it
)

var phaseNames = [...]string{"request", "dial", "tls", "write", "header", "body", "websocket"}

// String returns the phase's name in lower case.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase %d", uint8(p))
}

// An Error is a failed operation of a [Client] or a [WS]. Every error that they return is an
// *Error.
type Error struct {
	Phase   Phase
	Timeout bool  // the operation's time was over, by Config.Timeout or by the context's deadline
	Err     error // the cause; context.Canceled (wrapped) if the caller gave up
}

// Error describes the failure. It never contains header values or bodies of the request.
func (e *Error) Error() string {
	if e.Timeout {
		return e.Phase.String() + ": timed out: " + e.Err.Error()
	}
	return e.Phase.String() + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errors that a caller may want to distinguish; they come wrapped in an [*Error].
var (
	ErrClosed     = errors.New("client is closed")
	ErrHeaderSize = errors.New("response header is too large")
	ErrNoHTTP2    = errors.New("the server does not speak HTTP/2: it chose no h2 by ALPN")
	ErrTLSPort    = errors.New("the answer is a TLS alert, not HTTP")
	// see DefaultMaxBody and Request.MaxBody.
	ErrBodySize = errors.New("response body is larger than allowed")
)

// A ProtocolError is a message from the server that breaks HTTP or WebSocket.
type ProtocolError string

// Error returns the complaint.
func (e ProtocolError) Error() string { return string(e) }

// newError wraps err. A context that is over explains the failure better than the I/O error that it
// caused.
func newError(ctx context.Context, phase Phase, err error) *Error {
	if cerr := ctx.Err(); cerr != nil {
		return &Error{Phase: phase, Timeout: errors.Is(cerr, context.DeadlineExceeded), Err: cerr}
	}
	count(err)
	if err == ErrBudget && phase == PhaseHeader {
		phase = PhaseBody // wherever the room ended: it is the answer that did not fit
	}
	return &Error{Phase: phase, Timeout: isTimeout(err), Err: err}
}

func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	ne, ok := errors.AsType[net.Error](err)
	return ok && ne.Timeout()
}
