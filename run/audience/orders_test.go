package audience

import (
	"testing"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
)

// registered is a behavior with so many accounts.
type registered struct {
	workload.Behavior
	accounts int
}

func (r registered) Most() (users int, ok bool) { return r.accounts, r.accounts > 0 }

// TestMostUsers bounds the users that a person may set by the accounts of each behavior: a user
// without one would end the run.
func TestMostUsers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ready int
		mix   []engine.Part
		want  int
	}{
		{"an account for each, and one", 24, []engine.Part{{
			Behavior: registered{accounts: 25},
			Share:    1,
		}}, 24},
		{"half have accounts", 24, []engine.Part{{
			Behavior: registered{accounts: 13},
			Share:    0.5,
		}, {Behavior: struct{ workload.Behavior }{}, Share: 0.5}}, 24},
		{"accounts of a file", 24, []engine.Part{{
			Behavior: registered{accounts: 24},
			Share:    1,
		}}, 24},
		{"no accounts", 24, []engine.Part{{Behavior: registered{}, Share: 1}}, 1000},
		{"no accounts, many users", 400, []engine.Part{{
			Behavior: struct{ workload.Behavior }{},
			Share:    1,
		}}, 4000},
		{"no share", 24, []engine.Part{{Behavior: registered{accounts: 1}}, {
			Behavior: registered{},
			Share:    1,
		}}, 1000},
	} {
		if most, bound := mostUsers(tt.ready, tt.mix); most != tt.want || bound == "" {
			t.Errorf("%s: %d users (%s), want %d", tt.name, most, bound, tt.want)
		}
	}
}
