package console

import (
	"context"
	"errors"
	"net/http"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/run/live"
)

// orderWithin bounds the time in which a run must answer an order.
const orderWithin = 5 * time.Second

// order hands the order of a request to a run, comparison or sizing that is under way.
func (s *Console) order(w http.ResponseWriter, r *http.Request, o live.Order) {
	f := s.hub.run(r.PathValue("id"))
	if f == nil || f.over() {
		refuse(w, http.StatusNotFound, "nothing of this id is under way")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderWithin)
	defer cancel()
	done, err := live.Send(ctx, f.dir, o)
	switch {
	case errors.Is(err, live.ErrGone):
		refuse(w, http.StatusNotFound, "it does not answer any more: its process has ended")
	case err != nil:
		refuse(w, http.StatusConflict, plain.Error(err))
	default:
		answer(w, map[string]any{"done": plain.Text(done)})
	}
}

func (s *Console) stopIt(w http.ResponseWriter, r *http.Request) {
	var in struct{}
	if body(w, r, &in) {
		s.order(w, r, live.Order{Do: live.OrderStop})
	}
}

func (s *Console) setUsers(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Users *int    `json:"users"`
		Over  float64 `json:"over"`
	}
	if !body(w, r, &in) {
		return
	}
	if in.Users == nil {
		refuse(w, http.StatusBadRequest, "users is missing")
		return
	}
	s.order(w, r, live.Order{Do: live.OrderUsers, Users: *in.Users, Over: in.Over})
}

func (s *Console) storm(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Kind  string  `json:"kind"`
		Share float64 `json:"share"`
		Over  float64 `json:"over"`
	}
	if body(w, r, &in) {
		s.order(w, r, live.Order{
			Do:    live.OrderStorm,
			Kind:  in.Kind,
			Share: in.Share,
			Over:  in.Over,
		})
	}
}
