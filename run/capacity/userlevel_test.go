package capacity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// levelServer is a server in virtual time whose utilization is a function of its users.
type levelServer struct {
	util   func(users float64) float64 // in the long run
	noise  float64                     // half-width of a reading, as a part of it
	memory time.Duration               // time constant of an overload's rest
	// lock is the number of users whose operations it can carry; 0 for any number.
	lock float64
	// breaks is the number of users at which a rule breaks; 0 for none.
	breaks int
	// spoiled is the part of the windows that others on the host spoil.
	spoiled float64

	rest float64 // utilization of the rest
}

func (v *levelServer) pass(users int, d time.Duration) {
	if v.memory == 0 {
		return
	}
	v.rest *= math.Exp(-d.Seconds() / v.memory.Seconds())
	if over := v.util(float64(users)) - 0.9; over > 0 {
		v.rest += over * d.Seconds() / 10
	}
}

func (v *levelServer) read(rng *rand.Rand, at time.Duration, users int) LevelReading {
	served := float64(users)
	if v.lock > 0 {
		served = min(served, v.lock)
	}
	util := v.util(served) + v.rest
	o := LevelReading{
		At:          at,
		Users:       users,
		Waiting:     1 - served/float64(users),
		Utilization: util * (1 + v.noise*(2*rng.Float64()-1)),
	}
	o.Utilization = min(o.Utilization, 1)
	if v.breaks > 0 && users >= v.breaks || v.spoiled > 0 && rng.Float64() < v.spoiled {
		o.Broken = "p99(op) < 2s broke"
	}
	return o
}

// find carries a search out and returns its result and the time it took.
func (v *levelServer) find(seed uint64, limit int) (LevelResult, bool, time.Duration) {
	const ramp, settle, window = 2 * time.Second, 4 * time.Second, 5 * time.Second
	s := NewLevelSearch(LevelConfig{
		Start:  10,
		Max:    limit,
		Budget: time.Minute,
		Step:   ramp + settle + window,
	})
	rng := rand.New(rand.NewPCG(seed, 3))
	at, users := time.Duration(0), 0
	for act := s.First(); !act.Done; {
		for step := time.Duration(0); act.Users != users && step < ramp+settle; step += time.Second {
			v.pass(act.Users, time.Second)
			at += time.Second
			if act.Rest && step == 0 {
				v.pass(act.Users, 2*settle)
				at += 2 * settle
			}
		}
		users = act.Users
		v.pass(users, window)
		at += window
		act = s.Step(v.read(rng, at, users))
	}
	l, ok := s.Result()
	return l, ok, at
}

func perUser(idle, cost float64) func(float64) float64 {
	return func(users float64) float64 { return idle + cost*users }
}

func TestUserLevel(t *testing.T) {
	tests := []struct {
		name   string
		server levelServer
		inside int // of 100 seeds, with a true utilization of 35 to 55 %
	}{
		{"linear, 90 users", levelServer{util: perUser(0.02, 0.005)}, 100},
		{"linear, 15 users", levelServer{util: perUser(0, 0.03)}, 100},
		{"linear, 2000 users", levelServer{util: perUser(0.01, 0.00022)}, 100},
		{"linear, 20,000 users", levelServer{util: perUser(0, 0.0000225)}, 100},
		{"idle CPU of 20 %", levelServer{util: perUser(0.20, 0.002), noise: 0.1}, 95},
		{"noise of 10 %", levelServer{util: perUser(0.03, 0.005), noise: 0.1}, 95},
		{"noise of 10 %, 600 users", levelServer{util: perUser(0.03, 0.0007), noise: 0.1}, 95},
		{"users talk to all others", levelServer{
			util:  func(n float64) float64 { return 0.02 + n*n/40_000 },
			noise: 0.1,
		}, 95},
		{"remembers an overload for 15 s", levelServer{
			util:   func(n float64) float64 { return n * n / 4_000 },
			noise:  0.1,
			memory: 15 * time.Second,
		}, 95},
		{"others spoil a window in twenty", levelServer{
			util:    perUser(0.03, 0.005),
			noise:   0.1,
			spoiled: 0.05,
		}, 95},
		{"too many at the start", levelServer{util: perUser(0.05, 0.12), noise: 0.1}, 95},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inside := 0
			longest := time.Duration(0)
			sum := time.Duration(0)
			for seed := range uint64(100) {
				v := tt.server
				l, ok, took := v.find(seed, 100_000)
				if u := v.util(float64(l.Users)); ok && u >= 0.35 && u <= 0.55 {
					inside++
				} else if testing.Verbose() {
					t.Logf("seed %d: %+v, truth %.3f", seed, l, u)
				}
				longest, sum = max(longest, took), sum+took
			}
			t.Logf("%d of 100 inside, %v in the mean, %v at most", inside, sum/100, longest)
			if inside < tt.inside || longest > 75*time.Second {
				t.Errorf(
					"%d of 100 at 35 to 55 %%, %v at most; want %d, about a minute",
					inside,
					longest,
					tt.inside,
				)
			}
		})
	}
}

// A server whose lock is its limit gets the highest level that it carried, and the reason.
func TestUserLevelOfLimitedServer(t *testing.T) {
	tests := []struct {
		name         string
		server       levelServer
		limit        int
		least, users int
		short        string
		capped       bool
	}{
		{"lock", levelServer{
			util:  perUser(0.02, 0.002),
			lock:  60,
			noise: 0.1,
		}, 1000, 40, 85, "a user waits for answers", false},
		{"rule", levelServer{
			util:   perUser(0.02, 0.002),
			breaks: 70,
			noise:  0.1,
		}, 1000, 40, 69, "p99(op) < 2s broke", false},
		{"most users", levelServer{
			util:  perUser(0.02, 0.002),
			noise: 0.1,
		}, 100, 100, 100, "more than 100 users", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(100) {
				v := tt.server
				l, ok, took := v.find(seed, tt.limit)
				if !ok || l.Users < tt.least || l.Users > tt.users ||
					!strings.Contains(l.Short, tt.short) ||
					l.Capped != tt.capped {
					t.Fatalf(
						"seed %d: %+v, %v after %v; want %d to %d users, %q",
						seed,
						l,
						ok,
						took,
						tt.least,
						tt.users,
						tt.short,
					)
				}
			}
		})
	}
	v := levelServer{util: perUser(0.02, 0.002), breaks: 1}
	if l, ok, _ := v.find(1, 100); ok || l.Short == "" {
		t.Errorf("a server that carries nobody: %+v, %v; want none, and the reason", l, ok)
	}
}

func ExampleLevelSearch() {
	s := NewLevelSearch(LevelConfig{
		Start:  10,
		Max:    1000,
		Budget: time.Minute,
		Step:   10 * time.Second,
	})
	at := time.Duration(0)
	for act := s.First(); !act.Done; {
		at += 10 * time.Second
		util := 0.02 + 0.005*float64(act.Users)
		fmt.Printf("%d users use %.0f %%\n", act.Users, 100*util)
		act = s.Step(LevelReading{At: at, Users: act.Users, Utilization: util})
	}
	l, _ := s.Result()
	fmt.Println(l.Users)
	// Output:
	// 10 users use 7 %
	// 40 users use 22 %
	// 86 users use 45 %
	// 86 users use 45 %
	// 86
}
