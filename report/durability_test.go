package report

import (
	"slices"
	"testing"
)

// A database that loosens the durability of its server is reported with its own value.
func TestDurabilityOfADatabase(t *testing.T) {
	got := durabilityOf(map[string]string{
		"jit":                                 "on",
		"synchronous_commit":                  "on",
		"fsync":                               "on",
		"synchronous_commit of database chat": "off",
		"synchronous_commitx":                 "1",
	})
	if want := []string{"fsync=on", "synchronous_commit=on", "synchronous_commit of database chat=off"}; !slices.Equal(
		got,
		want,
	) {
		t.Errorf("got %q, want %q", got, want)
	}
}
