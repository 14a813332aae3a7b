package mattermost

import (
	"testing"

	"plimsoll/load/workload"
)

// Only with cold logins and without an administrator are accounts not looked at again after a
// reset.
func TestUnseen(t *testing.T) {
	for _, tt := range []struct {
		cold   bool
		secret string
		want   bool
	}{{true, "", true}, {true, "admin_token", false}, {true, "admin_password", false},
		{false, "", false}} {
		env := workload.Env{Cold: tt.cold, Secret: oneSecret(tt.secret, "s")}
		for _, b := range []workload.Adopter{new(Person), new(Poster)} {
			if got := b.Unseen(env); got != tt.want {
				t.Errorf("%T, cold %v, with %q: %v", b, tt.cold, tt.secret, got)
			}
		}
	}
}
