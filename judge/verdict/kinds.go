package verdict

import (
	"fmt"
	"strings"
)

// Kinds describes the kinds of operations behind the endpoint typical(op).
type Kinds struct {
	// Compared is the number of kinds that were compared, each against itself, and Share their
	// part of all operations that have a response time, from 0 to 1.
	Compared int     `json:"compared"`
	Share    float64 `json:"share"`
	// Left names the kinds that are left out of every block: some run has fewer than Least of them.
	Left  []string `json:"left_out,omitempty"`
	Least int      `json:"least"`
	// Changed are the kinds that changed for certain, those with the largest share first.
	Changed []KindShift `json:"changed,omitempty"`
	// Alike is what nearly all kinds have in common; nil where single kinds changed.
	Alike *AlikeKinds `json:"alike,omitempty"`
}

// AlikeKinds are kinds of operations that changed by about the same.
type AlikeKinds struct {
	Kinds int `json:"kinds"` // of those compared
	// Least and Most are the ends of the range of their changes: milliseconds where Unit is "ms",
	// else ratios of the new times to those of the base, less one.
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	Unit  string  `json:"unit,omitempty"`
}

// A KindShift is a kind of operations behind typical(OP) whose response times changed.
type KindShift struct {
	Kind string `json:"kind"`
	// Effect is the shift of the kind's own response times, as a ratio less one, with its 95 %
	// interval by itself.
	Effect float64 `json:"effect"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	// Share is the part of the endpoint's shift that is the kind's, by its weight: the shares of
	// all kinds have the sum 1, and those that go the other way are below 0.
	Share float64 `json:"share"`
	Q     float64 `json:"q"` // the share of false ones among findings as certain as this one
}

// mostLeft limits the kinds that a sentence names.
const mostLeft = 5

// Sentence returns the kinds in words: "each of 21 kinds of operations against itself, weighted by
// counts: 98 % of all operations; left out, with fewer than 10 in a run: pin, upload".
func (k Kinds) Sentence() string {
	text := fmt.Sprintf("each of %s of operations against itself, weighted by counts: "+
		"%s %% of all operations",
		Count(k.Compared, "kind"), number(100*k.Share, 1))
	if len(k.Left) == 0 {
		return text
	}
	names := strings.Join(k.Left[:min(len(k.Left), mostLeft)], ", ")
	if more := len(k.Left) - mostLeft; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s; left out, with fewer than %d in a run: %s", text, k.Least, names)
}
