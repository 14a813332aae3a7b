package fleet

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/run/record"
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

// A report's windows are merged whole or not at all.
func TestMergeWindows(t *testing.T) {
	w := measure.NewWindow("post")
	w.Response.Record(time.Second)
	w.Classes[measure.OK] = 1
	b, err := packWindows([]*measure.Window{w})
	if err != nil {
		t.Fatal(err)
	}
	r := measure.NewRegistry(1)
	for n := 1; n < len(b); n++ {
		if err := mergeWindows(b[:n], r); !errors.Is(err, record.ErrWindows) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if ws := r.Cut(); len(ws) != 0 {
		t.Fatalf("%d windows of refused reports", len(ws))
	}
	if err := errors.Join(mergeWindows(b, r), mergeWindows(b, r), mergeWindows(nil, r)); err != nil {
		t.Fatal(err)
	}
	if ws := r.Cut(); len(ws) != 1 || ws[0].Response.Count() != 2 || ws[0].Count() != 2 {
		t.Fatalf("merged twice: %v", ws)
	}
}
