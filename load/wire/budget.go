package wire

import (
	"errors"
	"sync/atomic"
)

// DefaultBudget is the limit of the process's budget until [Budget.SetLimit] changes it, in bytes.
const DefaultBudget = 192 << 20

// A Budget limits the bytes that all responses and messages under way hold together, over any
// number of connections. The bytes of a buffer beyond its first 4 KiB count, and so does the memory
// of gzip: an operation whose answer fits into 4 KiB takes nothing from a budget and never fails
// for want of it. All methods are safe for concurrent use. The zero Budget has the limit 0.
type Budget struct {
	limit, used, peak atomic.Int64
	// used changes often; the padding keeps other fields off its cache line
	_ [40]byte
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget {
	b := new(Budget)
	b.limit.Store(limit)
	return b
}

// process is the budget of all connections whose configuration names no other: memory is the
// process's, so one value is.
var process = NewBudget(DefaultBudget)

// Process returns the budget of all connections that have none of their own.
func Process() *Budget { return process }

// SetLimit changes the limit, in bytes. Bytes already held stay held.
func (b *Budget) SetLimit(limit int64) { b.limit.Store(limit) }

// Limit returns the limit, in bytes.
func (b *Budget) Limit() int64 { return b.limit.Load() }

// Used returns the bytes that are held at present.
func (b *Budget) Used() int64 { return b.used.Load() }

// Peak returns the most bytes that were held at once since the last call of Peak.
func (b *Budget) Peak() int64 { return b.peak.Swap(b.used.Load()) }

// take takes n bytes out of the budget, the process's for nil, or nothing if they do not fit.
func (b *Budget) take(n int64) bool {
	if b == nil {
		b = process
	}
	for {
		used := b.used.Load()
		if used+n > b.limit.Load() {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			used += n
			for peak := b.peak.Load(); used > peak && !b.peak.CompareAndSwap(peak, used); peak = b.peak.Load() {
			}
			return true
		}
	}
}

// give returns n bytes.
func (b *Budget) give(n int64) {
	if b == nil {
		b = process
	}
	b.used.Add(-n)
}

// Limits of a server's answers; that of a body is in [Request]. They come
// wrapped in an [*Error], and [Refused] counts them.
var (
	// ErrBudget reports that the answer did not fit into the rest of the process's budget: it need
	// not be large itself. Its class is the one of bodies, or of WebSockets.
	ErrBudget = errors.New("no room in this process's byte budget for answers")
	// ErrMessageSize is a WebSocket message of more than 1 MiB.
	ErrMessageSize = errors.New("message is larger than allowed")
	// ErrFragments is a WebSocket message of more than 4,096 fragments: one for each 256 bytes of 1
	// MiB.
	ErrFragments = errors.New("message has more fragments than allowed")
	// ErrControls is a server that sent more than 100 control frames within ten seconds.
	ErrControls = errors.New("more control frames than allowed")
	// ErrElements is an answer of more elements than its decoder accepts; see [Exceeded].
	ErrElements = errors.New("the answer has more elements than allowed")
)

// Refusals counts answers that were cut off because they were beyond a limit.
type Refusals struct {
	Bodies    int64 `json:"bodies,omitempty"`    // ErrBodySize: decoded bytes of a response
	Messages  int64 `json:"messages,omitempty"`  // ErrMessageSize
	Fragments int64 `json:"fragments,omitempty"` // ErrFragments
	Controls  int64 `json:"controls,omitempty"`  // ErrControls
	Headers   int64 `json:"headers,omitempty"`   // ErrHeaderSize
	Elements  int64 `json:"elements,omitempty"`  // ErrElements
	Budget    int64 `json:"budget,omitempty"`    // ErrBudget
}

// kinds are the errors that are counted, in the order of the fields of Refusals.
var kinds = [...]error{
	ErrBodySize,
	ErrMessageSize,
	ErrFragments,
	ErrControls,
	ErrHeaderSize,
	ErrElements,
	ErrBudget,
}

var refused [len(kinds)]atomic.Int64

func (r *Refusals) fields() [len(kinds)]*int64 {
	return [...]*int64{
		&r.Bodies,
		&r.Messages,
		&r.Fragments,
		&r.Controls,
		&r.Headers,
		&r.Elements,
		&r.Budget,
	}
}

// Refused returns the counts over the life of the process. Any number of goroutines may call it at
// any time.
func Refused() (r Refusals) {
	for i, n := range r.fields() {
		*n = refused[i].Load()
	}
	return r
}

// Add returns the counts of two processes.
func (r Refusals) Add(o Refusals) Refusals { return r.Sub(Refusals{}.Sub(o)) }

// Sub returns the counts since an earlier reading.
func (r Refusals) Sub(old Refusals) Refusals {
	less := old.fields()
	for i, n := range r.fields() {
		*n -= *less[i]
	}
	return r
}

// Beyond returns how many answers and messages were beyond a limit of their own; those that the
// budget had no room for are not among them.
func (r Refusals) Beyond() int64 {
	return r.Bodies + r.Messages + r.Fragments + r.Controls + r.Headers + r.Elements
}

// count counts err if it is of one of the limits.
func count(err error) {
	for i, kind := range kinds {
		if err == kind {
			refused[i].Add(1)
			return
		}
	}
}

// Exceeded returns the failure of an operation whose answer was read and is beyond a limit of its
// decoder, such as [ErrElements]; it counts in [Refused]. Its phase is [PhaseBody].
func Exceeded(limit error) *Error {
	count(limit)
	return &Error{Phase: PhaseBody, Err: limit}
}
