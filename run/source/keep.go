package source

import (
	"context"
	"encoding/json"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
)

// Keep looks for the commits behind what a document has found, and adds them to it and to its
// comparison. A search of the whole history is not repeated: the repository may have changed since.
func (r Repository) Keep(
	ctx context.Context, between *plan.SourceRange, c *record.Comparison, doc *report.Document,
) (err error) {
	if doc.Suspects != nil && doc.Suspects.Withheld == "" {
		return nil
	}
	of, statements := doc.Changed()
	found := r.Search(ctx, between.Base, between.New, of, statements)
	doc.Suspects = &found
	c.Suspects, err = json.Marshal(found)
	return err
}
