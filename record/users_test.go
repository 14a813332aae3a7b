package record

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

func TestUsersAreKept(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), Manifest{ID: "u"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if u, err := r.Users(); u != nil || err != nil {
		t.Fatalf("%v, %v of a run without the file", u, err)
	}
	want := Users{
		Format: UsersVersion,
		Phase:  "measure",
		Grace:  10 * time.Second,
		Mixes: workload.Snapshot{{
			Behavior: "b",
			Actions: []workload.ActionCount{{
				Name:    "x",
				Weight:  1,
				OK:      3,
				Skipped: map[string]int64{"why": 2},
			}},
		}}.Mixes(),
		Messages: workload.LedgerCount{Acked: 5, Seen: 20, Lost: 1},
		Audit: &Audit{
			AuditResult: workload.AuditResult{
				Expected:   5,
				Readable:   4,
				Missing:    1,
				MissingIDs: []string{"m"},
				Part:       1,
			},
			Took: time.Second,
		},
		Storms: []StormOutcome{{
			Kind:     "join",
			From:     2 * time.Second,
			To:       3 * time.Second,
			Affected: 4,
			Done:     4,
			Back:     time.Second,
		}},
	}
	if err := w.Users(want); err != nil {
		t.Fatal(err)
	}
	got, err := r.Users()
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Fatalf("%v\n got %+v\nwant %+v", err, got, want)
	}
	newer := want
	newer.Format = UsersVersion + 1
	if err := WriteJSON(filepath.Join(w.Dir(), UsersFile), newer); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Users(); err == nil {
		t.Error("a newer file was read")
	}
}

func TestOutsideTheSteadyState(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "run"), Manifest{ID: "u"})
	if err != nil {
		t.Fatal(err)
	}
	at := func(second int, names ...string) {
		var ws []*measure.Window
		for _, n := range names {
			win := measure.NewWindow(n)
			win.Classes[measure.OK] = 1
			ws = append(ws, win)
		}
		if err := w.Windows(second, ws); err != nil {
			t.Fatal(err)
		}
	}
	at(0, "login", "login_me", "post")
	at(3, "storm_join_join_channel", "post")
	at(4, "storm_join_join_channel", "login_me")
	at(6, "storm_join_join_channel", "storm_login_login")
	r, err := Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Outside([]StormOutcome{{
		Kind: "join",
		From: 3500 * time.Millisecond,
	}, {Kind: "login", From: 5 * time.Second}, {Kind: "join", From: 6 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Login) != 2 || out.Login["login_me"].Count() != 2 {
		t.Errorf("logins %v", out.Login)
	}
	for i, want := range []map[string]uint64{{"storm_join_join_channel": 2}, {"storm_login_login": 1}, {"storm_join_join_channel": 1}} {
		got := map[string]uint64{}
		for n, win := range out.Storms[i] {
			got[n] = win.Count()
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("storm %d: %v, want %v", i, got, want)
		}
	}
}
