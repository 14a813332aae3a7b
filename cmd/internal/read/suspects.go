package read

import (
	"context"
	"encoding/json"

	"plimsoll/judge/attribution"
	"plimsoll/judge/suspects"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/run/source"
)

// keepSuspects looks for the commits behind what a document has found, and adds them to it and to
// its comparison. A search that found the whole history is not repeated: the repository may have
// changed since.
func keepSuspects(ctx context.Context, from source.Repository, between *plan.Source,
	c *record.Comparison, doc *report.Document) (err error) {
	if doc.Suspects != nil && doc.Suspects.Withheld == "" {
		return nil
	}
	found := Suspects(ctx, from, between.Base, between.New, *doc)
	doc.Suspects = &found
	c.Suspects, err = json.Marshal(found)
	return err
}

// Suspects returns the commits between two revisions that touch what a document has found: of the
// first cost whose functions changed, the application's where it is one of several, and of the
// statements.
func Suspects(ctx context.Context, from source.Repository, base, fresh string,
	doc report.Document) suspects.Search {
	var of attribution.Attribution
	for _, w := range doc.Why {
		if len(w.Findings) > 0 {
			of = w.Attribution
			break
		}
	}
	var changed []suspects.Statement
	for _, s := range doc.Statements {
		for _, f := range s.Findings {
			changed = append(changed, suspects.Statement{Text: f.Text, Share: f.Share})
		}
	}
	if len(of.Findings)+len(changed) == 0 {
		return suspects.Search{Base: base, New: fresh,
			Withheld: "no function and no statement is known to have changed, so there is no commit to look for"}
	}
	return from.Search(ctx, base, fresh, of, changed)
}
