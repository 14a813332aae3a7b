package suspects

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	leastWords = 3   // of a statement that can be recognized
	leastShare = 0.6 // of its words that a commit has to change in one place
	lessShare  = 0.1 // than the commit that changes most of its words: one that still counts
)

var (
	wordRE    = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{2,}`)
	literalRE = regexp.MustCompile("\"[^\"]*\"|'[^']*'|`[^`]*`?")
	// clauseRE is in a line of SQL, or of the calls that build it.
	clauseRE = regexp.MustCompile(
		`(?i)\b(?:select|insert|update|delete|from|join|where|values|order by|group by)\b`)
	noCode = []string{".json", ".md", ".po", ".txt"} // extensions of files
	// sqlWords are in statements of every table.
	sqlWords = strings.Fields(`select from where and order limit offset insert into values update
		set delete join left right inner outer not null count group having asc desc coalesce
		distinct returning case when then else end exists between like ilike conflict nothing max
		min sum with recursive union all for using true false`)
)

// wordsOf returns the names of tables and columns in a text, in lower case.
func wordsOf(text string) map[string]bool {
	out := map[string]bool{}
	for _, w := range wordRE.FindAllString(strings.ToLower(text), -1) {
		if !slices.Contains(sqlWords, w) {
			out[w] = true
		}
	}
	return out
}

// A place is a function of a file, or what lies between two: the words of the lines that a commit
// removes there, and of those that it adds.
type place struct{ removed, added map[string]bool }

// places returns the places that a commit changes, but for files of data and of text.
func (c Commit) places() map[[2]string]place {
	out := map[[2]string]place{}
	for _, h := range c.Hunks {
		if slices.Contains(noCode, path.Ext(h.File)) {
			continue
		}
		at := [2]string{h.File, h.Context}
		p, ok := out[at]
		if !ok {
			p = place{map[string]bool{}, map[string]bool{}}
			out[at] = p
		}
		maps.Copy(p.removed, quoted(h.Removed))
		maps.Copy(p.added, quoted(h.Added))
	}
	return out
}

// quoted returns the words of lines of code: those of literals, and all of a line with a clause.
func quoted(lines []string) map[string]bool {
	out := map[string]bool{}
	for _, line := range lines {
		if !clauseRE.MatchString(line) {
			line = strings.Join(literalRE.FindAllString(line, -1), " ")
		}
		maps.Copy(out, wordsOf(line))
	}
	return out
}

// shares returns the largest part of words that a commit changes in one place; of a statement that
// only one build has, in the lines that only this build has.
func (s SuspectStatement) shares(places map[[2]string]place, words map[string]bool) float64 {
	best := 0
	for _, p := range places {
		n := 0
		for w := range words {
			if !s.Added && p.removed[w] || !s.Removed && p.added[w] {
				n++
			}
		}
		best = max(best, n)
	}
	return float64(best) / float64(len(words))
}
