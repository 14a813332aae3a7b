package report

import (
	"errors"
	"io"
)

var errPending = errors.New("this form of the report is not written yet")

func Markdown(w io.Writer, d Document) error          { return errPending }
func HTML(w io.Writer, d Document) error              { return errPending }
func Screen(w io.Writer, d Document, width int) error { return errPending }

type Graph struct {
	File string
	data GraphData
}

func Graphs(d Document) []Graph       { return nil }
func (g Graph) PNG(w io.Writer) error { return errPending }
func (g Graph) SVG(w io.Writer) error { return errPending }
