package perf

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plimsoll/newsfeed/server"
)

var noon = time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)

// record is one story's telemetry, in JSON.
func record(number int64, at time.Time, micros int64) []byte {
	return recordOf(server.Record{
		Server:    "a",
		Number:    number,
		At:        at,
		Entity:    "outbound",
		Operation: "post",
		Status:    200,
		Micros:    micros,
	})
}

func recordOf(r server.Record) []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return b
}

// checkSum requires that every record has ended in one place.
func checkSum(t *testing.T, c Counts) {
	t.Helper()
	if sum := c.Taken + c.Late + c.Duplicate + c.Garbled + c.Ahead + c.Untracked; sum != c.Records {
		t.Errorf("of %d records %d are accounted for: %+v", c.Records, sum, c)
	}
}

// TestKnownFigures: streams whose mean, median and 95th percentile are known, of 1, 2, 20, 21 and
// 100 requests that took 1, 2, 3 ... milliseconds and a bit. The studied program's rule
// (newsfeed.md 4.3) gives others.
func TestKnownFigures(t *testing.T) {
	for _, c := range []struct {
		n                         int64
		mean, median, p95         float64 // ms
		mean3, median3, upper5of3 float64 // whole ms
	}{
		{1, 1.5, 1.5, 1.5, 1, 1, 1},
		{2, 2, 1.5, 2.5, 1, 2, 2},
		{20, 11, 10.5, 19.5, 10, 11, 20},
		{21, 11.5, 11.5, 20.5, 11, 11, 20},
		{100, 51, 50.5, 95.5, 50, 51, 96},
	} {
		a, p := New(Config{}), NewPerf3(noon, nil)
		for i := c.n; i > 0; i-- { // the largest first
			r := record(i, noon.Add(time.Duration(i)*time.Millisecond), i*1000+500)
			a.Add(r, noon)
			p.Add(r)
		}
		got := a.Flush()
		if len(got) != 1 {
			t.Fatalf("n = %d: %d windows, want 1", c.n, len(got))
		}
		d, ok := got[0].Document()
		want := Document{
			TS:         noon,
			Entity:     "outbound",
			Operation:  "post",
			Throughput: c.n,
			Mean:       c.mean,
			Median:     c.median,
			Upper5:     c.p95,
		}
		if diff := cmp.Diff(want, d); !ok || diff != "" {
			t.Errorf("n = %d (-want +got):\n%s", c.n, diff)
		}
		want.TS = noon.Add(time.Minute)
		want.Mean = c.mean3
		want.Median = c.median3
		want.Upper5 = c.upper5of3
		if diff := cmp.Diff(want, p.Tick(noon.Add(time.Minute))[1]); diff != "" {
			t.Errorf("n = %d, perf3 (-want +got):\n%s", c.n, diff)
		}
	}
}

// TestAnIdleMinute is a gap, and of the studied program a row of zeros for each of its keys.
func TestAnIdleMinute(t *testing.T) {
	a, p := New(Config{}), NewPerf3(noon, nil)
	for i, minute := range []time.Duration{0, 2} {
		r := record(int64(i+1), noon.Add(minute*time.Minute), 1000)
		p.Tick(noon.Add(minute * time.Minute))
		a.Add(r, noon.Add(minute*time.Minute))
		p.Add(r)
	}
	var starts []string
	for _, w := range a.Flush() {
		starts = append(starts, w.Start.Format("15:04"))
	}
	if diff := cmp.Diff([]string{"12:00", "12:02"}, starts); diff != "" {
		t.Errorf("minutes (-want +got):\n%s", diff)
	}
	p = NewPerf3(noon, nil)
	docs := p.Tick(noon.Add(time.Minute))
	var zeros []string
	for _, d := range docs {
		zeros = append(zeros, fmt.Sprintf(
			"%s %s %d %v %v %v",
			d.Entity,
			d.Operation,
			d.Throughput,
			d.Mean,
			d.Median,
			d.Upper5,
		))
	}
	want := []string{
		"friends post 0 0 0 0",
		"outbound post 0 0 0 0",
		"outbound search 0 0 0 0",
		"participant post 0 0 0 0",
	}
	if diff := cmp.Diff(want, zeros); diff != "" {
		t.Errorf("perf3 (-want +got):\n%s", diff)
	}
}

