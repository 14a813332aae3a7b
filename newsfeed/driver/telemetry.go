package driver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"plimsoll/load/measure"
	"plimsoll/load/workload"
	"plimsoll/newsfeed"
	"plimsoll/newsfeed/perf"
	"plimsoll/newsfeed/server"
	"plimsoll/record"
	"plimsoll/run/health/sources"
	"plimsoll/watch/series"
)

// The telemetry of a run is read after its users have stopped, so that no figure is disturbed.
const (
	telemetryTime = time.Minute      // for all of it
	telemetryCall = 10 * time.Second // of one fetch
	// The end of the bus waits this long for records that the service has not sent yet.
	telemetryRest = 300 * time.Millisecond
	telemetryLate = time.Hour // everything is there: no record is late
)

// An accompanied deployment has servers beside its database, by role.
type accompanied interface {
	// CompanionAddr returns where one answers, host:port.
	CompanionAddr(role string) (addr string, ok bool)
}

// Telemetry reads the news feed's telemetry of the requests of the run that has just ended,
// compares it with the users' measurements, and stores it: windows by second in the run, the same
// as series. It returns findings. A target without a bus has none.
func Telemetry(ctx context.Context, x sources.EndedRun) ([]record.Finding, error) {
	d, ok := x.Deployment.(accompanied)
	if !ok {
		return nil, nil
	}
	addr, ok := d.CompanionAddr(server.KindBus)
	if !ok {
		return nil, nil
	}
	x.Reading()
	bus, err := server.OpenReader(feedAddress(x.Target.Profile, server.KindBus, addr))
	if err != nil {
		return nil, err
	}
	defer bus.Close()
	ctx, cancel := context.WithTimeout(ctx, telemetryTime)
	defer cancel()
	telemetry, err := readTelemetry(ctx, bus, x.Epoch)
	if err != nil {
		telemetry.Note = err.Error()
	}
	findings := telemetry.judge(x.Tally.Snapshot())
	parts := []string{
		fmt.Sprintf(
			"telemetry: %d records, %d of them in the run, %d missing",
			telemetry.Records,
			telemetry.Taken,
			telemetry.Missing,
		),
	}
	for _, f := range findings {
		parts = append(parts, f.Text)
	}
	return findings, errors.Join(
		x.Writer.Event(record.Event{
			At:    time.Since(x.Epoch),
			Kind:  "telemetry",
			Count: uint64(telemetry.Records),
			Text:  strings.Join(parts, "; "),
		}),
		x.Writer.Telemetry(telemetry.Telemetry, telemetry.windows()),
		telemetry.store(x.Series, x.Epoch),
	)
}

// telemetry is a run's telemetry by second from its epoch.
type telemetry struct {
	record.Telemetry
	seconds map[int][]perf.Window
	garbled error
}

// readTelemetry reads a bus from its beginning to its end. With an error it returns what it had
// read.
func readTelemetry(ctx context.Context, bus perf.Source, epoch time.Time) (telemetry, error) {
	agg := perf.New(perf.Config{Width: time.Second, Origin: epoch, Lateness: telemetryLate})
	err := func() error {
		ended := false
		for offset := int64(0); ; {
			fctx, cancel := context.WithTimeout(ctx, telemetryCall)
			records, err := bus.Fetch(fctx, offset)
			cancel()
			if err != nil {
				return fmt.Errorf("the bus was not read beyond record %d: %w", offset, err)
			}
			now := time.Now()
			for _, r := range records {
				agg.Add(r, now)
			}
			offset += int64(len(records))
			switch {
			case len(records) > 0:
				ended = false
			case ended:
				return nil
			default: // once more, a little later
				ended = true
				if err := workload.SleepUntil(ctx, now.Add(telemetryRest)); err != nil {
					return err
				}
			}
		}
	}()
	t := telemetry{seconds: map[int][]perf.Window{}}
	windows, c := agg.Flush(), agg.Counts()
	t.Records, t.Missing, t.Left, t.garbled = c.Records, c.Missing, map[string]int64{}, agg.Garbled()
	for reason, n := range c.Left() {
		if n > 0 {
			t.Left[reason] = n
		}
	}
	for _, x := range windows {
		n := x.Micros.Count() + x.Failures()
		if x.Start.Before(epoch) {
			t.Before += n
			continue
		}
		t.Taken += n
		second := int(x.Start.Sub(epoch) / time.Second)
		t.seconds[second] = append(t.seconds[second], x)
	}
	return t, err
}

