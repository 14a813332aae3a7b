package console

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"

	"plimsoll/internal/plain"
	"plimsoll/judge/sizing"
	"plimsoll/record"
)

func (s *Console) sizing(w http.ResponseWriter, r *http.Request, z *record.Sizing) {
	// Steps with an error say so in their text; they are graded again at the next request.
	steps, _ := s.graded.of(
		filepath.Join(s.store.SizingDir(z.ID), sizingFile),
		func() ([]gradedStep, error) {
			return s.grade(r.Context(), z)
		},
	)
	answer(w, map[string]any{
		"id":        z.ID,
		"plan":      z.Name,
		"state":     s.wholeState("sizings", z.ID, z.State),
		"began":     z.Started,
		"steps":     steps,
		"documents": documents(s.store, "sizings", z.ID),
	})
}

// A gradedStep is a step of a sizing with what its report will say of it.
type gradedStep struct {
	Run   string       `json:"run"`
	Users int          `json:"users"`
	Valid bool         `json:"valid"`
	Grade sizing.Grade `json:"grade,omitempty"`
	Text  string       `json:"text"` // the rule that gave the grade, or why there is none
	// Lost is the number of messages that the target had acknowledged and that could not be read
	// back.
	Lost int `json:"lost,omitempty"`
}

// lost counts the acknowledged messages that could not be read back after a run; none of a run
// without an audit.
func lost(run *record.Run) (int, error) {
	users, err := run.Users()
	if err != nil || users == nil || users.Audit == nil {
		return 0, err
	}
	return users.Audit.Missing, nil
}

// grade grades the steps of a sizing so far. Those whose runs cannot be read have the reason as
// their text, and the error is not nil.
func (s *Console) grade(ctx context.Context, z *record.Sizing) ([]gradedStep, error) {
	out, errs := []gradedStep{}, []error{}
	for _, of := range z.Steps {
		g := gradedStep{Run: of.Run, Users: of.Users}
		run, err := s.store.Run(of.Run)
		if err == nil {
			g.Valid = run.Validity.Valid
			var step sizing.Step
			if step, err = s.catalog.Of(run).Step(ctx, of.Users); err == nil {
				step = sizing.Size([]sizing.Step{step}, sizing.Machine{}, nil).Steps[0]
				g.Valid = step.Valid
				g.Grade = step.Grade
				g.Text = step.Rule
			}
			var unread error
			g.Lost, unread = lost(run)
			err = errors.Join(err, unread)
		}
		if err != nil {
			g.Text = plain.Error(err)
			errs = append(errs, err)
		}
		out = append(out, g)
	}
	return out, errors.Join(errs...)
}
