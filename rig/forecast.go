package rig

import (
	"fmt"

	"plimsoll/plan"
)

// An Outlook is a statement about a search before it runs.
type Outlook struct {
	Text string // how long it may take, and where its budget ends
	// Short is why its budget may end before the capacity is met, with the remedy; "" if it is
	// ample. Where there is one, it is printed in place of Text.
	Short string
}

// Outlooks returns the outlooks of the searches of a plan, one for each of its engines. It starts
// nothing.
func Outlooks(p *plan.Plan) ([]Outlook, error) {
	if p.Unbounded == nil {
		return nil, nil
	}
	s := &Session{Plan: p}
	engines := p.Engines()
	if len(engines) == 0 {
		engines = []string{""}
	}
	var out []Outlook
	for _, e := range engines {
		f, err := s.forecast(RunPart{Engine: e, Unbounded: true})
		if err != nil {
			return nil, err
		}
		if len(out) > 0 && out[len(out)-1].Text == f.Text {
			continue // engines with one start have one forecast
		}
		out = append(out, f)
	}
	return out, nil
}

// forecast returns the outlook of a part's search. The part has one.
func (s *Session) forecast(pt RunPart) (Outlook, error) {
	search := s.Spec(pt, nil, nil, nil, nil, nil).Search
	f, err := search.Forecast()
	if err != nil {
		return Outlook{}, plan.Usagef("unbounded: %w", err)
	}
	return Outlook{Text: fmt.Sprintf("search from %d to at most %d users: %v", search.Start, search.Max, f), Short: f.Short()}, nil
}

// Foretell prints before a search how long it may take and where its budget ends, and warns of a
// budget that is too short. A part without a search has none.
func (s *Session) Foretell(pt RunPart) error {
	if s.Plan.Unbounded == nil || !pt.Unbounded {
		return nil
	}
	f, err := s.forecast(pt)
	if err != nil {
		return err
	}
	s.say(f)
	return nil
}

func (s *Session) say(f Outlook) {
	if f.Short == "" {
		s.Progress.Say("%s", f.Text)
		return
	}
	s.Progress.Say("plimsoll: warning: %s", f.Short)
}

// ForetellAll is Foretell for the searches of a comparison, from the plan's starts.
func (s *Session) ForetellAll() error {
	all, err := Outlooks(s.Plan)
	if err != nil {
		return err
	}
	for _, f := range all {
		s.say(f)
	}
	return nil
}
