package comparison

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/judge/verdict"
)

func TestReadReleases(t *testing.T) {
	got, err := ReadReleases([]byte(
		"\ufeffdatabase,base_release,new_release,pair,base,new,host\nMySQL,v1,v2,1,100,110,a\nPostgres,v1,v2,1,120, >= 130 ,a\nMySQL,v1,v2,2,101,111,a\nMySQL,v1,v2,1,90,91,b\n",
	))
	want := []Released{
		{
			Host:     "a",
			Base:     "v1",
			New:      "v2",
			Database: "MySQL",
			Pairs: []verdict.Pair{{
				Block: 1,
				Base:  100,
				New:   110,
			}, {Block: 2, Base: 101, New: 111}},
		},
		{
			Host:     "a",
			Base:     "v1",
			New:      "v2",
			Database: "Postgres",
			Pairs:    []verdict.Pair{{Block: 1, Base: 120, New: 130, NewCensored: true}},
		},
		{
			Host:     "b",
			Base:     "v1",
			New:      "v2",
			Database: "MySQL",
			Pairs:    []verdict.Pair{{Block: 1, Base: 90, New: 91}},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	timed, err := ReadReleases([]byte(
		"base_release,new_release,base,new,time\nv1,v2,100,110,2026-01-30\nv2,v3,100,110,2026-01-31T12:00:00+02:00\nv3,v4,1,2,\n",
	))
	if err != nil || !timed[0].Time.Equal(time.Date(2026, 1, 30, 0, 0, 0, 0, time.UTC)) ||
		timed[1].Time.UTC().Hour() != 10 ||
		!timed[2].Time.IsZero() {
		t.Errorf("times: %+v, %v", timed, err)
	}
	ordered, err := ReadReleases(
		[]byte("base_release;new_release;base;new\nv1;v2;100;110\nv1;v2;101;111\n"),
	)
	if err != nil || len(ordered) != 1 || len(ordered[0].Pairs) != 2 ||
		ordered[0].Pairs[1].Block != 2 {
		t.Errorf("pairs in their order: %+v, %v", ordered, err)
	}
	const head = "base_release,new_release,pair,base,new\n"
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", "there is no pair"},
		{"a header", head, "there is no pair"},
		{"another header", "pair,base,new\n1,2,3\n", `line 1: the header is "pair,base,new": want base_release,new_release,base,new, and beside them only pair, comparison, database, host, time`},
		{"an unknown column", "base_release,when\n", `line 1: the header is "base_release,when": want base_release,new_release,base,new, and beside them only pair`},
		{"a column twice", "base_release,pair,pair\n", "line 1: the header is"},
		{"few fields", head + "v1,v2,1,100\n", "line 2: 4 fields, and the header has 5"},
		{"no release", head + ",v2,1,100,110\n", "line 2: base_release is empty"},
		{"one release", head + "v1,v1,1,100,110\n", "line 2: both releases are v1"},
		{"no number", head + "v1,v2,1,100,110\nv1,v2,2,100,many\n", `line 3: new is "many": want a number of users above zero`},
		{"zero", head + "v1,v2,1,0,110\n", `line 2: base is "0"`},
		{"not a number", head + "v1,v2,1,NaN,110\n", `line 2: base is "NaN"`},
		{"a pair twice", head + "v1,v2,1,100,110\nv1,v2,1,100,110\n", "line 3: pair 1 of v1 and v2 is there twice"},
		{"no pair", head + "v1,v2,x,100,110\n", `line 2: pair is "x"`},
		{"an empty database", "database," + head + ",v1,v2,1,100,110\n", "line 2: database is empty"},
		{"no time", "base_release,new_release,base,new,time\nv1,v2,1,2,today\n", `line 2: time is "today": want a date such as 2026-01-30`},
		{"a quote", head + "v1,\"v2,1,100,110\n", "line 2: not a CSV"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := ReadReleases([]byte(tt.in)); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if HasReleases([]byte("pair,base,new\n")) ||
		!HasReleases([]byte("pair,base_release,base,new\n")) {
		t.Error("the header is not told apart")
	}
}
