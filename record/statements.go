package record

import "plimsoll/watch/query"

// StatementsFile holds the statements of the database in the measured phase of a run.
const StatementsFile = "statements.json"

// StatementsVersion is the version of that file which this package writes.
const StatementsVersion = 1

// MostStatements bounds the statements that a run keeps by themselves.
const MostStatements = 500

// Statements writes the statements of the run.
func (w *Writer) Statements(r query.Census) error {
	r.Format = StatementsVersion
	return w.add(StatementsFile, r)
}

// Statements reads the statements of the run; nil for a run without any.
func (r *Run) Statements() (*query.Census, error) {
	return readOptional(r, StatementsFile, StatementsVersion, func(s *query.Census) int {
		return s.Format
	})
}
