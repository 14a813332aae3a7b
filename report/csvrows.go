package report

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"

	"plimsoll/internal/plain"
)

// figure writes a number with all its digits; one that is not known is empty.
func figure[F ~float64](v F) string {
	if !known(v) {
		return ""
	}
	return strconv.FormatFloat(float64(v), 'g', -1, 64)
}

// fields writes the fields of a row: texts and counts as they are, numbers with all their digits.
func fields(row ...any) []string {
	for i, v := range row {
		switch v := v.(type) {
		case float64:
			row[i] = figure(v)
		case Number:
			row[i] = figure(v)
		}
	}
	return cells(row...)
}

// writeCSV writes rows; no cell but a number begins as a spreadsheet's formula does.
func writeCSV(w io.Writer, rows [][]string) error {
	out := csv.NewWriter(w)
	for _, row := range rows {
		for i, c := range row {
			if _, err := strconv.ParseFloat(c, 64); err != nil {
				row[i] = formulaFree(c)
			}
		}
	}
	if err := out.WriteAll(rows); err != nil {
		return err
	}
	return out.Error()
}

// formulaFree keeps a spreadsheet from taking a text of the server for a formula.
func formulaFree(s string) string {
	s = plain.OneLine(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
