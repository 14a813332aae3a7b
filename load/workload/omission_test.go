package workload

import (
	"math"
	"testing"
	"time"

	"plimsoll/load/measure"
)

func TestOmissionByHand(t *testing.T) {
	w := measure.NewWindow("ask")
	w.Classes[measure.OK] = 110
	w.Response.RecordN(time.Millisecond, 100)
	w.Response.RecordN(5001*time.Millisecond, 10)
	// Ten users lost five seconds each of 150 s: 110 operations in 100 s, so 165 in 150.
	o := NewOmission([]*measure.Window{w}, nil, 150*time.Second)
	if o.Achieved != 110 || math.Abs(o.Intended-165) > 1 {
		t.Errorf("%d of %v, want 110 of 165", o.Achieved, o.Intended)
	}
	if len(o.Never) != 1 || o.Never[0].Response.Count() != 55 || o.Never[0].Count() != 0 {
		t.Fatalf("never begun: %+v", o.Never)
	}
	// They would have begun evenly over the five seconds.
	h := o.Never[0].Response
	if p50 := h.Quantile(0.5).Seconds(); math.Abs(p50-2.5) > 0.1 ||
		h.Max() > 5010*time.Millisecond {
		t.Errorf("median wait %v, most %v", p50, h.Max())
	}

	// Had those ten ended a second after the phase, it would have seen four seconds of each: those
	// begun in it wait one to five.
	tail := measure.NewWindow("ask")
	tail.Response.RecordN(5001*time.Millisecond, 10)
	o = NewOmission([]*measure.Window{w}, map[string]LateResponses{"ask": {
		Response: tail.Response,
		Beyond:   10 * time.Second,
	}}, 150*time.Second)
	if math.Abs(o.Intended-150) > 1 {
		t.Errorf("intended %v, want 150", o.Intended)
	}
	h = o.Never[0].Response
	if p50 := h.Quantile(0.5).Seconds(); math.Abs(p50-3) > 0.1 || h.Min() < 990*time.Millisecond {
		t.Errorf("median wait %v, least %v", p50, h.Min())
	}
}

func TestOmissionOfNothing(t *testing.T) {
	if o := NewOmission(nil, nil, time.Second); o.Achieved != 0 || o.Intended != 0 ||
		o.Never != nil {
		t.Errorf("%+v", o)
	}
	w := measure.NewWindow(Login + "_x") // no steady state
	w.Classes[measure.OK] = 5
	w.Response.RecordN(time.Minute, 5)
	if o := NewOmission([]*measure.Window{w}, nil, time.Second); o.Achieved != 0 {
		t.Errorf("%+v", o)
	}
	w.Name = "ask" // all of them as slow as ever
	if o := NewOmission([]*measure.Window{w}, nil, time.Second); o.Intended != 5 {
		t.Errorf("%+v", o)
	}
}
