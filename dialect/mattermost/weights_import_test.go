package mattermost

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func TestImportWeights(t *testing.T) {
	rates := map[string]float64{
		"createPost": 2, "saveReaction": 0.5, "patchPost": 0.1, "updatePost": 0.1,
		"getChannelStats": 15, "getPostsForChannel": 20, "getPostsForChannelAroundLastUnread": 5,
		"getUsersByIds": 7, "getClientConfig": 9, "idle": 0,
	}
	w, kept, unmapped, err := ImportWeights(rates)
	if err != nil {
		t.Fatal(err)
	}
	near := func(action string, want float64) {
		t.Helper()
		if _, ok := Mixes()["default"][action]; !ok {
			return // not modeled yet
		}
		if got := w[action]; math.Abs(got-want) > 1e-3*want {
			t.Errorf("%s weighs %v, want %v", action, got, want)
		}
	}
	near("create_post", 1)
	near("add_reaction", 0.25)
	near("edit_post", 0.1)
	near("scroll_channel", 10.0/2/3)
	if sum := w["switch_channel"] + w["open_direct_or_group_channel"]; math.Abs(sum-7.5) > 0.01 {
		t.Errorf("looks at channels weigh %v, want 7.5", sum)
	}
	if x, ok := w["delete_post"]; ok && x != 0 {
		t.Errorf("delete_post, which nobody called, weighs %v", x)
	}
	if !slices.Equal(unmapped, []string{"getClientConfig", "getUsersByIds"}) {
		t.Errorf("unmapped %v", unmapped)
	}
	for _, a := range kept {
		if w[a] != Mixes()["default"][a] {
			t.Errorf("%s weighs %v, not its default", a, w[a])
		}
	}
	// A mix that was imported is one that persons accept.
	for a := range w {
		if _, ok := Mixes()["default"][a]; !ok {
			t.Errorf("%s is no action", a)
		}
	}
}

func TestImportWeightsRefuses(t *testing.T) {
	for _, tt := range []struct {
		rates map[string]float64
		want  string
	}{
		{nil, "createPost was not called"},
		{map[string]float64{"createPost": 0, "login": 1}, "createPost was not called"},
		{map[string]float64{"createPost": 1, "login": math.NaN()}, "handler login is NaN"},
	} {
		if _, _, _, err := ImportWeights(tt.rates); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.rates, err)
		}
	}
}

// Every action has a handler or is kept, and by one thing only; a handler stands for one thing only.
func TestHandlerSharesAreComplete(t *testing.T) {
	seen := map[string]int{}
	plus := map[string]int{}
	for _, s := range handlerShares {
		for a := range strings.FieldsSeq(s.actions) {
			seen[a]++
		}
		for h := range strings.FieldsSeq(s.handlers) {
			if !strings.HasPrefix(h, "-") {
				plus[h]++
			}
		}
	}
	for _, a := range keptActions {
		seen[a]++
	}
	for a, n := range seen {
		if n != 1 {
			t.Errorf("%s is told %d times", a, n)
		}
	}
	if len(seen) != 51 {
		t.Errorf("%d actions, want 51", len(seen))
	}
	for h, n := range plus {
		if n != 1 {
			t.Errorf("handler %s counts %d times", h, n)
		}
	}
	for a := range Mixes()["default"] {
		if seen[a] == 0 {
			t.Errorf("action %s is told by no handler and not kept", a)
		}
	}
}
