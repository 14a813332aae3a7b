package capacity

import (
	"fmt"
	"math"
	"time"
)

// ample is the multiple of its start that a search should be able to reach: the capacity is not
// known before, and a budget that ends below it ends the search with a lower bound.
const ample = 3

// A SearchTime is the forecast of how long a search takes and of the users at the end of its
// budget.
type SearchTime struct {
	// Ramp is the time from the start to the maximum, if nothing stops the ramp before.
	Ramp time.Duration
	// Least is the shortest time from the end of the ramp to an estimate of the requested
	// precision, with noise that lasts no longer than a window; slower noise takes longer.
	Least time.Duration
	// Most is the budget.
	Most time.Duration
	// Reach is the number of users of the ramp at the end of the budget, if nothing stops it
	// before: at most the maximum.
	Reach float64
	// Enough is the budget that lasts for a ramp to three times the start, or to the maximum if
	// that is less, and for Least from there.
	Enough time.Duration

	start, max int
}

// Forecast returns how long the search may take, or an error if the config is invalid.
func (c Config) Forecast() (SearchTime, error) {
	c, err := c.withDefaults()
	if err != nil {
		return SearchTime{}, err
	}
	f := SearchTime{Most: c.Budget, start: c.Start, max: c.Max}
	f.Ramp, f.Reach = c.rampTo(float64(c.Max), c.Budget)
	windows := 1
	for {
		n := float64(windows)
		if r := priorWindows * priorCorrelation / (n + priorWindows); n*(1-r)/(1+r) >= minIndependent {
			break
		}
		windows++
	}
	f.Least = time.Duration(windows) * c.Window
	if c.Staircase {
		f.Least = leastPlateaus * (plateauSettle + plateauMeasure) * c.Window
	}
	far, _ := c.rampTo(min(float64(c.Max), ample*float64(c.Start)), math.MaxInt64)
	f.Enough = far + f.Least
	return f, nil
}

// rampTo returns how long a ramp that nothing stops takes to so many users, at most the given time,
// and the users that it has then.
func (c Config) rampTo(users float64, most time.Duration) (took time.Duration, reached float64) {
	reached = float64(c.Start)
	tick := c.Window / 5
	for reached < users && took < most {
		reached += c.growth(reached) * tick.Seconds()
		took += tick
	}
	return min(took, most), min(reached, users)
}

// growth is the ramp's, in users per second.
func (c Config) growth(users float64) float64 {
	return max(c.RampRate*users, min(c.RampFloor, users*0.1/c.Window.Seconds()))
}

// Short returns why the budget may be too short to meet the capacity, with the remedy, or "".
func (f SearchTime) Short() string {
	if f.Reach >= min(float64(f.max), ample*float64(f.start)) {
		return ""
	}
	return fmt.Sprintf(
		"the search ends with its budget of %v near %.0f users, %.1f times its start of %d: a target that carries more gets a lower bound only. "+
			"Raise unbounded.budget to %v or more",
		f.Most,
		f.Reach,
		f.Reach/float64(f.start),
		f.start,
		coarse(f.Enough),
	)
}

// coarse rounds a time for people.
func coarse(d time.Duration) time.Duration {
	if d > 10*time.Minute {
		return d.Round(time.Minute)
	}
	return d.Round(time.Second)
}

// String returns the forecast as a sentence.
func (f SearchTime) String() string {
	reach := fmt.Sprintf(
		"%v of search end near %.0f users at this pace of steps",
		coarse(f.Most),
		f.Reach,
	)
	switch {
	case f.Reach < float64(f.max) && f.Least >= f.Most:
		return fmt.Sprintf(
			"%s, and are too short for the precision that is asked for, which takes at least %v after the ramp; the interval will be wider",
			reach,
			coarse(f.Least),
		)
	case f.Least >= f.Most:
		return fmt.Sprintf(
			"%v, too short for the precision that is asked for, which takes at least %v after the ramp; the interval will be wider",
			coarse(f.Most),
			coarse(f.Least),
		)
	case f.Reach < float64(f.max):
		return fmt.Sprintf(
			"%s; the precision that is asked for takes at least %v after the ramp",
			reach,
			coarse(f.Least),
		)
	}
	return fmt.Sprintf(
		"a ramp of at most %v, then at least %v to the precision that is asked for; at most %v in all",
		coarse(f.Ramp),
		coarse(f.Least),
		coarse(f.Most),
	)
}
