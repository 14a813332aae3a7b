package compare

import (
	"math"
	"testing"
	"time"

	"plimsoll/plan"
	"plimsoll/run/capacity"
	"plimsoll/run/trial"
)

// A level that a pilot did not reach is predicted within all limits, the limit of a search among
// them.
func TestFoundLevelsAreLimited(t *testing.T) {
	p := &plan.Plan{Bounded: &plan.Bounded{Ramp: time.Minute, Settle: time.Minute},
		Compare: &plan.Compare{Arms: []plan.Arm{{Name: plan.Base}, {Name: "new"}}}}
	for _, tt := range []struct {
		name                   string
		limit, minutes, wanted int
		took                   time.Duration // of a hundred accounts
		users                  int
		capped                 bool
	}{
		{"another pilot", 1000, 0, 450, 0, 100, true},
		{"no time for another", 1000, 8, 450, 0, 200, false},
		{"a search of 150 users", 150, 8, 450, time.Second, 150, false},
		{"accounts are dear", 1000, 8, 450, 34 * time.Second, 117, false},
		{"a search of 100 users", 100, 8, 450, 34 * time.Second, 100, false},
	} {
		f := &trial.FoundLevel{LevelResult: capacity.LevelResult{
			Users:       100,
			Utilization: 0.1,
			Capped:      true,
			Wanted:      tt.wanted,
		}}
		limitFound(p, f, tt.limit, tt.minutes, accounts{100, tt.took}, 75*time.Second)
		if f.Users != tt.users || f.Capped != tt.capped {
			t.Errorf("%s: %+v; want %d users, %v", tt.name, f, tt.users, tt.capped)
		}
	}
}

// A pilot of 75 s leaves no time for another one in 8 minutes; in half an hour it does, for one
// database.
func TestPilotsTakeAFifth(t *testing.T) {
	for _, tt := range []struct {
		minutes, pilots int
		took            time.Duration
		last            bool
	}{{8, 1, 75 * time.Second, true}, {30, 1, 75 * time.Second, false}, {30, 2, 75 * time.Second, true}} {
		if last := pilotsLast(tt.minutes, tt.pilots, tt.took); last != tt.last {
			t.Errorf("%+v: %v", tt, last)
		}
	}
}

// Accounts take a quarter of the minutes of a comparison at most: a hundred of them cost 17 s in
// each of three deployments, so that 8 minutes pay for 235. What arrivals cost, 40 ms each, fits
// into ramp and settling.
func TestUsersAreLimited(t *testing.T) {
	most := accountsFor(8, 100, 17*time.Second, 1, 2)
	if most != 235 {
		t.Errorf("%d accounts, want 235", most)
	}
	b := &plan.Bounded{Ramp: 3 * time.Second, Settle: 5 * time.Second}
	for each, want := range map[time.Duration]int{
		0:                     math.MaxInt,
		40 * time.Millisecond: 80,
		time.Minute:           firstLevel,
	} {
		if n := arrivalsFor(b, each); n != want {
			t.Errorf("%d users that cost %v arrive in time, want %d", n, each, want)
		}
	}
	for wanted, want := range map[int]int{140: 100, 490: 235} {
		f := &trial.FoundLevel{LevelResult: capacity.LevelResult{
			Users:       100,
			Utilization: 0.1,
			Capped:      true,
			Wanted:      wanted,
		}}
		limitUsers(f, most, "why")
		if f.Users != want || f.Capped != (want == 100) {
			t.Errorf("%d users are wanted: %+v, want %d", wanted, f, want)
		}
		if want == 235 && (math.Abs(f.Utilization-0.235) > 1e-9 || f.Short != "predicted; why") {
			t.Errorf("%d users are wanted: %+v", wanted, f)
		}
	}
	f := &trial.FoundLevel{LevelResult: capacity.LevelResult{Users: 200, Utilization: 0.45}}
	if limitUsers(f, 150, "why"); f.Users != 150 || math.Abs(f.Utilization-0.3375) > 1e-9 {
		t.Errorf("200 users where 150 arrive in time: %+v", f)
	}
}
