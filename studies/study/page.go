package study

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"
	"time"

	"plimsoll/internal/files"
)

// marks are the lines around a part of a page that a program writes.
func marks(name string) (begin, end string) {
	return "<!-- " + name + " -->\n", "<!-- end of " + name + " -->"
}

// Part is a text with its marks, as it stands in a page.
func Part(name, text string) string {
	begin, end := marks(name)
	return begin + strings.TrimRight(text, "\n") + "\n" + end
}

// Insert puts a text between the marks of a page, in the place of the text that is there.
func Insert(page, name, text string) error {
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := marks(name)
	head, rest, ok := strings.Cut(string(b), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s: the marks %q and %q are missing; put them where the table belongs",
			page, begin, end)
	}
	return os.WriteFile(page, []byte(head+Part(name, text)+tail), 0o644)
}

// Minute is how pages write a time.
const Minute = "2006-01-02 15:04"

// Render fills in a text of a page, a template whose functions are those of package text/template,
// "cell", which keeps a text in the cell of a table, "percent", which is 100 times a share, and
// those of the page. A text that does not fit its data is a mistake of the program.
func Render(text string, functions template.FuncMap, data any) string {
	t := template.New("page").Funcs(template.FuncMap{
		"cell":    func(text string) string { return strings.ReplaceAll(text, "|", "/") },
		"date":    func(at time.Time) string { return at.Format(Minute) },
		"percent": func(share float64) float64 { return 100 * share },
	}).Funcs(functions)
	var b strings.Builder
	if err := template.Must(t.Parse(text)).Execute(&b, data); err != nil {
		panic(err)
	}
	return b.String()
}

// Lines reads the values of a file of JSON lines; none where there is no file. A last line that a
// kill has torn is removed from the file.
func Lines[T any](file string) (all []T, torn bool, err error) {
	text, err := os.ReadFile(file)
	if end := bytes.LastIndexByte(text, '\n') + 1; err == nil && end < len(text) {
		if err := os.Truncate(file, int64(end)); err != nil {
			return nil, true, err
		}
		torn = true
	}
	all, err = files.ReadJSONLines[T](file)
	return all, torn, err
}

// Rewrite makes a file of JSON lines of the values alone.
func Rewrite[T any](file string, all []T) error {
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	for _, v := range all {
		if err := Append(file, v); err != nil {
			return err
		}
	}
	return nil
}

// Append adds a value to a file of JSON lines.
func Append(file string, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// With appends s to a list, unless it is empty or the list has it.
func With(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// Machines names the machines of outcomes inside a sentence, in the order in which they came.
func Machines[T any](outcomes []T, of func(T) string) string {
	var names []string
	for _, o := range outcomes {
		names = With(names, of(o))
	}
	return strings.Join(names, "; and on ")
}
