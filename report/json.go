package report

import (
	"encoding/json"
	"fmt"
	"io"

	"plimsoll/plain"
)

// JSON writes the document on one line. Numbers that are not known are null; the same document gives the same bytes.
func JSON(w io.Writer, d Document) error {
	b, err := json.Marshal(d)
	if err == nil {
		_, err = w.Write(append(plain.JSON(b), '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing report as JSON: %w", err)
	}
	return nil
}
