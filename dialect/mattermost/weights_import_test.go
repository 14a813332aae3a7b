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
	noError(t, err)
	near := func(action string, want float64) {
		t.Helper()
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
	if len(w) != len(actions)-len(integrations) || w["delete_post"] != 0 {
		t.Errorf(
			"%d actions; delete_post, which nobody called, weighs %v",
			len(w),
			w["delete_post"],
		)
	}
	if !slices.Equal(unmapped, []string{"getClientConfig", "getUsersByIds"}) {
		t.Errorf("unmapped %v", unmapped)
	}
	if len(kept) != 5 {
		t.Errorf("kept %v", kept)
	}
	for _, a := range kept {
		if w[a] != Mixes()["default"][a] {
			t.Errorf("%s weighs %v, not its default", a, w[a])
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
		if _, _, _, err := ImportWeights(tt.rates); err == nil ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v", tt.rates, err)
		}
	}
}

// A handler stands for the actions of one list alone; who has a list makes calls.
func TestHandlersStandForOneThing(t *testing.T) {
	of := map[string]string{}
	for _, a := range actions {
		if (a.handlers == "") != (a.calls == 0) {
			t.Errorf("%s: %v calls of %q", a.name, a.calls, a.handlers)
		}
		for h := range strings.FieldsSeq(a.handlers) {
			if had, ok := of[h]; ok && had != a.handlers {
				t.Errorf("handler %s stands for %q and for %q", h, had, a.handlers)
			}
			if h[0] != '-' {
				of[h] = a.handlers
			}
		}
	}
}