// judge returns what the telemetry lacks and where it contradicts the users. Each acknowledged
// operation has been answered with status 200, and no other but those that failed or were under way
// at the end.
func (t *telemetry) judge(did workload.Snapshot) []record.Finding {
	var out []record.Finding
	amber := func(v float64, format string, args ...any) {
		out = append(out, record.Finding{
			Gate:  "telemetry",
			Level: record.Amber,
			Value: v,
			Text:  fmt.Sprintf(format, args...),
		})
	}
	if t.Note != "" {
		amber(0, "the service's telemetry is not complete: %s", t.Note)
	}
	if t.Missing > 0 {
		amber(
			float64(t.Missing),
			"%d telemetry records are missing: the service's own figures lack their requests",
			t.Missing,
		)
	}
	for _, reason := range slices.Sorted(maps.Keys(t.Left)) {
		if reason == "duplicate" {
			continue // they are recognized, and do no harm
		}
		text := fmt.Sprintf("%d telemetry records are %s and count nowhere", t.Left[reason], reason)
		if reason == "garbled" && t.garbled != nil {
			text += ", the first because of " + t.garbled.Error()
		}
		amber(float64(t.Left[reason]), "%s", text)
	}
	answered := map[string]int64{}
	for _, windows := range t.seconds {
		for _, w := range windows {
			if op, ok := newsfeed.Served(w.Entity, w.Operation); ok {
				answered[op] += w.Micros.Count()
			}
		}
	}
	lost := t.Missing
	for reason, n := range t.Left {
		if reason != "duplicate" { // of those the first copy counts
			lost += n
		}
	}
	ok, tried := map[string]int64{}, map[string]int64{}
	for _, b := range did {
		for _, a := range b.Actions {
			ok[a.Name] += a.OK
			tried[a.Name] += a.Attempts
		}
	}
	for _, op := range slices.Sorted(maps.Keys(tried)) {
		if n := answered[op]; t.Note == "" && (n > tried[op] || n < ok[op]-lost) {
			out = append(out, record.Finding{
				Gate:  "telemetry",
				Level: record.Red,
				Value: float64(n),
				Limit: float64(ok[op]),
				Text: fmt.Sprintf(
					"the service tells of %d operations %s answered with status 200, the users of %d out of %d that they began",
					n,
					op,
					ok[op],
					tried[op],
				),
			})
		}
	}
	return out
}

// names of telemetry windows: those of the users' operations where there is one.
func windowName(w perf.Window) string {
	if op, ok := newsfeed.Served(w.Entity, w.Operation); ok {
		return op
	}
	return w.Key.String()
}

// windows yields each second's windows for the run.
func (t *telemetry) windows() iter.Seq2[int, []*measure.Window] {
	return func(yield func(int, []*measure.Window) bool) {
		for _, second := range slices.Sorted(maps.Keys(t.seconds)) {
			var out []*measure.Window
			for _, x := range t.seconds[second] {
				m := measure.NewWindow(windowName(x))
				m.Classes[measure.OK] = uint64(x.Micros.Count())
				for status, n := range x.Failed {
					class := measure.Status4xx
					if status >= 500 {
						class = measure.Status5xx
					}
					m.Classes[class] += uint64(n)
				}
				for micros, n := range x.Micros.Sorted() {
					d := time.Duration(micros) * time.Microsecond
					m.Response.RecordN(d, uint32(n))
					m.Service.RecordN(d, uint32(n))
				}
				out = append(out, m)
			}
			if !yield(second, out) {
				return
			}
		}
	}
}

// store puts the seconds into the run's series: counters, and the times of the requests that were
// answered in the second.
func (t *telemetry) store(db *series.DB, epoch time.Time) error {
	counters := map[perf.Key]*[2]float64{}
	for _, second := range slices.Sorted(maps.Keys(t.seconds)) {
		var batch []series.Sample
		add := func(name string, k perf.Key, label, value string, v float64) {
			batch = append(batch, series.Sample{Name: name, Value: v, Labels: []series.Label{
				{Name: "entity", Value: k.Entity},
				{Name: "operation", Value: k.Operation},
				{Name: label, Value: value},
			}})
		}
		for _, x := range t.seconds[second] {
			c := counters[x.Key]
			if c == nil {
				c = new([2]float64)
				counters[x.Key] = c
			}
			c[0] += float64(x.Micros.Count())
			c[1] += float64(x.Failures())
			for stat, v := range x.Seconds() {
				add("newsfeed_telemetry_seconds", x.Key, "stat", stat, v)
			}
		}
		for key, c := range counters { // also those that did not change in this second
			for i, success := range []string{"true", "false"} {
				add("newsfeed_telemetry_requests_total", key, "success", success, c[i])
			}
		}
		if err := db.Append(epoch.Add(time.Duration(second+1)*time.Second), batch); err != nil {
			return fmt.Errorf("series of the telemetry: %w", err)
		}
	}
	return nil
}
