package plan

import (
	"bytes"
	"encoding/json"
)

// An object is one of JSON.
type object = map[string]any

// Schema returns the JSON Schema (draft 2020-12) of a plan, for editors that complete and
// underline. It is made of the tables of keys; rules that it cannot express, such as sums and
// overlaps, only [Parse] checks.
func Schema() []byte {
	root := planKeys.schema()
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Plimsoll plan"
	root["description"] = "One load test, or one comparison of several."
	if props, ok := root["properties"].(object); ok {
		props["format"] = object{
			"const":       FormatVersion,
			"description": "Version of the syntax of plans. A program that reads an older one refuses the plan.",
		}
	}
	root["anyOf"] = []any{
		object{"required": []string{"bounded"}},
		object{"required": []string{"unbounded"}},
		object{"required": []string{"sizing"}},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // maps, slices and texts only
	}
	return b.Bytes()
}

func anyOf(forms ...any) object { return object{"anyOf": forms} }

// engineSchema returns the schema of a mapping with a key for each engine.
func engineSchema(keys []string, each object) object {
	props := object{}
	for _, k := range keys {
		props[k] = each
	}
	return object{
		"type":                 "object",
		"properties":           props,
		"additionalProperties": false,
		"minProperties":        1,
	}
}
