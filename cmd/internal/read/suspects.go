package read

import (
	"context"
	"encoding/json"

	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/run/source"
)

// keepSuspects looks for the commits behind what a document has found, and adds them to it and to
// its comparison. A search that found the whole history is not repeated: the repository may have
// changed since.
func keepSuspects(ctx context.Context, from source.Repository, between *plan.SourceRange,
	c *record.Comparison, doc *report.Document) (err error) {
	if doc.Suspects != nil && doc.Suspects.Withheld == "" {
		return nil
	}
	of, statements := doc.Changed()
	found := from.Search(ctx, between.Base, between.New, of, statements)
	doc.Suspects = &found
	c.Suspects, err = json.Marshal(found)
	return err
}
