package report

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes the document on one line. Numbers that are not known are null; the same document gives the same bytes.
func JSON(w io.Writer, d Document) error {
	if err := json.NewEncoder(w).Encode(d); err != nil {
		return fmt.Errorf("writing report as JSON: %w", err)
	}
	return nil
}
