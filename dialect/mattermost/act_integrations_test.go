package mattermost

import (
	"testing"

	"plimsoll/reference/refchat"
)

var integrations = []string{"post_webhook", "run_command", "ask_bot"}

// The three actions have their effects, on a release of today and on 5.37.
func TestIntegrationsAreProven(t *testing.T) {
	db := databaseServer(t, "postgresql")
	for _, version := range []string{"5.37.0", "11.0.0"} {
		for name, got := range outcomes(t, db, refchat.Config{Version: version},
			append([]string{"full_reload"}, integrations...)...) {
			if got != OutcomeOK {
				t.Errorf("%s on %s: %s", name, version, got)
			}
		}
	}
}
