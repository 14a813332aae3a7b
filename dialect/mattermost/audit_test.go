package mattermost

import (
	"testing"

	"plimsoll/load/workload"
)

// A bot's posters need no administrator; without one no message can be read back, which is not a
// failure of the server.
func TestAuditWithoutAnAdministrator(t *testing.T) {
	p := &Poster{}
	res, err := p.Audit(t.Context(), workload.Env{URL: "http://127.0.0.1:1"},
		[]workload.AckedMessages{{Channel: anID, IDs: []string{anID}}})
	if err != nil || res.Expected != 1 || res.Readable != 0 || res.Missing != 0 || res.Note == "" {
		t.Errorf("%+v, %v; want a note and no error", res, err)
	}
}
