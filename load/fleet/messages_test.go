package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/record"
)

// A message is the same in another process.
func TestMessages(t *testing.T) {
	epoch := time.Now()
	for _, want := range []workload.Message{
		{
			ID:      "a",
			Channel: "c",
			Author:  3,
			Sent:    epoch.Add(time.Second),
			Acked:   epoch.Add(2 * time.Second),
		},
		{
			ID:      "a",
			Channel: "c",
			Root:    "r",
			Author:  3,
			Sent:    epoch.Add(time.Second),
			Acked:   epoch.Add(2 * time.Second),
		},
		{
			Channel: "c",
			Author:  3,
			Reader:  "1",
			Pending: "u:7",
			Sent:    epoch.Add(time.Second),
			Acked:   epoch.Add(2 * time.Second),
		},
		{
			ID:         "a",
			Channel:    "c",
			Author:     3,
			Pending:    "u:7",
			Unanswered: true,
			Sent:       epoch.Add(time.Second),
			Acked:      epoch.Add(2 * time.Second),
		},
		{
			ID:      "a",
			Channel: "c",
			Author:  3,
			Sent:    epoch.Add(time.Second),
			Acked:   epoch.Add(2 * time.Second),
			From:    2,
			Within:  time.Millisecond,
		},
	} {
		b, err := json.Marshal(packMessages([]workload.Message{want}, epoch))
		must(t, err)
		var got []message
		if err := json.Unmarshal(b, &got); err != nil || len(got) != 1 {
			t.Fatalf("%s: %v", b, err)
		}
		if m := got[0].unpack(epoch); m != want ||
			strings.Contains(string(b), "root") != (want.Root != "") {
			t.Errorf("%s is %+v, want %+v", b, m, want)
		}
	}
}

// A report's windows are merged whole or not at all.
func TestMergeWindows(t *testing.T) {
	w := measure.NewWindow("post")
	w.Response.Record(time.Second)
	w.Classes[measure.OK] = 1
	ps, err := packWindows([]*measure.Window{w})
	if err != nil || len(ps.Deliveries) > 0 || len(ps.Between) > 0 {
		t.Fatal(ps, err)
	}
	b := ps.Windows
	r := measure.NewRegistry(1)
	for n := 1; n < len(b); n++ {
		if err := b[:n].merge(r); !errors.Is(err, record.ErrWindows) {
			t.Fatalf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	if ws := r.Cut(); len(ws) != 0 {
		t.Fatalf("%d windows of refused reports", len(ws))
	}
	must(t, errors.Join(b.merge(r), b.merge(r), pack(nil).merge(r)))
	if ws := r.Cut(); len(ws) != 1 || ws[0].Response.Count() != 2 || ws[0].Count() != 2 {
		t.Fatalf("merged twice: %v", ws)
	}
}

// Replies come as they were sent, one after the other, with the windows of all their reports.
func TestReplies(t *testing.T) {
	windows := func(names ...string) (ps packs) {
		t.Helper()
		var ws []*measure.Window
		for _, n := range names {
			w := measure.NewWindow(n)
			w.Response.Record(time.Second)
			ws = append(ws, w)
		}
		ps, err := packWindows(ws)
		must(t, err)
		return ps
	}
	all := windows(
		"post",
		workload.Delivery,
		measure.LatePrefix+workload.Delivery,
		workload.Between,
	)
	if len(all.Windows) == 0 || len(all.Deliveries) <= len(all.Windows) || len(all.Between) == 0 {
		t.Fatalf(
			"packs of %d, %d and %d bytes",
			len(all.Windows),
			len(all.Deliveries),
			len(all.Between),
		)
	}
	want := []reply{
		{PID: 1},
		{Report: &report{Active: 1, packs: all}},
		{Error: foreign("a line\nfeed " + strings.Repeat("x", 1000))},
		{Parts: []part{{
			Process: 0,
			Report:  &report{packs: windows("a")},
		}, {Process: 1}, {Process: 2, Report: &report{packs: windows("b")}}}},
		{Report: &report{}},
	}
	var b bytes.Buffer
	for _, p := range want {
		must(t, (&replyWriter{to: &b}).write(p))
	}
	whole := bytes.Clone(b.Bytes())
	r := newReplyReader(iotest.OneByteReader(&b))
	for i := range want {
		var p reply
		if err := r.read(&p); err != nil || !reflect.DeepEqual(p, want[i]) {
			t.Fatalf("reply %d: %v\n%+v\nwant %+v", i, err, p, want[i])
		}
	}
	if err := r.read(new(reply)); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
	cut := newReplyReader(bytes.NewReader(whole[:len(whole)-3]))
	var err error
	for err == nil {
		err = cut.read(new(reply))
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut short: %v", err)
	}
}
