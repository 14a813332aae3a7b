package query

// A Statement is one normalized statement and its figures.
type Statement struct {
	// Text is normalized: its constants are $1, $2, ... or ?, and its comments are gone.
	Text string `json:"text"`
	// Operation is the one that issued it, by a comment in the statement; empty if unknown.
	Operation string `json:"operation,omitempty"`
	Figures
	// Plan is the shape of its plan; nil if none was taken.
	Plan *Node `json:"plan,omitempty"`
}

// Figures are the counts of a statement, or of many.
type Figures struct {
	Calls   float64 `json:"calls"`
	Seconds float64 `json:"seconds"` // of execution
	Rows    float64 `json:"rows"`    // sent or changed
	// Hit and Read are blocks from the server's cache and from beyond it (PostgreSQL). On a server
	// that counts no blocks by statement Hit is 0 and Read the rows that were examined.
	Hit  float64 `json:"hit"`
	Read float64 `json:"read"`
}

// A Node is one step of a plan, without costs and numbers of rows.
type Node struct {
	Kind     string `json:"kind"` // as the server names it, such as "Index Scan"
	Relation string `json:"relation,omitempty"`
	Index    string `json:"index,omitempty"`
	Children []Node `json:"children,omitempty"` // in the order in which they are joined
}
