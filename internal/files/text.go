package files

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// Text returns a text that a person or another tool wrote, in UTF-8 without a byte order mark. Text
// in UTF-16 needs that mark to be recognized.
func Text(data []byte) []byte {
	order := binary.ByteOrder(binary.LittleEndian)
	switch {
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return data[len("\ufeff"):]
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return data
	}
	units := make([]uint16, 0, len(data)/2)
	for at := 2; at+1 < len(data); at += 2 {
		units = append(units, order.Uint16(data[at:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// ReadText is [Read] followed by [Text].
func ReadText(path string, most int64) ([]byte, error) {
	data, err := Read(path, most)
	return Text(data), err
}

// A CSVRow is a row of a CSV and its line, from 1. Its fields have no spaces around them.
type CSVRow struct {
	Line   int
	Fields []string
}

// Rows reads a CSV whose fields are separated by commas, semicolons or tabs: by the most frequent
// of these in its first line. Rows may differ in their number of fields. An error names the line;
// the rows before it are returned as well.
func Rows(data []byte) ([]CSVRow, error) {
	data = Text(data)
	first, _, _ := bytes.Cut(bytes.TrimLeft(data, "\r\n"), []byte("\n"))
	in := csv.NewReader(bytes.NewReader(data))
	in.FieldsPerRecord = -1
	often := func(separator rune) int { return strings.Count(string(first), string(separator)) }
	for _, separator := range ";\t" {
		if often(separator) > often(in.Comma) {
			in.Comma = separator
		}
	}
	var rows []CSVRow
	for {
		fields, err := in.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if bad, ok := errors.AsType[*csv.ParseError](err); ok {
			return rows, fmt.Errorf("line %d: not a CSV: %w", bad.Line, bad.Err)
		}
		if err != nil {
			return rows, err
		}
		line, _ := in.FieldPos(0)
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		rows = append(rows, CSVRow{line, fields})
	}
}
