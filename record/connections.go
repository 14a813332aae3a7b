package record

import "fmt"

// Connections counts how often a server had closed a connection that it had kept open, over a run.
// Of Requests that the users sent, Repeated were sent a second time, on a new connection, because
// the first came to nothing; Reopened found the end of theirs before they were sent.
type Connections struct {
	Requests int64 `json:"requests"`
	Repeated int64 `json:"repeated"`
	Reopened int64 `json:"reopened"`
	// OfAll is true if the counts cover all runs of the block: in a duet of targets that are not
	// paused, answers come in any turn.
	OfAll bool `json:"of_all,omitempty"`
}

// OfAll ends a text on counts that cover all runs of a block.
const OfAll = " (of all arms of the block: their servers were not paused, and answered in each other's turns)"

// whose ends a text on counts.
func whose(ofAll bool) string {
	if ofAll {
		return OfAll
	}
	return ""
}

// MostRepeated is the part of the requests of which a run may have repeated more without a finding.
const MostRepeated = 0.01

// Finding is amber when more than MostRepeated of the requests were repeated, and at least 10: a
// user would have waited for each of them.
func (c Connections) Finding() (f Finding, bad bool) {
	share := float64(c.Repeated) / float64(max(c.Requests, 1))
	return Finding{
			Gate:  "repeats",
			Level: Amber,
			Value: 100 * share,
			Limit: 100 * MostRepeated,
			Unit:  "%",
			Text: fmt.Sprintf(
				"%d of %d requests were repeated on a new connection, because the server had closed the one that it had kept open; each counts once, with the time of both",
				c.Repeated,
				c.Requests,
			) + whose(c.OfAll),
		},
		c.Repeated >= 10 && share > MostRepeated
}

// String is a sentence for persons; "" when no connection was closed.
func (c Connections) String() string {
	if c.Repeated+c.Reopened == 0 {
		return ""
	}
	return fmt.Sprintf(
		"of %d requests, %d were repeated because the server closed their kept connection, and %d found it closed before they were sent",
		c.Requests,
		c.Repeated,
		c.Reopened,
	) + whose(c.OfAll)
}
