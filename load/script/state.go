package script

import (
	"encoding/json"
	"fmt"

	"plimsoll/load/workload"
)

// state is what users in another process get beside the bundle.
type state struct {
	Values  map[string]string `json:"values,omitempty"`
	Result  json.RawMessage   `json:"result,omitempty"`
	Actions []ActionWeight    `json:"actions"`
	Has     Described         `json:"has"`
	// Iterations is that setting.
	Iterations int64 `json:"iterations,omitempty"`
}

// State implements workload.Portable. All users have the same.
func (b *Behavior) State([]int) ([]byte, error) {
	p := b.play
	if p == nil {
		return nil, errUnready
	}
	return json.Marshal(state{Values: p.values, Result: p.result, Actions: p.actions, Has: p.has,
		Iterations: p.iterations})
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
	p.values, p.result, p.actions, p.has = s.Values, s.Result, s.Actions, s.Has
	p.iterations = s.Iterations
	b.play = p
	return nil
}
