package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Report holds texts of a person for the report of a comparison. Each takes the place of the text that is drafted
// from the findings; the draft stays in the report's JSON. The zero value takes no place.
type Report struct {
	// Comments are the items below Comments, ActionItems those below Action Items, each in Markdown.
	Comments    []string `yaml:"comments" kind:"one-or-list"`
	ActionItems []string `yaml:"action_items" kind:"one-or-list"`
}

// mostTexts is how many items of one kind make sense.
const mostTexts = 100

// ParseReport reads a file that holds only the keys of the section report of a plan, as strictly as a plan: for
// comments that were written when the runs had been seen.
func ParseReport(src []byte) (Report, error) {
	d := &decoder{nodes: map[string]*yaml.Node{}, bad: map[string]bool{}, unread: map[string]bool{},
		empty: "the file is empty; write comments or action_items, each a text or a list of texts"}
	var r Report
	if root := d.document(src); root != nil {
		d.value("report", root, reflect.ValueOf(&r).Elem(), "")
		d.checking = true
		d.checkReport(r)
		if len(d.problems) == 0 && len(r.Comments)+len(r.ActionItems) == 0 {
			d.at("report", "holds nothing; write comments or action_items")
		}
	}
	if len(d.problems) > 0 {
		return Report{}, newError(d.problems, d.more)
	}
	return r, nil
}

func (d *decoder) checkReport(r Report) {
	for _, list := range []struct {
		path  string
		texts []string
	}{{"report.comments", r.Comments}, {"report.action_items", r.ActionItems}} {
		if len(list.texts) > mostTexts {
			d.at(list.path, "has %d texts; want at most %d", len(list.texts), mostTexts)
		}
		for i, text := range list.texts {
			path := list.path
			if item := fmt.Sprintf("%s[%d]", path, i); d.given(item) {
				path = item
			}
			if strings.TrimSpace(text) == "" && d.good(path) {
				d.at(path, "is empty; write a text, or remove it for the drafted ones")
			}
			d.secret(path, "", text)
		}
		if d.given(list.path) && len(list.texts) == 0 && d.good(list.path) {
			d.at(list.path, "is an empty list; write a text, or remove the key for the drafted ones")
		}
	}
}

// With returns the texts with those of other in place of its own, kind by kind.
func (r Report) With(other Report) Report {
	if len(other.Comments) > 0 {
		r.Comments = slices.Clone(other.Comments)
	}
	if len(other.ActionItems) > 0 {
		r.ActionItems = slices.Clone(other.ActionItems)
	}
	return r
}
