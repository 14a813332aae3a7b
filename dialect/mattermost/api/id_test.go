package api

import "testing"

func TestID(t *testing.T) {
	id, err := idOf([]byte(anID))
	if err != nil || id.String() != anID || id.None() || id != ParseID(anID) {
		t.Errorf("%s, %v", id, err)
	}
	if _, err := idOf([]byte(anID + "x")); err == nil {
		t.Error("an identifier of 27 characters passed")
	}
	if !(ID{}).None() || (ID{}).String() != "" || ParseID("abc").String() != "abc" {
		t.Error("short identifiers")
	}
	if _, err := readChannel([]byte(`{"id":"c","team_id":"` + longID + `"}`)); err == nil {
		t.Error("a team's identifier of 36 characters passed")
	}
}
