package workload

import (
	"context"
	"slices"
	"time"
)

// An Auditor is a Behavior that can read back acknowledged messages.
type Auditor interface {
	// Audit reads every message, after the users have stopped, and reports which can be read. Its
	// operations are recorded under names that begin with Setup. When ctx ends it returns its
	// result so far: messages that it did not come to are neither readable nor missing. An error
	// means that it could not be done, not that something is missing.
	Audit(ctx context.Context, env Env, acked []AckedMessages) (AuditResult, error)
}

// An AuditResult counts the acknowledged messages by their fate.
type AuditResult struct {
	// Expected is the number of messages that should be readable, Readable of those that were,
	// Missing of those that are not there. The rest of Expected was not checked.
	Expected int `json:"expected"`
	Readable int `json:"readable"`
	Missing  int `json:"missing"`
	// NotAudited is the number of messages that the target refused to every available reader:
	// whether it kept them is unknown. They are part of Expected and neither Readable nor Missing.
	// Refusals has up to five of the reasons.
	NotAudited int      `json:"not_audited,omitempty"`
	Refusals   []string `json:"refusals,omitempty"`
	// MissingIDs names up to ten of the missing.
	MissingIDs []string `json:"missing_ids,omitempty"`
	// Part is the part of the acknowledged messages that Expected is: below 1 it is a sample.
	Part float64 `json:"part"`
	// Note is a remark for the reader, such as the reason why not all were checked.
	Note string `json:"note,omitempty"`
	// Rows compare the content of the target's stores with the expected one; empty if it cannot be
	// counted.
	Rows []RowCount `json:"rows,omitempty"`
}

// Miss counts a missing message and names it if there is room.
func (r *AuditResult) Miss(id string) {
	r.Missing++
	if len(r.MissingIDs) < 10 {
		r.MissingIDs = append(r.MissingIDs, id)
	}
}

// Refuse counts n messages that no reader could read, for these reasons.
func (r *AuditResult) Refuse(n int, why ...string) {
	r.NotAudited += n
	for _, w := range why {
		if len(r.Refusals) < 5 && !slices.Contains(r.Refusals, w) {
			r.Refusals = append(r.Refusals, w)
		}
	}
}

const (
	againTimes = 5
	againRest  = 200 * time.Millisecond
)

// Again calls ask until it returns no error, or an error that final accepts as an answer, but at
// most five times, with 200 ms in between, and not after the end of ctx. The server of an Auditor
// may still be busy, or fail some requests: one failure does not show what it holds.
func Again[T any](ctx context.Context, final func(error) bool, ask func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		out, err := ask()
		if err == nil || final(err) || try == againTimes ||
			SleepUntil(ctx, time.Now().Add(againRest)) != nil {
			return out, err
		}
	}
}
