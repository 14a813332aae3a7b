package mattermost

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"plimsoll/dialect/mattermost/api"
)

// A new section holds the current channel, however many others the person is in: the proof looks
// for it there, and a server that is verified again and again has ever more channels.
func TestNewSectionHasTheCurrentChannel(t *testing.T) {
	sent := ""
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			io.WriteString(w, `{"categories":[{"id":"`+anID+`"}]}`)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		sent = string(b)
		w.WriteHeader(http.StatusCreated)
		io.WriteString(w, echoID("", b))
	})
	c := newTestClient(t, addr)
	a := &person{chance: newChance(), knowledge: knowledge{team: anID}, c: c}
	for i := range byte(20) {
		id := api.ParseID(strings.Repeat(string('a'+i), 26))
		a.places = append(a.places, place{ch: &channel{id: id, key: id.String(), kind: 'O',
			team: api.ParseID(anID)}})
	}
	a.current = len(a.places) - 1
	for seed := range uint64(50) {
		a.renew(seed, 0)
		noError(t, createSidebarCategory(&act{t.Context(), a}))
		if !strings.Contains(sent, a.places[a.current].ch.key) {
			t.Fatalf("with seed %d the section is %s", seed, sent)
		}
	}
}
