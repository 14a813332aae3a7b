package suspects

import "plimsoll/judge/attribution"

// A Commit is a commit of a range, with what it changes.
type Commit struct {
	ID    string // whole
	Title string // first line of its message
	Hunks []Hunk
}

// A Hunk is a group of changed lines of one file, without lines around them.
type Hunk struct {
	File string // path in the repository
	// Context is the last line before the hunk that begins a function or another declaration, as
	// git prints it behind the second @@; empty if there is none.
	Context        string
	Removed, Added []string // lines
}

// A SuspectStatement is a changed statement of a database.
type SuspectStatement struct {
	Text  string  // normalized
	Share float64 // of the difference in execution time
	// Unclear says that this difference is not certain: Share is of what changed, up and down.
	Unclear bool
	// Added is a statement that only the new build has, Removed one that only the base has.
	Added, Removed bool
}

// A SuspectCommit is a commit that touches a part of a difference.
type SuspectCommit struct {
	Commit string  `json:"commit"`
	Title  string  `json:"title"`
	Reason string  `json:"reason"` // a clause that begins with a verb
	Weight float64 `json:"weight"` // share of the difference that it touches, 0 to 1
}

// A SuspectSearch is the search of a range of commits for suspects.
type SuspectSearch struct {
	Base     string          `json:"base"` // revision, as given
	New      string          `json:"new"`
	Commits  int             `json:"commits"`            // in the range
	Suspects []SuspectCommit `json:"suspects,omitempty"` // at most [Most], the heaviest first
	// Withheld is the reason why the range was not searched, or not all of it; empty if it was.
	Withheld string `json:"withheld,omitempty"`
}

// Most is the largest number of suspects of a search.
const Most = 5

// Rank returns the suspects among commits, at most [Most], for the findings of an attribution and
// the statements that changed.
func Rank(of attribution.Attribution, statements []SuspectStatement, commits []Commit) []SuspectCommit {
	r := ranking{}
	r.functions(of)
	r.statements(statements, commits)
	return r.rank(commits)
}
