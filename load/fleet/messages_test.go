package fleet

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plimsoll/load/workload"
)

// A message is the same in another process.
func TestMessages(t *testing.T) {
	epoch := time.Now()
	for _, want := range []workload.Message{
		{ID: "a", Channel: "c", Author: 3, Sent: epoch.Add(time.Second), Acked: epoch.Add(2 * time.Second)},
		{ID: "a", Channel: "c", Root: "r", Author: 3, Sent: epoch.Add(time.Second), Acked: epoch.Add(2 * time.Second)},
		{Channel: "c", Author: 3, Reader: "1", Pending: "u:7", Sent: epoch.Add(time.Second), Acked: epoch.Add(2 * time.Second)},
		{ID: "a", Channel: "c", Author: 3, Pending: "u:7", Unanswered: true, Sent: epoch.Add(time.Second), Acked: epoch.Add(2 * time.Second)},
		{ID: "a", Channel: "c", Author: 3, Sent: epoch.Add(time.Second), Acked: epoch.Add(2 * time.Second), From: 2, Within: time.Millisecond},
	} {
		b, err := json.Marshal(pack([]workload.Message{want}, epoch))
		if err != nil {
			t.Fatal(err)
		}
		var got []message
		if err := json.Unmarshal(b, &got); err != nil || len(got) != 1 {
			t.Fatalf("%s: %v", b, err)
		}
		if m := got[0].unpack(epoch); m != want || strings.Contains(string(b), "root") != (want.Root != "") {
			t.Errorf("%s is %+v, want %+v", b, m, want)
		}
	}
}
