package workload

import (
	"context"
	"slices"
	"time"
)

// An Auditor is a Behavior that can read back what was acknowledged.
type Auditor interface {
	// Audit reads every message, after the users have stopped, and says which can be read. Its operations are
	// recorded under names that begin with Setup. It ends by ctx with what it has: messages that it did not come to
	// are neither readable nor missing. An error means that it could not be done, not that something is missing.
	Audit(ctx context.Context, env Env, acked []AckedMessages) (AuditResult, error)
}

// An AuditResult says what became of the acknowledged messages.
type AuditResult struct {
	// Expected is the number of messages that should be readable, Readable of those that were, Missing of those that
	// are not there. What is left of Expected was not looked at.
	Expected int `json:"expected"`
	Readable int `json:"readable"`
	Missing  int `json:"missing"`
	// NotAudited is the number of messages that the target let nobody read who could be asked: whether it kept them is not
	// known. They are part of Expected and neither Readable nor Missing. Refusals has up to five of the reasons.
	NotAudited int      `json:"not_audited,omitempty"`
	Refusals   []string `json:"refusals,omitempty"`
	// MissingIDs names up to ten of the missing.
	MissingIDs []string `json:"missing_ids,omitempty"`
	// Part is the part of the acknowledged messages that Expected is: below 1 it is a sample.
	Part float64 `json:"part"`
	// Note says what else there is to know, such as why not all were looked at.
	Note string `json:"note,omitempty"`
	// Rows are what the target's stores hold against what they should; empty when nobody can count.
	Rows []RowCount `json:"rows,omitempty"`
}

// Miss counts a missing message and names it if there is room.
func (r *AuditResult) Miss(id string) {
	r.Missing++
	if len(r.MissingIDs) < 10 {
		r.MissingIDs = append(r.MissingIDs, id)
	}
}

// Refuse counts n messages that nobody could read, for these reasons.
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

// Again asks until the answer is no error, or one that final knows for an answer, but at most five times, with a rest of 200 ms in
// between, and not after the end of ctx. An Auditor asks a server that may be busy still, or fails some requests: one of these says
// nothing of what it holds.
func Again[T any](ctx context.Context, final func(error) bool, ask func() (T, error)) (T, error) {
	for try := 1; ; try++ {
		out, err := ask()
		if err == nil || final(err) || try == againTimes || SleepUntil(ctx, time.Now().Add(againRest)) != nil {
			return out, err
		}
	}
}