// TestLinesOfEightFields checks that the month counts from 0, and that a time outside of the
// calendar is garbled.
func TestLinesOfEightFields(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	for text, want := range map[string]string{
		"2016|0|31|23|59|outbound|post|105":           "2016-01-31T22:59:00Z outbound post 105000",
		"2024|1|29|8|5|inbound|get|2999":              "2024-02-29T07:05:00Z inbound get 2999000",
		"2016|1|29|0|0|friends|post|0":                "2016-02-28T23:00:00Z friends post 0",
		"2015|11|30|18|17|outbound|post|105":          "2015-12-30T17:17:00Z outbound post 105000",
		"2015|1|29|0|0|outbound|post|1":               "", // no leap year
		"2016|12|1|0|0|outbound|post|1":               "",
		"2016|-1|1|0|0|outbound|post|1":               "",
		"2016|0|0|0|0|outbound|post|1":                "",
		"2016|0|1|24|0|outbound|post|1":               "",
		"2016|0|1|0|60|outbound|post|1":               "",
		"2016|0|1|0|0|outbound|post|-1":               "",
		"2016|0|1|0|0|outbound|post|1.5":              "",
		"2016|0|1|0|0|out bound|post|1":               "",
		"2016|0|1|0|0|outbound||1":                    "",
		"2016|0|1|0|0|outbound|post":                  "",
		"2016|0|1|0|0|outbound|post|1|2":              "",
		"2016|0|1|0|0|outbound|post|9999999999999999": "",
		"": "",
	} {
		r, err := Parse([]byte(text), berlin)
		got := ""
		if err == nil {
			got = fmt.Sprintf(
				"%s %s %s %d",
				r.At.Format(time.RFC3339),
				r.Entity,
				r.Operation,
				r.Micros,
			)
			if r.Status != 200 {
				t.Errorf("%q has status %d", text, r.Status)
			}
		}
		if got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestGarbledRecords(t *testing.T) {
	good := string(record(1, noon, 5))
	a := New(Config{})
	bad := []string{
		"",
		"x",
		"{",
		"{}",
		"[]",
		"null",
		strings.Replace(good, `"number":1`, `"number":0`, 1),
		strings.Replace(good, `"server":"a"`, `"server":""`, 1),
		strings.Replace(
			good,
			`"status":200`,
			`"status":99`,
			1,
		),
		strings.Replace(good, `"micros":5`, `"micros":-5`, 1),
		strings.Replace(
			good,
			`"entity":"outbound"`,
			`"entity":"Outbound!"`,
			1,
		),
		strings.Replace(good, "2026-", "0026-", 1),
		good[:len(good)-4],
		good + good,
		strings.Replace(good, `"micros":5`, `"micros":1e300`, 1),
	}
	for _, b := range bad {
		a.Add([]byte(b), noon)
	}
	a.Add([]byte(good), noon)
	c := a.Counts()
	checkSum(t, c)
	if c.Garbled != int64(len(bad)) || c.Taken != 1 || a.Garbled() == nil {
		t.Errorf("%+v, want %d garbled and 1 taken", c, len(bad))
	}
}

// TestTheOrderOfArrivalDoesNotMatter: the same records, in disorder within the lateness and some of
// them twice, give the same windows.
func TestTheOrderOfArrivalDoesNotMatter(t *testing.T) {
	const n = 3000
	rng := rand.New(rand.NewPCG(7, 7))
	type arrival struct {
		at  time.Time
		raw []byte
	}
	list := make([]arrival, n)
	for i := range list {
		at := noon.Add(time.Duration(i) * 100 * time.Millisecond) // five minutes
		status := 200
		if rng.IntN(20) == 0 {
			status = 503
		}
		list[i] = arrival{at, recordOf(server.Record{
			Server:    []string{"a", "b"}[i%2],
			Number:    int64(i/2 + 1),
			At:        at,
			Entity:    "outbound",
			Operation: []string{"post", "search"}[rng.IntN(2)],
			Status:    status,
			Micros:    rng.Int64N(5000),
		})}
	}
	run := func(disorder bool) ([]string, Counts) {
		a := New(Config{Lateness: 10 * time.Second})
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		twice := int64(0)
		if disorder { // swapped records lie less than ten seconds apart
			for i := range order {
				j := i/90*90 + rng.IntN(min(90, n-i/90*90))
				order[i], order[j] = order[j], order[i]
			}
		}
		var got []string
		add := func(raw []byte, at time.Time) {
			a.Add(raw, at)
			for _, w := range a.Closed() {
				got = append(got, textOf(w))
			}
		}
		for _, i := range order {
			add(list[i].raw, noon.Add(time.Hour))
			if disorder && i%7 == 0 {
				add(list[i].raw, noon.Add(time.Hour))
				twice++
			}
		}
		for _, w := range a.Flush() {
			got = append(got, textOf(w))
		}
		c := a.Counts()
		checkSum(t, c)
		if c.Duplicate != twice || c.Late != 0 || c.Missing != 0 || c.Taken != n || c.Servers != 2 {
			t.Errorf(
				"counts %+v: want %d taken, %d duplicates, nothing late or missing",
				c,
				n,
				twice,
			)
		}
		return got, c
	}
	want, _ := run(false)
	got, _ := run(true)
	if len(want) != 10 {
		t.Fatalf("%d windows, want 10", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in order (-) and in disorder (+):\n%s", diff)
	}
}

func textOf(w Window) string {
	d, _ := w.Document()
	return fmt.Sprintf(
		"%s %s %d %.3f %.3f %.3f failed %v",
		w.Start.Format("15:04:05"),
		w.Key,
		d.Throughput,
		d.Mean,
		d.Median,
		d.Upper5,
		w.Failed,
	)
}

// TestLateRecords: one within the lateness has its part, one beyond is counted and changes nothing;
// a closed window is not opened again, also when nothing had been in it.
func TestLateRecords(t *testing.T) {
	a := New(Config{Lateness: 5 * time.Second})
	now := noon.Add(time.Hour)
	a.Add(record(1, noon.Add(59*time.Second), 10), now)
	a.Add(record(2, noon.Add(64*time.Second), 10), now)
	a.Add(record(3, noon.Add(30*time.Second), 30), now) // the minute waits until 12:01:05
	if got := a.Closed(); len(got) != 0 {
		t.Fatalf("closed too early: %v", got)
	}
	a.Add(record(4, noon.Add(65*time.Second), 10), now)
	got := a.Closed()
	if len(got) != 1 || got[0].Micros.Count() != 2 || got[0].Micros.Sum() != 40 {
		t.Fatalf("windows %v: want one of 2 records", got)
	}
	a.Add(record(5, noon.Add(31*time.Second), 10), now)
	a.Add(record(6, noon.Add(-time.Hour), 10), now)
	if rest := a.Flush(); len(rest) != 1 || rest[0].Micros.Count() != 2 {
		t.Errorf("windows %v: want the second minute of 2 records", rest)
	}
	c := a.Counts()
	checkSum(t, c)
	if c.Late != 2 || c.Taken != 4 || c.Missing != 0 {
		t.Errorf("counts %+v: want 2 late of 6", c)
	}
}

// TestAClockThatIsWrong: a record of tomorrow is counted and does not make all others late.
func TestAClockThatIsWrong(t *testing.T) {
	a := New(Config{})
	a.Add(record(1, noon, 1), noon)
	a.Add(record(2, noon.Add(24*time.Hour), 1), noon)
	a.Add(record(3, noon.Add(time.Second), 1), noon)
	c := a.Counts()
	checkSum(t, c)
	if c.Ahead != 1 || c.Taken != 2 || c.Missing != 0 {
		t.Errorf("counts %+v: want 1 ahead and 2 taken", c)
	}
}

func TestMissingNumbers(t *testing.T) {
	a := New(Config{})
	for _, n := range []int64{2, 3, 7, 5, 3} {
		a.Add(record(n, noon, 1), noon)
	}
	if c := a.Counts(); c.Missing != 3 || c.Duplicate != 1 { // 1, 4, 6
		t.Errorf("counts %+v: want 3 missing, 1 duplicate", c)
	}
	a.Add(record(4, noon, 1), noon)
	if c := a.Counts(); c.Missing != 2 {
		t.Errorf("counts %+v: want 2 missing", c)
	}
	gone := New(Config{})
	for n := range int64(2*mostBeyond + 10) {
		gone.Add(record(10+2*n, noon, 1), noon) // every other one is lost
	}
	if c := gone.Counts(); c.Missing != 9+2*mostBeyond+9 {
		t.Errorf("counts %+v: want %d missing", c, 9+2*mostBeyond+9)
	}
	if n := len(gone.servers["a"].beyond); n > mostBeyond {
		t.Errorf("%d numbers are kept, want %d at most", n, mostBeyond)
	}
}

// TestAnIdleBusClosesWindows: who has read everything moves the watermark without records.
func TestAnIdleBusClosesWindows(t *testing.T) {
	a := New(Config{})
	a.Add(record(1, noon, 1), noon)
	a.Advance(noon.Add(time.Minute - time.Nanosecond))
	if got := a.Closed(); len(got) != 0 {
		t.Fatal("closed before its end")
	}
	a.Advance(noon.Add(time.Minute))
	if got := a.Closed(); len(got) != 1 {
		t.Fatal("not closed at its end")
	}
	a.Advance(noon)
	a.Add(record(2, noon, 1), noon)
	if c := a.Counts(); c.Late != 1 {
		t.Errorf("counts %+v: the watermark went back", c)
	}
}

// TestWindowsMergeWithoutLoss: a minute is the sum of its seconds, figure by figure.
func TestWindowsMergeWithoutLoss(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	minute, second := New(Config{}), New(Config{Width: time.Second})
	for n := range int64(5000) {
		r := record(n+1, noon.Add(time.Duration(n)*12*time.Millisecond), rng.Int64N(1_000_000))
		minute.Add(r, noon)
		second.Add(r, noon)
	}
	var sum Values
	windows := second.Flush()
	for _, w := range windows {
		sum.Merge(w.Micros)
	}
	whole := minute.Flush()[0].Micros
	if len(windows) != 60 || sum.Count() != whole.Count() || sum.Sum() != whole.Sum() ||
		sum.Mean() != whole.Mean() {
		t.Fatalf(
			"%d seconds with %d records, want 60 with %d",
			len(windows),
			sum.Count(),
			whole.Count(),
		)
	}
	for p := 1; p <= 100; p++ {
		if got, want := sum.Percentile(p), whole.Percentile(p); got != want {
			t.Errorf("p%d: %d, want %d", p, got, want)
		}
	}
}

func TestKeysAreBounded(t *testing.T) {
	a := New(Config{})
	for n := range int64(mostKeys + 5) {
		word := string([]byte{'a' + byte(n/26), 'a' + byte(n%26)})
		a.Add(recordOf(server.Record{
			Server:    "a",
			Number:    n + 1,
			At:        noon,
			Entity:    word,
			Operation: "get",
			Status:    200,
		}), noon)
	}
	c := a.Counts()
	checkSum(t, c)
	if c.Untracked != 5 || c.Taken != mostKeys {
		t.Errorf("counts %+v: want 5 untracked", c)
	}
}

// TestPerf3IsAsTheStudy covers the records that it does not see.
func TestPerf3IsAsTheStudy(t *testing.T) {
	p := NewPerf3(noon, nil)
	late := record(1, noon.Add(-time.Hour), 7999)
	p.Add(late)
	p.Add(late) // a duplicate is one more
	p.Add(recordOf(server.Record{
		Server:    "a",
		Number:    2,
		At:        noon,
		Entity:    "outbound",
		Operation: "post",
		Status:    503,
		Micros:    1,
	}))
	p.Add(recordOf(server.Record{
		Server:    "a",
		Number:    3,
		At:        noon,
		Entity:    "inbound",
		Operation: "get",
		Status:    200,
		Micros:    1,
	}))
	p.Add([]byte("x"))
	if docs := p.Tick(noon.Add(59 * time.Second)); docs != nil {
		t.Fatalf("documents %v before the minute is over", docs)
	}
	d := p.Tick(noon.Add(time.Minute))[1]
	if want := (Document{
		TS:         noon.Add(time.Minute),
		Entity:     "outbound",
		Operation:  "post",
		Throughput: 2,
		Mean:       7,
		Median:     7,
		Upper5:     7,
	}); d != want {
		t.Errorf("got %+v, want %+v", d, want)
	}
	c := p.Counts()
	checkSum(t, c)
	if c.Taken != 2 || c.Untracked != 2 || c.Garbled != 1 {
		t.Errorf("counts %+v", c)
	}
}
