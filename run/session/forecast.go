package session

import (
	"fmt"
	"slices"

	"plimsoll/plan"
)

// An Outlook is a statement about a search before it runs.
type Outlook struct {
	Text string // how long it may take, and where its budget ends
	// Short is the reason why its budget may end before the capacity is met, with the remedy; "" if
	// it is ample. Where there is one, it is printed in place of Text.
	Short string
}

// Outlooks returns the outlooks of the searches of parts of a plan; without parts, of all its
// engines. It starts nothing.
func Outlooks(p *plan.Plan, parts ...RunPart) (out []Outlook, err error) {
	if p.Unbounded == nil {
		return nil, nil
	}
	if len(parts) == 0 {
		for _, e := range p.Engines() {
			parts = append(parts, RunPart{Engine: e, Unbounded: true})
		}
	}
	if len(parts) == 0 {
		parts = []RunPart{{Unbounded: true}}
	}

	for _, pt := range parts {
		search := pt.Tests(p).Search
		if search == nil {
			continue
		}
		f, err := search.Forecast()
		if err != nil {
			return nil, plan.Usagef("unbounded: %w", err)
		}
		text := fmt.Sprintf("search from %d to at most %d users: %v", search.Start, search.Max, f)
		// one start, one forecast
		if one := (Outlook{text, f.Short()}); !slices.Contains(out, one) {
			out = append(out, one)
		}
	}
	return out, nil
}

// Foretell prints before searches how long they may take and where their budgets end, and warns of
// a budget that is too short. A part without a search has none.
func (s *Session) Foretell(parts ...RunPart) error {
	all, err := Outlooks(s.Plan, parts...)
	for _, f := range all {
		if f.Short == "" {
			s.Progress.Say("%s", f.Text)
		} else {
			s.Progress.Say("plimsoll: warning: %s", f.Short)
		}
	}
	return err
}
