package join

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// TestReasonOfARefusalIsCut takes in the answer of an agent that refuses with a long text.
func TestReasonOfARefusalIsCut(t *testing.T) {
	body, err := json.Marshal(reception{Refused: strings.Repeat("no ", 30_000)})
	must(t, err)
	g := &guest{calls: 1}
	h := &Hall{conf: HallConfig{}, guests: map[string]*guest{"a": g}}
	err = h.welcomed(g, 1, body, time.Now())
	if err == nil || len(err.Error()) > 2000 || len(h.Missing()[0].Why) > 2000 {
		t.Errorf("%.100s… of %d bytes", err, len(err.Error()))
	}
}
