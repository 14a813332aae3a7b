package driver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"plimsoll/load/workload"
	"plimsoll/newsfeed/server"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// busDouble is a bus that hands out two records at a time and may break.
type busDouble struct {
	records [][]byte
	broken  int // from this record on; 0 for never
}

func (b *busDouble) Fetch(_ context.Context, offset int64) ([][]byte, error) {
	if b.broken > 0 && int(offset) >= b.broken {
		return nil, errors.New("away")
	}
	return b.records[offset:min(len(b.records), int(offset)+2)], nil
}

func (b *busDouble) add(number int64, at time.Time, entity string, status int, micros int64) {
	raw, err := json.Marshal(server.Record{
		Server:    "s",
		Number:    number,
		At:        at,
		Entity:    entity,
		Operation: "post",
		Status:    status,
		Micros:    micros,
	})
	if err != nil {
		panic(err)
	}
	b.records = append(b.records, raw)
}

// did is the users' record of five stories, of which one failed and one was cut off.
func did(stories int) workload.Snapshot {
	t := new(workload.Tally)
	c := t.Behavior("newsfeed", []workload.TallyAction{{Name: "story", Weight: 1}})
	for range stories {
		c.Attempt(0)
		c.Succeed(0)
	}
	c.Attempt(0)
	c.Fail(0)
	c.Attempt(0)
	return t.Snapshot()
}

// TestTelemetryOfARun: the service's own windows stand on the run's clock and under the users'
// names, and are stored in both forms.
func TestTelemetryOfARun(t *testing.T) {
	epoch := time.Now().Add(-time.Minute).Truncate(time.Millisecond).Add(300 * time.Millisecond)
	b := &busDouble{}
	b.add(1, epoch.Add(-time.Millisecond), "participant", 200, 50) // before the run
	b.add(2, epoch, "outbound", 200, 1000)
	b.add(3, epoch.Add(999*time.Millisecond), "outbound", 200, 3000)
	b.add(4, epoch.Add(1500*time.Millisecond), "outbound", 503, 9000)
	b.add(4, epoch.Add(1500*time.Millisecond), "outbound", 503, 9000) // once more
	b.add(5, epoch.Add(2*time.Second), "inbound", 200, 100)
	got, err := readTelemetry(t.Context(), b, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if got.Records != 6 || got.Taken != 4 || got.Before != 1 || got.Missing != 0 ||
		got.Left["duplicate"] != 1 {
		t.Errorf("%+v", got.Telemetry)
	}
	if f := got.judge(did(2)); len(f) != 0 {
		t.Errorf("findings %v", f)
	}
	dir := t.TempDir()
	w, err := record.Create(dir+"/r", record.Manifest{ID: "r", Epoch: epoch})
	if err != nil {
		t.Fatal(err)
	}
	db, err := series.Create(dir + "/r/series")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := errors.Join(w.Telemetry(got.Telemetry, got.windows()), got.store(db, epoch)); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir + "/r")
	if err != nil {
		t.Fatal(err)
	}
	all, err := r.MergedTelemetry(0, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if s := all["story"]; s == nil || s.Count() != 3 || s.Errors() != 1 ||
		s.Response.Count() != 2 ||
		s.Response.Mean() != 2*time.Millisecond ||
		all["inbound post"] == nil {
		t.Errorf("windows %v: want three stories, one of them failed", all)
	}
	first, err := r.MergedTelemetry(0, time.Second)
	if err != nil || first["story"].Count() != 2 || len(first) != 1 {
		t.Errorf("the first second has %v, %v; want two stories", first, err)
	}
	for q, want := range map[string]float64{
		`newsfeed_telemetry_requests_total{entity="outbound",success="true"}`:  2,
		`newsfeed_telemetry_requests_total{entity="outbound",success="false"}`: 1,
	} {
		res, err := db.Query(t.Context(), q, epoch.Add(3*time.Second))
		if err != nil || len(res) != 1 || res[0].Value != want {
			t.Errorf("%s: %v, %v; want %v", q, res, err, want)
		}
	}
	res, err := db.Query(
		t.Context(),
		`newsfeed_telemetry_seconds{entity="outbound",stat="p95"}`,
		epoch.Add(time.Second),
	)
	if err != nil || len(res) != 1 || res[0].Value != 0.003 {
		t.Errorf("p95 of the first second: %v, %v; want 3 ms", res, err)
	}
}

// TestTelemetryThatIsWrong: what is missing is telemetry, and what contradicts the users voids the
// run.
func TestTelemetryThatIsWrong(t *testing.T) {
	epoch := time.Now().Add(-time.Minute)
	good := func() *busDouble {
		b := &busDouble{}
		for n := range int64(5) {
			b.add(n+1, epoch.Add(time.Second), "outbound", 200, 1000)
		}
		return b
	}
	for _, c := range []struct {
		name   string
		change func(*busDouble)
		users  int // acknowledged stories
		level  string
		say    string
	}{
		{"all there", func(*busDouble) {}, 5, "", ""},
		{"cut off but done", func(*busDouble) {}, 3, "", ""},
		{"a record is missing", func(b *busDouble) {
			b.records = append(b.records[:2:2], b.records[3:]...)
		}, 5, record.Amber, "1 telemetry records are missing"},
		{"a garbled one", func(b *busDouble) {
			b.records = append(b.records, []byte("{"))
		}, 5, record.Amber, "garbled"},
		{"a bus that ends", func(b *busDouble) {
			b.broken = 4
		}, 5, record.Amber, "not complete: the bus was not read beyond record 4"},
		{"more than the users began", func(*busDouble) {}, 2, record.Red, "5 operations story answered with status 200, the users of 2 out of 4"},
		{"fewer than were acknowledged, one of them twice", func(b *busDouble) {
			b.records = append(b.records, b.records[0])
		}, 6, record.Red, "the users of 6 out of 8"},
		{"fewer than were acknowledged", func(*busDouble) {}, 6, record.Red, "the users of 6 out of 8"},
	} {
		b := good()
		c.change(b)
		got, err := readTelemetry(t.Context(), b, epoch)
		if err != nil {
			got.Note = err.Error()
		}
		f := got.judge(did(c.users))
		switch {
		case c.say == "" && len(f) > 0:
			t.Errorf("%s: findings %v", c.name, f)
		case c.say != "" && (len(f) != 1 || f[0].Level != c.level || !strings.Contains(f[0].Text, c.say)):
			t.Errorf("%s: findings %v, want one %s with %q", c.name, f, c.level, c.say)
		}
	}
}
