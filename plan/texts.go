package plan

import (
	"errors"
	"slices"
	"strings"
)

// A Report holds texts of a person for the report of a comparison. Each takes the place of the text
// that is drafted from the findings; the draft stays in the report's JSON. The zero value takes no
// place.
type Report struct {
	Comments    []string `yaml:"comments"`
	ActionItems []string `yaml:"action_items"`
}

// note is the type of one item.
var note = text.checked(func(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("is empty; write a text, or remove it for the drafted ones")
	}
	return nil
})

var texts = list(wantTexts, note, "").atMost(100, "texts").
	filled("write a text, or remove the key for the drafted ones").orOne(note)

var reportKeys = section{
	{"comments", texts, `Items below Comments, in Markdown: a text or a list of them.`},
	{"action_items", texts, `Items below Action Items, in Markdown: a text or a list of them.`},
}

// ParseReport reads a file that holds only the keys of the section report of a plan, as strictly as
// a plan: for comments that were written when the runs had been seen.
func ParseReport(src []byte) (Report, error) {
	d := newDecoder(
		"the file is empty; write comments or action_items, each a text or a list of texts",
	)
	var r Report
	if root := d.document(src); root != nil {
		d.decode("report", root, &r, sub(reportKeys))
		if len(d.problems) == 0 && len(r.Comments)+len(r.ActionItems) == 0 {
			d.at("report", "holds nothing; write comments or action_items")
		}
	}
	if err := d.err(); err != nil {
		return Report{}, err
	}
	return r, nil
}

// With returns the texts of other, and of a kind that it lacks its own.
func (r Report) With(other Report) Report {
	if len(other.Comments) > 0 {
		r.Comments = slices.Clone(other.Comments)
	}
	if len(other.ActionItems) > 0 {
		r.ActionItems = slices.Clone(other.ActionItems)
	}
	return r
}
