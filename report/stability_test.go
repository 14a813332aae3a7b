package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/drift"
	"plimsoll/judge/verdict"
)

// hour returns the drift of a run of an hour, minute by minute: mean response from first to last
// and a steady throughput.
func hour(rng *rand.Rand, first, last float64) []drift.Drift {
	mean := drift.Signal{Name: "mean response", Unit: "ms", Step: time.Minute, Material: 0.02}
	post := drift.SignalPart{Name: "post", Weight: 1}
	rate := drift.Signal{Name: "throughput", Unit: "1/s", Step: time.Minute, Material: 0.05}
	for i := range 61 {
		v := first + (last-first)*float64(i)/60 + 0.5*rng.NormFloat64()
		mean.Values = append(mean.Values, v)
		post.Values = append(post.Values, 2*v)
		rate.Values = append(rate.Values, 230+3*rng.NormFloat64())
	}
	mean.Parts = []drift.SignalPart{post}
	return drift.FindDrift([]drift.Signal{mean, rate})
}

// climbing is a comparison whose base climbs from 41 to 60 ms, and whose new arm to another end.
func climbing(last float64) Document {
	s := full()
	s.seconds = 12
	s.graphs = s.graphs[:1]
	s.engines = s.engines[:1]
	in := s.input()
	rng := rand.New(rand.NewPCG(500, 1))
	for i := range in.Runs {
		end := 60.0
		if in.Runs[i].Cell.Arm == "new" {
			end = last
		}
		in.Runs[i].Drift = hour(rng, 41, end+rng.NormFloat64())
	}
	return From(in)
}

func TestStability(t *testing.T) {
	d := climbing(60)
	if len(d.Stability) != 2 || d.Stability[0].Signal != "mean response" ||
		len(d.Stability[0].Arms) != 2 {
		t.Fatalf("%+v", d.Stability)
	}
	base, fresh := d.Stability[0].Arms[0], d.Stability[0].Arms[1]
	if base.Rises != 6 || base.Runs != 6 || base.Against != nil || base.Lo > 19 || base.Hi < 19 ||
		fresh.Against == nil ||
		fresh.Against.Blocks != 6 ||
		fresh.Against.Differs {
		t.Errorf("base %+v, new %+v", base, fresh)
	}
	if strings.Contains(written(t, FullMarkdown, d), "does not drift as with the base") {
		t.Error("arms that climb alike are told apart")
	}
	d = climbing(41)
	c := d.Stability[0].Arms[1]
	if state, _ := c.moved(); state != "" || !c.Against.Differs || c.Against.Value > -0.4 ||
		c.Against.Value < -0.5 {
		t.Errorf("an arm that does not climb: %+v %+v", c, c.Against)
	}
	has(t, written(t, FullMarkdown, d), "new: mean response does not drift as with the base: -4")
	in := full().input()
	for i := range in.Runs {
		in.Runs[i].Drift = drift.FindDrift([]drift.Signal{{
			Name:   "throughput",
			Unit:   "1/s",
			Step:   time.Second,
			Values: []float64{1, 2},
		}})
	}
	has(
		t,
		written(t, FullMarkdown, From(in)),
		"1 signal lies in measured phases too short to see a drift: nothing is said about it.",
	)
}

// TestStabilityCalibration counts how often equal arms are found to drift differently, over two
// signals: at most 1 % of comparisons may; and how often a difference of a fifth is seen.
func TestStabilityCalibration(t *testing.T) {
	const times = 2000
	rng := rand.New(rand.NewPCG(501, 1))
	cells := func(change float64) []RunData {
		out := make([]RunData, 6)
		for b := range out {
			out[b].Cell.Block = b + 1
			for _, name := range []string{"mean response", "throughput"} {
				v := change + 0.05*rng.NormFloat64()
				out[b].Drift = append(out[b].Drift, drift.Drift{
					Signal: name,
					Change: &v,
					State:  drift.Steady,
				})
			}
		}
		return out
	}
	differs := func(change float64) bool {
		base, fresh := cells(0.1), cells(0.1+change)
		rows := []Stability{{Signal: "mean response"}, {Signal: "throughput"}}
		for i := range rows {
			rows[i].Arms = []StabilityCell{{}, {Against: against(base, fresh, rows[i].Signal)}}
		}
		judgeApart(rows, 1)
		return rows[0].Arms[1].Against.Differs || rows[1].Arms[1].Against.Differs
	}
	equal, found := 0, 0
	for range times {
		if differs(0) {
			equal++
		}
		if differs(0.2) {
			found++
		}
	}
	t.Logf(
		"equal arms: %.2f %%, 20 points apart: %.1f %%",
		100*float64(equal)/times,
		100*float64(found)/times,
	)
	if equal > times/100+9 || found < times*8/10 { // 9 is two standard errors
		t.Errorf(
			"equal arms drift differently in %d of %d comparisons, arms 20 points apart in %d",
			equal,
			times,
			found,
		)
	}
}

func TestPointWithoutABand(t *testing.T) {
	p := slowEnd(rand.New(rand.NewPCG(502, 1))).Points[10]
	p.Lo = nil
	if got := shiftText(p); strings.Contains(got, "[") {
		t.Error(got)
	}
}

func TestPicture(t *testing.T) {
	point := func(v, lo, hi float64) verdict.ShiftPoint {
		return verdict.ShiftPoint{
			Effect: v,
			Lo:     &lo,
			Hi:     &hi,
		}
	}
	for _, tt := range []struct {
		p    verdict.ShiftPoint
		most float64
		want string
	}{
		{point(0.5, 0.2, 0.8), 1, "··········│·├──●──┤··"},
		{point(-0.5, -1, 0.1), 1, "├────●────│┤·········"},
		{point(0, -0.1, 0.1), 1, "·········├●┤·········"},
		{point(3, 2, 4), 1, "··········│·········●"},
		{verdict.ShiftPoint{Effect: -0.1}, 0.1, "●·········│··········"},
		{verdict.ShiftPoint{}, 0, "··········●··········"},
	} {
		if got := shiftPicture(tt.p, tt.most); got != tt.want {
			t.Errorf("%s\n%s, want for %v", got, tt.want, fmt.Sprint(tt.p.Effect))
		}
	}
}
