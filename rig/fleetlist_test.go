package rig

import (
	"encoding/json"
	"testing"

	"plimsoll/internal/plain"
	"plimsoll/run/deploy"
)

// A roll without members, or without missing ones, has empty lists in JSON.
func TestEmptyListsOfARoll(t *testing.T) {
	keyFile, _ := fleetKeys(t, "a")
	pr := &Program{Resolver: deploy.Resolver{Secrets: new(plain.Secrets)}}
	roll, err := pr.CallRoll(t.Context(), FleetDoor{Listen: "127.0.0.1:0", Keys: keyFile}, 1, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(roll)
	if want := `{"members":[],"missing":["agent a: it has not joined"]}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}
