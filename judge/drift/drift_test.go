package drift_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"plimsoll/judge/drift"
)

func memory(n int, of func(i int) float64) drift.Signal {
	r := rand.New(rand.NewPCG(5, 6))
	s := drift.Signal{
		Name:     "memory of app",
		Unit:     "bytes",
		Step:     15 * time.Minute,
		Material: 0.05,
		Floor:    8 << 20,
	}
	for i := range n {
		s.Values = append(s.Values, (of(i)+2*r.NormFloat64())*(1<<20))
	}
	return s
}

func TestFindDrift(t *testing.T) {
	// A day in 96 values. The leak is 8 MiB/h.
	leak := memory(96, func(i int) float64 { return 500 + 2*float64(i) })
	cache := memory(96, func(i int) float64 { return 500 + 100*(1-math.Exp(-float64(i)/14)) })
	flat := memory(96, func(int) float64 { return 500 })
	// significant, 2 % in a day
	small := memory(96, func(i int) float64 { return 500 + 0.1*float64(i) })
	saw := memory(96, func(i int) float64 { return 500 + 10*float64(i%12) })
	short := memory(19, func(i int) float64 { return 500 + 2*float64(i) })
	falling := memory(96, func(i int) float64 { return 900 - 2*float64(i) })
	for _, tt := range []struct {
		name   string
		signal drift.Signal
		want   string
		text   string
	}{
		{"leak", leak, drift.Rises, "memory of app: rises by +189 MiB over 23.8 hours (+7.95"},
		{"cache", cache, drift.LevelsOff, "hardly in the second half"},
		{"flat", flat, drift.Steady, "this run can not see"},
		{"small", small, drift.Steady, "no drift that matters"},
		{"sawtooth", saw, drift.Steady, ""},
		{"falling", falling, drift.Falls, "falls by -1"},
		{"short", short, drift.TooShort, "19 values are too few"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := drift.FindDrift([]drift.Signal{tt.signal})
			if len(got) != 1 || got[0].State != tt.want ||
				!strings.Contains(got[0].Sentence, tt.text) {
				t.Errorf("%+v", got)
			}
		})
	}
	all := drift.FindDrift([]drift.Signal{flat, short, leak})
	if all[0].State != drift.Steady || all[1].State != drift.TooShort ||
		all[2].State != drift.Rises {
		t.Errorf("%+v", all)
	}
	if all[1].P != nil || all[2].P == nil || *all[2].Lo > 8<<20 || *all[2].Hi < 8<<20 {
		t.Errorf("the interval of the leak does not hold 8 MiB/h: %+v", all[2])
	}
}
