package mattermost

import (
	"errors"
	"testing"
	"time"

	"plimsoll/dialect/mattermost/api"
)

// TestReferenceAnswersAsExpected: requests of persons of two processes for a post that one of them
// has just deleted are answered as listed.
func TestReferenceAnswersAsExpected(t *testing.T) {
	_, here, there := twoProcesses(t)
	noError(t, (&act{t.Context(), here}).post(here.channel(), api.Draft{Message: "a slip"}))
	id := newestOwn(t, here).String()
	noError(t, deletePost(&act{t.Context(), here}))
	for name, ask := range map[string]func() error{
		"get_thread": func() error {
			_, err := there.c.Thread(t.Context(), id)
			return err
		},
		"read_thread": func() error {
			_, err := there.c.ReadThread(t.Context(), there.id, there.team, id, time.Now().UnixMilli())
			return err
		},
		"react": func() error {
			return there.c.React(t.Context(), there.id, id, "tada")
		},
		"acknowledge_post": func() error { return there.c.Acknowledge(t.Context(), there.id, id) },
	} {
		if e, ok := errors.AsType[*api.OpError](ask()); !ok || !e.Expected {
			t.Errorf("%s: %+v, want an expected answer", name, e)
		}
	}
}
