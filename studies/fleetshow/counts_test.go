package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// Counts that scatter as those of one process do are the same; a loss, one missing kind of
// operation, and a twentieth less of a frequent one are not.
func TestCompare(t *testing.T) {
	ones := []tally{
		{
			"post ok":  10_000,
			"view ok":  4000,
			"rare ok":  3,
			"inbox ok": 100_400,
			accepted:   10_000,
			expected:   100_000,
			seen:       100_000,
			lost:       0,
		},
		{
			"post ok":  10_012,
			"view ok":  3990,
			"rare ok":  2,
			"inbox ok": 100_500,
			accepted:   10_012,
			expected:   100_110,
			seen:       100_110,
			lost:       0,
		},
	}
	same := tally{
		"post ok":  10_020,
		"view ok":  4003,
		"rare ok":  3,
		"inbox ok": 100_620,
		accepted:   10_020,
		expected:   100_190,
		seen:       100_190,
	}
	for _, tt := range []struct {
		name   string
		change func(tally)
		want   []string
	}{
		{"the same", func(tally) {}, nil},
		{"one delivery lost", func(f tally) { f[lost] = 1 }, []string{lost}},
		{"a kind that is missing", func(f tally) { delete(f, "view ok") }, []string{"view ok"}},
		{"a kind that one process has not", func(f tally) {
			f["view timeout"] = 40
		}, []string{"view timeout"}},
		{"a twentieth less", func(f tally) { f["view ok"] = 3800 }, []string{"view ok"}},
		{"deliveries of a tenth of the users are not expected", func(f tally) {
			f[expected], f[seen] = 90_000, 90_000
		}, []string{expected, seen}},
	} {
		fleet := maps.Clone(same)
		tt.change(fleet)
		var b strings.Builder
		apart, err := table(&b, compare(ones, fleet))
		if err != nil || !slices.Equal(apart, tt.want) {
			t.Errorf("%s: apart are %q, %v; want %q\n%s", tt.name, apart, err, tt.want, &b)
		}
	}
}

// Without any scatter a count may differ by one.
func TestCompareWithoutScatter(t *testing.T) {
	one := tally{"post ok": 100, accepted: 100, expected: 900}
	rows := compare([]tally{one, one}, tally{"post ok": 101, accepted: 102, expected: 900})
	for _, r := range rows {
		if r.apart() != (r.name == accepted) {
			t.Errorf("%s: %v apart within %v", r.name, r.difference(), r.within)
		}
	}
}
