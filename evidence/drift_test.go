package evidence

import (
	"math"
	"slices"
	"testing"
	"time"

	"plimsoll/judge/drift"
	"plimsoll/load/measure"
	"plimsoll/record"
	"plimsoll/watch/series"
)

// An outage in which every operation fails at once, or none ends, has no response times, and is not
// a gap: its throughput and failures count. The outages of this phase take up more and more of it:
// none of its first twenty seconds, four of five of its last.
func TestOutageIsSeenInTheCourse(t *testing.T) {
	const seconds = 100
	out := func(s int) bool { return s%5 >= 5-s/20 }
	timed := 0
	for s := range seconds {
		if !out(s) {
			timed++
		}
	}
	for _, tt := range []struct {
		name   string
		fails  uint64 // a second, in an outage
		rate   float64
		failed float64 // % at last; 0 for no such signal
		moves  string
	}{
		{"refused at once", 100, 100, 100, "failures"},
		{"nothing ends", 0, 0, 0, "throughput"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCourse(record.Manifest{
				State:  record.Sealed,
				Phases: []record.Phase{{Name: "measure", To: seconds * time.Second}},
			})
			for s := range seconds {
				w := measure.NewWindow("post")
				if !out(s) {
					w.Response.RecordN(time.Duration(10000+100*(s%3))*time.Microsecond, 100)
					w.Classes[measure.OK] = 100
				} else {
					w.Classes[measure.Dial] = tt.fails
				}
				c.Add(s, []*measure.Window{w})
			}
			c.Close()
			signals := opSignals(c)
			of := func(name string) []float64 {
				i := slices.IndexFunc(signals, func(s drift.Signal) bool { return s.Name == name })
				if i < 0 {
					return nil
				}
				return signals[i].Values
			}
			if v := of("throughput"); len(v) != seconds || v[0] != 100 || v[seconds-1] != tt.rate {
				t.Errorf("throughput %v, want %d values that end at %v", v, seconds, tt.rate)
			}
			v := of("failures")
			if (len(v) > 0) != (tt.failed > 0) ||
				len(v) > 0 && (len(v) != seconds || v[0] != 0 || v[seconds-1] != tt.failed) {
				t.Errorf("failures %v, want %d values that end at %v", v, seconds, tt.failed)
			}
			for _, name := range []string{"mean response", "median response", "95th percentile"} {
				if v := of(name); len(v) != timed || slices.ContainsFunc(v, math.IsNaN) {
					t.Errorf(
						"%s has %d values, want those of the %d seconds with response times: %v",
						name,
						len(v),
						timed,
						v,
					)
				}
			}
			for _, d := range drift.FindDrift(signals) {
				if math.IsNaN(d.Median) || math.IsNaN(d.First) || math.IsNaN(d.Last) {
					t.Errorf("%s: %+v", d.Signal, d)
				}
				moves := d.Signal == tt.moves
				if (d.State == drift.Steady) == moves || d.State == drift.TooShort {
					t.Errorf("%s, want only %s to move", d.Sentence, tt.moves)
				}
			}
		})
	}
}

// Stores behind the service run on the target's cores and in its memory too.
func TestLoadCountsEveryRoleOfTheTarget(t *testing.T) {
	db := sampled(t, t.TempDir(), 61, func(s float64) (batch []series.Sample) {
		for _, role := range []string{"app", "db", "wide", "generator"} {
			batch = append(batch, series.Sample{
				Name:   "plimsoll_process_cpu_seconds_total",
				Labels: labels("role", role),
				Value:  0.5 * s,
			},
				series.Sample{
					Name:   "plimsoll_process_resident_memory_bytes",
					Labels: labels("role", role),
					Value:  1 << 30,
				})
		}
		return batch
	})
	x := phaseReader{
		db:    db,
		run:   new(Catalog).Of(&record.Run{Manifest: record.Manifest{Epoch: epoch}}),
		phase: record.Phase{Name: "measure", To: time.Minute},
	}
	cpu, memory, err := x.load(t.Context())
	if err != nil || len(cpu) != 3 || len(memory) != 3 || math.Abs(cpu["wide"]-50) > 2 ||
		memory["wide"] != 1<<30 {
		t.Errorf("CPU %v, memory %v, %v", cpu, memory, err)
	}
}
