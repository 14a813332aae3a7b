package plan

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Located returns problems that were found beside the checks of [Parse] as one error, each at its place
// in the source of the plan, or at that of the nearest key around it. Without a source they have none.
func Located(src []byte, problems []Problem) *Error {
	d := &decoder{nodes: map[string]*yaml.Node{}, bad: map[string]bool{}, unread: map[string]bool{}}
	if root := d.document(src); root != nil {
		var p Plan
		d.value("", root, reflect.ValueOf(&p).Elem(), "")
	}
	out := make([]Problem, len(problems))
	for i, p := range problems {
		if n := d.place(p.Path); n != nil && p.Path != "" {
			p.Line, p.Col = n.Line, n.Column
		}
		out[i] = p
	}
	return newError(out, 0)
}
