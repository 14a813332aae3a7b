package script

import (
	"encoding/json"
	"fmt"

	"plimsoll/load/workload"
)

// state is what users in another process get beside the bundle.
type state struct {
	Values  map[string]string `json:"values,omitempty"` // of variables
	Result  json.RawMessage   `json:"result,omitempty"` // of setup; empty without
	Actions []ActionWeight    `json:"actions"`
	Has     Described         `json:"has"`
	// Iterations is the number after which a user rests until the end; 0 without one.
	Iterations int64 `json:"iterations,omitempty"`
}

// State implements workload.Portable. All users have the same.
func (b *Behavior) State([]int) ([]byte, error) {
	p := b.play
	if p == nil {
		return nil, errUnready
	}
	return json.Marshal(p.state)
}

// Restore implements workload.Portable.
func (b *Behavior) Restore(env workload.Env, text []byte) error {
	var s state
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("script: reading the state: %w", err)
	}
	p, err := newPlay(env.Script)
	if err != nil {
		return err
	}
	for name, v := range s.Values {
		if workload.SoundsSecret(name) {
			env.Secrets.Add(v)
		}
	}
	p.state = s
	b.play = p
	return nil
}
