package evidence

import (
	"encoding/json"
	"strings"
	"testing"

	"plimsoll/record"
)

// A run of an arm is held against every run before it: the first may not have reported its program,
// data or server.
func TestAnArmIsOneBuild(t *testing.T) {
	const text = "name: n\ntarget: {driver: chat}\nworkload: {behavior: poster}\nbounded: {users: 10}\n"
	for name, targets := range map[string][3]string{
		"digests":             {`{"driver": "chat"}`, `{"driver": "chat", "digest": "aa"}`, `{"driver": "chat", "digest": "bb"}`},
		"the data":            {`{"driver": "chat"}`, `{"driver": "chat", "dataset": "aa"}`, `{"driver": "chat", "dataset": "bb"}`},
		"the database server": {`{"driver": "chat"}`, `{"driver": "chat", "database": {"name": "aa"}}`, `{"driver": "chat", "database": {"name": "bb"}}`},
		"":                    {`{"driver": "chat"}`, `{"driver": "chat", "digest": "aa", "dataset": "aa"}`, `{"driver": "chat"}`},
	} {
		a := &gatheredArm{flag: "base"}
		var err error
		for i, target := range targets {
			if err != nil {
				t.Fatalf("%s: run %d: %v", name, i, err)
			}
			err = a.add(&record.Run{Manifest: record.Manifest{
				ID:     "run-" + string(rune('a'+i)),
				Plan:   text,
				Engine: "mysql",
				Target: json.RawMessage(target),
			}})
		}
		if name == "" && err != nil ||
			name != "" &&
				(err == nil || !strings.Contains(err.Error(), name) || !strings.HasPrefix(err.Error(), "runs run-b and run-c ")) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
