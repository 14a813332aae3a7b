// Package figures reads a run as a small JSON text of our own, for numbers of tools without an
// importer:
//
//	{
//	  "label": "v11.1.0", "database": "Postgres", "test": "unbounded",
//	  "figures": [
//	    {"name": "capacity", "value": 16378, "unit": "users"},
//	    {"name": "p95(post)", "value": 181.5, "unit": "ms", "operations": 120000}
//	  ]
//	}
//
// Only figures has to be there, and of a figure name and value. "at_least": true marks a lower
// bound, "aside": true a figure that is shown and not judged. Unknown keys are errors.
//
// The package refuses to judge.
package figures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"plimsoll/record"
)

// Tool is the name of the tool in the result of Read.
const Tool = "figures"

type file struct {
	Label    string            `json:"label"`
	Database string            `json:"database"`
	Test     string            `json:"test"`
	Figures  []json.RawMessage `json:"figures"`
}

type figure struct {
	Name       string   `json:"name"`
	Value      *float64 `json:"value"`
	Unit       string   `json:"unit"`
	AtLeast    bool     `json:"at_least"`
	Aside      bool     `json:"aside"`
	Operations int64    `json:"operations"`
}

// Detect reports whether a text looks like such a file.
func Detect(data []byte) bool {
	var in struct {
		Figures json.RawMessage `json:"figures"`
	}
	return json.Unmarshal(data, &in) == nil && in.Figures != nil
}

// Read reads one file: one run.
func Read(source string, data []byte) ([]record.Imported, error) {
	var in file
	if err := record.UnmarshalImported(data, &in); err != nil {
		return nil, err
	}
	if err := strict(data, &in); err != nil {
		return nil, err
	}
	g := record.Imported{
		Source:   source,
		Tool:     Tool,
		Label:    in.Label,
		Database: in.Database,
		Test:     in.Test,
	}
	from := 0
	for _, raw := range in.Figures {
		// The elements stand in the text in their order; each is found behind the one before it.
		offset := from + max(bytes.Index(data[from:], raw), 0)
		from = offset + len(raw)
		line := record.LineOf(data, int64(offset))
		var f figure
		if err := strict(raw, &f); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if f.Value == nil {
			return nil, fmt.Errorf("line %d: %s has no value", line, record.QuoteImported(f.Name))
		}
		g.Figures = append(g.Figures, record.Figure{
			Name:    f.Name,
			Value:   *f.Value,
			Unit:    f.Unit,
			Line:    line,
			AtLeast: f.AtLeast,
			Aside:   f.Aside,
			Ops:     f.Operations,
		})
	}
	return []record.Imported{g}, g.Check()
}

// strict decodes and refuses keys that are not known.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil && !errors.Is(err, io.EOF) {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}
