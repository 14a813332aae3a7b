package query

// A Statement is one normalized statement and its figures.
type Statement struct {
	// Text has ? for each constant and parameter, and no comment.
	Text string `json:"text"`
	// Operation is that of [Operation]; empty if unknown.
	Operation string `json:"operation,omitempty"`
	Figures
	// Plan is the shape of its plan; nil if none was taken.
	Plan *PlanStep `json:"plan,omitempty"`
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

// Add adds the figures of another statement.
func (f *Figures) Add(of Figures) {
	f.Calls += of.Calls
	f.Seconds += of.Seconds
	f.Rows += of.Rows
	f.Hit += of.Hit
	f.Read += of.Read
}

// Since returns the growth of the figures since an earlier reading. A server that has dropped the
// statement in between, and counted it anew, has fewer calls than before: all of them are growth.
func (f Figures) Since(before Figures) Figures {
	if f.Calls < before.Calls {
		return f
	}
	return Figures{
		Calls:   f.Calls - before.Calls,
		Seconds: max(0, f.Seconds-before.Seconds),
		Rows:    max(0, f.Rows-before.Rows),
		Hit:     max(0, f.Hit-before.Hit),
		Read:    max(0, f.Read-before.Read),
	}
}

// A PlanStep is one step of a plan, without costs and numbers of rows.
type PlanStep struct {
	Kind     string     `json:"kind"` // as the server names it, such as "Index Scan"
	Relation string     `json:"relation,omitempty"`
	Index    string     `json:"index,omitempty"`
	Children []PlanStep `json:"children,omitempty"` // in the order in which they are joined
}
