package record

import "time"

// A Sizing records a ladder of load steps: which run played which step. Everything else is in the
// runs.
type Sizing struct {
	Format     int       `json:"format"`
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Tool       string    `json:"tool"`
	Plan       string    `json:"plan"` // canonical YAML
	PlanDigest string    `json:"plan_digest"`
	Engine     string    `json:"engine"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"`
	State      State     `json:"state"`
	Why        string    `json:"why,omitempty"`
	// Search is the run of the first search, and Capacity its result; empty for given steps.
	Search   string       `json:"search,omitempty"`
	Capacity *Capacity    `json:"capacity,omitempty"`
	Planned  []int        `json:"planned"` // users
	Steps    []SizingStep `json:"steps"`   // done, in their order
	// Repeated are the runs of steps that were carried out again because an agent was lost in them.
	Repeated []SizingStep `json:"repeated,omitempty"`
	// Digests and Undigested are as in a [Comparison].
	Digests    map[string]string `json:"digests,omitempty"`
	Undigested bool              `json:"-"`
}

// A SizingStep is one step. Digest is the SHA-256 of the sealed manifest.
type SizingStep struct {
	Users  int    `json:"users"`
	Run    string `json:"run"`
	Digest string `json:"digest"`
}
