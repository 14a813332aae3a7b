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
	full := stub{code: 200}
	c, rec := newTestClient(t, full.serve(t))
	for name, call := range map[string]func(page int) effect{
		"team_members": func(page int) effect { return ask("TeamMembers", "t", page, 200) },
		"channel_members": func(page int) effect {
			return ask("ChannelMembers", "c", page, 200)
		},
		"my_channel_members": func(page int) effect {
			return ask("MyChannelMembers", "x", page, 200)
		},
		"public_channels": func(page int) effect {
			return ask("PublicChannels", "t", page, 200)
		},
		"user_report": func(page int) effect {
			return ask("UserReport", page, "a", "b", 50)
		},
		"get_thread": func(page int) effect {
			return ask("ThreadPage", "x", page, Seen{}, 60)
		},
	} {
		t.Run(name, func(t *testing.T) {
			full.body = "[" + one + strings.Repeat(","+one, 200-1) + "]"
			if name == "get_thread" {
				full.body = `{"order":[],"posts":{},"has_next":true}`
			}
			if err := call(mostPages-2).do(t.Context(), c); err != nil || rec.take() != name+":ok" {
				t.Errorf("the last but one: %v", err)
			}
			err := call(mostPages-1).do(t.Context(), c)
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
