package api

import (
	"errors"
	"strings"
	"testing"

	"plimsoll/load/measure"
)

// TestEndlessListIsAWrongAnswer: the last page that may be read of a list is an answer that does
// not show the effect if more follow; the one before it is good.
func TestEndlessListIsAWrongAnswer(t *testing.T) {
	one := `{"id":"x","username":"x","user_id":"x","channel_id":"x"}`
	full := stub{code: 200, body: "[" + one + strings.Repeat(","+one, 200-1) + "]"}
	c, rec := newTestClient(t, full.serve(t))
	for name, call := range map[string]func(page int) error{
		"team_members": func(page int) error {
			_, err := c.TeamMembers(t.Context(), "t", page, 200)
			return err
		},
		"channel_members": func(page int) error {
			_, err := c.ChannelMembers(t.Context(), "c", page, 200)
			return err
		},
		"my_channel_members": func(page int) error {
			_, err := c.MyChannelMembers(t.Context(), "x", page, 200)
			return err
		},
		"public_channels": func(page int) error {
			_, err := c.PublicChannels(t.Context(), "t", page, 200)
			return err
		},
		"user_report": func(page int) error {
			_, err := c.UserReport(t.Context(), page, "a", "b", 50)
			return err
		},
		"get_thread": func(page int) error {
			defer func(list string) { full.body = list }(full.body)
			full.body = `{"order":[],"posts":{},"has_next":true}`
			_, _, err := c.ThreadPage(t.Context(), "r", page, Seen{}, 60)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := call(mostPages - 2); err != nil || rec.take() != name+":ok" {
				t.Errorf("the last but one: %v", err)
			}
			err := call(mostPages - 1)
			if e, ok := errors.AsType[*OpError](err); !ok || e.Class != measure.Decode ||
				!strings.Contains(e.Error(), "does not end within 5000 pages") {
				t.Errorf("the last: %v", err)
			}
			if got := rec.take(); got != name+":decode" {
				t.Errorf("recorded %s", got)
			}
		})
	}
}
