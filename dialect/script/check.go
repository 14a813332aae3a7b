package script

import (
	"errors"
	"slices"

	"plimsoll/load/script"
	"plimsoll/load/script/bundle"
	"plimsoll/load/workload"
)

// Check lists everything in a script that does not run here, also in its options, and as notes what
// means something else than in k6. The options are those that its init code makes, which runs once;
// env has the variables for it. An error is one of the file itself.
func Check(path string, env workload.Env) ([]bundle.Construct, error) {
	all, err := bundle.Check(path)
	if err != nil || slices.ContainsFunc(all, wrong) {
		return all, err
	}
	b, d, err := read(path, env)
	if thrown, ok := errors.AsType[*script.Exception](err); ok {
		return append(all, bundle.Construct{File: b.Name, Text: "the init code", Remedy: thrown.Error()}), nil
	}
	if err != nil {
		return nil, err
	}
	s, refusals := Plan(d.Options)
	for _, r := range refusals {
		all = append(all, b.Option(r.Path, r.Text))
	}
	for _, n := range s.Notes {
		c := b.Option(n.Path, n.Text)
		c.Note = true
		all = append(all, c)
	}
	if !d.Default && len(d.Actions) == 0 {
		all = append(all, bundle.Construct{File: b.Name, Text: "exports nothing that users do",
			Remedy: "write export default function () {…}, or export const actions = {…}"})
	}
	return all, nil
}

func wrong(c bundle.Construct) bool { return !c.Note }
