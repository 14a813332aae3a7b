package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
)

// A Rows holds the row counts of the stores, each as the store reports it. A missing number is
// unknown.
type Rows struct {
	// Stores holds counts by role and kind: database: participants, friendships; wide: outbound,
	// inbound; search: documents; bus: records.
	Stores map[string]map[string]int64 `json:"stores"`
	// Untold holds the reasons why the other stores are missing.
	Untold map[string]string `json:"untold,omitempty"`
	// Repeats means that a story goes to a friend once per friendship.
	Repeats bool `json:"repeats"`
	// Again is how many records were sent to the bus again since the service began, after a
	// failure: they may be there more than once.
	Again int64 `json:"again,omitempty"`
}

// A counter is a store that counts its rows.
type counter interface {
	rows(ctx context.Context) (map[string]int64, error)
}

// rows answers GET /rows. It leaves no telemetry record: who counts changes nothing.
func (s *Server) rows(w http.ResponseWriter, r *http.Request) {
	out := Rows{
		Stores:  map[string]map[string]int64{},
		Untold:  map[string]string{},
		Repeats: s.cfg.Repeats,
	}
	for role, store := range map[string]any{
		"database": s.db,
		"wide":     s.wide,
		"search":   s.search,
		"bus":      s.bus,
	} {
		c, ok := store.(counter)
		if !ok {
			out.Untold[role] = "it cannot count"
			continue
		}
		ctx, cancel := context.WithTimeout(r.Context(), requestPatience*s.cfg.timeout(role))
		n, err := c.rows(ctx)
		cancel()
		if err != nil {
			f := s.storeFailure(role, err)
			s.log.Warn("rows", "error", f)
			out.Untold[role] = f.Text
			continue
		}
		out.Stores[role] = maps.Clone(n)
	}
	// after the bus has counted: the records that it got until then are known to be sent again
	s.tel.mu.Lock()
	out.Again = s.tel.again
	s.tel.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(out); err != nil {
		s.log.Warn("rows", "error", fmt.Errorf("answering: %w", err))
	}
}
