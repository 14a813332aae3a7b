package suspects

import (
	"regexp"
	"slices"
	"strings"
)

const (
	leastWords = 3   // of a statement that can be recognized
	leastShare = 0.6 // of its words that a commit has to touch in one file
)

var (
	wordRE = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]{2,}`)
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

// shares returns the largest part of words that the changed lines of one file of the commit have; 0
// below [leastShare].
func (c Commit) shares(words map[string]bool) float64 {
	byFile := map[string]map[string]bool{}
	for _, h := range c.Hunks {
		has := byFile[h.File]
		if has == nil {
			has = map[string]bool{}
			byFile[h.File] = has
		}
		for _, lines := range [][]string{h.Removed, h.Added} {
			for w := range wordsOf(strings.Join(lines, "\n")) {
				has[w] = has[w] || words[w]
			}
		}
	}
	best := 0.0
	for _, has := range byFile {
		n := 0
		for w := range words {
			if has[w] {
				n++
			}
		}
		best = max(best, float64(n)/float64(len(words)))
	}
	if best < leastShare {
		return 0
	}
	return best
}
