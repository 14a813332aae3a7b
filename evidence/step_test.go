package evidence

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/dialect"
	"plimsoll/record"
)

// Refusals are distinguished from the servers' own failures, and each is there once.
func TestRefusals(t *testing.T) {
	const page = "post: status 403 challenge page of a proxy (allow this host's address there) (4xx)"
	refused := func(text string) bool {
		return strings.Contains(text, "of a proxy") || strings.Contains(text, "rate limit")
	}
	known := &Catalog{Dialects: dialect.Set{{Refused: refused}}}
	got := known.refusals([]record.Event{
		{
			Kind: "error",
			Text: "first failure of its kind: " + page,
		}, {Kind: "error", Text: "first failure of its kind: " + page},
		{
			Kind: "error",
			Text: "first failure of its kind: post: status 500 (5xx)",
		}, {Kind: "note", Text: page},
		{
			Kind: "error",
			Text: "user 7: login: status 429 too many requests: a rate limit of the server or a proxy (4xx)",
		},
	})
	want := []string{
		page,
		"login: status 429 too many requests: a rate limit of the server or a proxy (4xx)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
