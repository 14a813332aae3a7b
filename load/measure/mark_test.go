package measure

import (
	"testing"
	"time"
)

// Ops that are recorded after a mark and were due before it are kept apart, and no op is lost.
func TestMarkTellsApartAndLosesNothing(t *testing.T) {
	r := NewRegistry(2)
	rec := r.Recorder(1)
	ask, delivery := rec.Name("ask"), rec.Name("delivery")
	op := func(due, done time.Duration) *Op {
		return &Op{
			Intended: due,
			Due:      due,
			Sent:     due,
			Done:     done,
		}
	}
	batch := rec.Batch()
	// ended before the mark, and is handed in after it
	batch.Record(ask, op(time.Second, 2*time.Second))
	flight := rec.Flight()
	flight.Begin(ask, 3*time.Second, 3*time.Second)
	if n := r.InFlight(); n != 1 {
		t.Errorf("%d in flight, want 1", n)
	}
	r.Mark(5 * time.Second)
	if n := r.Open(); n != 1 {
		t.Errorf("%d under way, want 1", n)
	}
	later := rec.Flight()
	later.Begin(ask, 6*time.Second, 6*time.Second)
	if open, all := r.Open(), r.InFlight(); open != 1 || all != 2 {
		t.Errorf("%d due before the mark and %d in flight, want 1 and 2", open, all)
	}
	later.End()
	if n := r.InFlight(); n != 1 {
		t.Errorf("%d in flight after an end, want 1", n)
	}
	batch.Close()
	rec.Record(ask, op(4*time.Second, 7*time.Second))
	rec.Record(ask, op(5*time.Second, 7*time.Second))
	rec.Since(delivery, 4*time.Second, 3*time.Second)
	rec.Since(delivery, 6*time.Second, time.Second)
	r.Censor(8*time.Second, 0)
	p := Split(r.Cut())
	count := func(ws []*Window) map[string]uint64 {
		m := map[string]uint64{}
		for _, w := range ws {
			m[w.Name] = w.Response.Count()
		}
		return m
	}
	in := count(p.InTime)
	late := count(p.Late)
	open := count(p.Open)
	after := count(p.After)
	if in["ask"] != 1 || late["ask"] != 2 || in["delivery"] != 1 || late["delivery"] != 1 ||
		open["ask"] != 1 {
		t.Errorf("in time %v, late %v, open %v", in, late, open)
	}
	if after["ask"] != 1 || p.After[0].Response.Max() != 2*time.Second {
		t.Errorf("after %v, want the one that ended two seconds later", after)
	}
	if w := p.Open[0]; w.Response.Max() != 5*time.Second || w.Count() != 0 {
		t.Errorf("age %v in %d, want 5 s in no class", w.Response.Max(), w.Count())
	}
	flight.End()
	if n := r.Open(); n != 0 {
		t.Errorf("%d under way after the end", n)
	}
	// An age that has reached the timeout is one.
	flight.Begin(ask, 3*time.Second, 3*time.Second)
	r.Censor(8*time.Second, 5*time.Second)
	if p := Split(r.Cut()); len(p.Late) != 1 || p.Late[0].Classes[Timeout] != 1 ||
		len(p.Open) != 0 {
		t.Errorf("%+v, want a timeout", p)
	} else if len(p.After) != 1 || p.After[0].Response.Count() != 1 || p.After[0].Response.Max() != 3*time.Second {
		t.Errorf("after %+v, want the timeout that reaches 3 s beyond the mark, as one that was recorded does", p.After)
	}
	// At the mark itself nothing lies beyond it.
	r.Mark(8 * time.Second)
	r.Censor(8*time.Second, 5*time.Second)
	if p := Split(r.Cut()); len(p.Late) != 1 || len(p.After) != 0 {
		t.Errorf("%d timeouts, %d beyond the mark; want one, not beyond", len(p.Late), len(p.After))
	}
	flight.Close()
	if n := r.Open(); n != 0 {
		t.Errorf("%d under way after the close", n)
	}
}

// An op that waited for its place is old, and was begun a moment ago: its timeout is not over.
func TestWaitForAPlaceIsNoTimeout(t *testing.T) {
	r := NewRegistry(1)
	rec := r.Recorder(0)
	ask, arrival := rec.Name("ask"), rec.Name("arrival")
	rec.Flight().Begin(ask, 3*time.Second, 19*time.Second)
	r.Waiting(arrival, func(before time.Duration, came func(time.Duration)) {
		for _, at := range []time.Duration{4 * time.Second, 21 * time.Second} {
			if at < before {
				came(at)
			}
		}
	})
	r.Mark(20 * time.Second)
	if n := r.Open(); n != 2 {
		t.Errorf("%d are under way or wait, want 2", n)
	}
	r.Censor(20*time.Second, 5*time.Second)
	p := Split(r.Cut())
	if len(p.Late) != 0 || len(p.Open) != 2 || p.Open[0].Response.Max() != 16*time.Second ||
		p.Open[1].Response.Max() != 17*time.Second {
		t.Errorf("%d timeouts, open %+v; want none and the ages 16 s and 17 s", len(p.Late), p.Open)
	}
}
