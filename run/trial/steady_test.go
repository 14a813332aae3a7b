package trial

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/record"
)

// step returns latencies that are first until a moment, and then after it.
func step(at, first, then time.Duration) func(time.Duration) time.Duration {
	return func(now time.Duration) time.Duration {
		if now < at {
			return first
		}
		return then
	}
}

// A target that is slow at first, changes for good in the middle, or gets slower all the time.
func TestSteady(t *testing.T) {
	const settle = 3 * time.Second
	for _, tt := range []struct {
		name    string
		measure time.Duration
		window  time.Duration                        // the last part, which counts
		latency func(at time.Duration) time.Duration // from the beginning of the measured phase
		want    string
		text    string
	}{
		{"steady", 60 * time.Second, 0, step(0, 0, 10*time.Millisecond), "", ""},
		{"warm-up", 60 * time.Second, 0, step(10*time.Second, 20*time.Millisecond, 10*time.Millisecond), "amber stationary", "of the measured phase were still warm-up: their mean response was … % higher than later, which moves that of the whole phase by +1…; set bounded.settle to 13s"},
		{"in bins of 2 s", 120 * time.Second, 0, step(20*time.Second, 20*time.Millisecond, 10*time.Millisecond), "amber stationary", "the first 20s of the measured phase were still warm-up: …; set bounded.settle to 23s"},
		{"changed in the middle", 60 * time.Second, 0, step(35*time.Second, 10*time.Millisecond, 15*time.Millisecond), "red stationary", "mean response of its first 35s was 3… % lower than of the rest"},
		{"stood still in the middle, and changed", 60 * time.Second, 0, func(at time.Duration) time.Duration {
			switch {
			case at < 33*time.Second:
				return 10 * time.Millisecond
			case at <= 35*time.Second:
				return unanswered
			}
			return 15 * time.Millisecond
		}, "red stationary", "mean response of its first 35s was 3… % lower than of the rest"},
		{"stood still too often to be asked", 60 * time.Second, 0, func(at time.Duration) time.Duration {
			switch of := at % (8 * time.Second); {
			case of >= 3*time.Second && of <= 4*time.Second:
				return unanswered
			case at < 35*time.Second:
				return 10 * time.Millisecond
			}
			return 15 * time.Millisecond
		}, "", ""},
		{"the warm-up is not in the part that counts", 80 * time.Second, 60 * time.Second, step(10*time.Second, 20*time.Millisecond, 10*time.Millisecond), "", ""},
		{"steady climb", 60 * time.Second, 0, func(at time.Duration) time.Duration {
			return 41*time.Millisecond + 19*at/60_000
		}, "", ""},
		{"too short", 40 * time.Second, 0, step(10*time.Second, 20*time.Millisecond, 10*time.Millisecond), "", ""},
	} {
		virtual(t, tt.name, func(t *testing.T) {
			l := newLab(1000)
			n := 0
			s := spec(t, l)
			began := s.Clock.Epoch().Add(2*time.Second + settle)
			l.latency = func(int) time.Duration {
				n++
				at := max(time.Since(began), 0)
				d := tt.latency(at)
				if d != unanswered {
					d += time.Duration(n%7-3) * 20 * time.Microsecond // 0.2 %
				}
				return d
			}
			s.Bounded = &BoundedTest{
				Users:   100,
				Ramp:    2 * time.Second,
				Settle:  settle,
				Measure: tt.measure,
				Window:  tt.window,
			}
			if tt.window > 0 {
				s.Bounded.Until = func() (string, error) { return "", nil }
			}
			out := carryOut(t, s)
			if got := gates(out.Validity); got != tt.want ||
				out.Validity.Valid != !strings.HasPrefix(tt.want, record.Red) {
				t.Errorf("valid %v, findings %q, want %q", out.Validity.Valid, got, tt.want)
			}
			for _, f := range out.Validity.Findings {
				// the operation on a boundary may be in either half
				for part := range strings.SplitSeq(tt.text, "…") {
					if !strings.Contains(f.Text, part) {
						t.Errorf("%q lacks %q", f.Text, part)
					}
				}
			}
		})
	}
}

// An interval without an answer is as the one before it, if there are few; immediate failures are
// not answers.
func TestSeriesWithHoles(t *testing.T) {
	const n = 20
	for _, tt := range []struct {
		name string
		none []int // seconds
		like []int // whose values they take; nil where they stay without one
	}{
		{"none", nil, nil},
		{"in the middle", []int{7, 8}, []int{6, 6}},
		{"at the beginning", []int{0, 1}, []int{2, 2}},
		{"at the end", []int{4, 19}, []int{3, 18}},
		{"too many", []int{0, 7, 8}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c course
			for i := range n {
				c.open = courseSecond{
					response: time.Duration(100+i) * time.Millisecond,
					timed:    10,
					ops:      uint64(10 + i),
				}
				switch slices.Index(tt.none, i) {
				case -1:
				case 0: // all operations failed
					c.open.response, c.open.timed = 0, 0
				default:
					c.open = courseSecond{}
				}
				c.next()
			}
			latency, rate, each := c.series()
			if len(latency) != n || len(rate) != n || each != time.Second {
				t.Fatalf("%d and %d values of %v", len(latency), len(rate), each)
			}
			for i := range n {
				from := i
				if k := slices.Index(tt.none, i); k >= 0 && tt.like != nil {
					from = tt.like[k]
				} else if k >= 0 {
					if !math.IsNaN(latency[i]) {
						t.Errorf("second %d has no answer and a mean response of exp %v", i, latency[i])
					}
					continue
				}
				wantLatency, wantRate := math.Log(float64(100+from)/1e4), math.Log(float64(10+from))
				if math.Abs(latency[i]-wantLatency) > 1e-9 || math.Abs(rate[i]-wantRate) > 1e-9 {
					t.Errorf(
						"second %d: %v and %v, want %v and %v",
						i,
						latency[i],
						rate[i],
						wantLatency,
						wantRate,
					)
				}
			}
		})
	}
	if latency, rate, _ := new(course).series(); len(latency) != 0 || len(rate) != 0 {
		t.Errorf("an empty course has %d and %d values", len(latency), len(rate))
	}
}
