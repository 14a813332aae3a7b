package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/measure"
)

// An OpError is a call that did not have its effect.
type OpError struct {
	Op     string // name of the op, without prefix
	Class  measure.Class
	Status int // of the answer; 0 if there was none
	// The server's identifier of the error ("api.context.permissions.app_error") as [plain.ID]
	// shows it, or "".
	Code string
	// Cause is the reason, with its remedy, of a failure that lies at the address, at this host or
	// at a proxy between it and the server, or "".
	Cause string
	After time.Duration // the wait that a refusal requests; 0 if it requests none
	Err   error         // the error, if it is not just the status
	// Expected reports that the answer is right where another user was faster: recorded as ok,
	// although the call did not have its effect.
	Expected bool
}

// Error names the op and the known cause. It holds nothing of the request but its name.
func (e *OpError) Error() string {
	text := e.Op + ": "
	if e.Status != 0 {
		text += fmt.Sprintf("status %d ", e.Status)
	}
	if e.Code != "" {
		text += e.Code + " "
	}
	if e.Err != nil {
		text += plain.Excerpt(e.Err.Error(), mostCause) + " "
	}
	text += fmt.Sprintf("(%s)", e.Class)
	if e.Cause != "" {
		text += ": " + e.Cause
	}
	return text
}

// mostCause bounds the text of a cause, in bytes: it may hold text of the server.
const mostCause = 500

// Unwrap returns the cause.
func (e *OpError) Unwrap() error { return e.Err }

// LacksLicense reports whether the server refused for want of a license, which it does with various
// statuses.
func (e *OpError) LacksLicense() bool {
	return e.Status >= 400 && strings.Contains(e.Code, "license")
}

// over reports whether err comes from the end of the run, not from the server.
func over(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled)
}

// ErrEffect is the error of an answer that does not show the effect of the call.
var ErrEffect = errors.New("the answer does not show the effect")

// noEffect returns [ErrEffect] with the reason.
func noEffect(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrEffect}, args...)...)
}

// Declined reports whether the server itself refused a request, which then has no effect. A server
// or proxy that fails, or a connection that breaks, may have carried it out.
func Declined(err error) bool {
	e, ok := errors.AsType[*OpError](err)
	return ok && e.Status/100 == 4
}

// Unnamed reports whether the server accepted a post by an answer that does not name it: it cannot
// be looked for later.
func Unnamed(err error) bool {
	e, ok := errors.AsType[*OpError](err)
	return ok && e.Class == measure.Decode && e.Status/100 == 2
}
