package workload

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The agents of the first numbers, in tables.
func TestDeal(t *testing.T) {
	for _, tt := range []struct {
		name    string
		agents  int
		ratings []int
		want    []int
	}{
		{"alone", 1, nil, []int{0, 0, 0}},
		{"even", 3, nil, []int{0, 1, 2, 0, 1, 2, 0}},
		{"equal ratings", 3, []int{500, 500, 500}, []int{0, 1, 2, 0, 1, 2, 0}},
		{"equal ratings, two agents each", 4, []int{7, 7}, []int{0, 1, 2, 3, 0, 1}},
		{"one host", 2, []int{9}, []int{0, 1, 0, 1}},
		{"3 to 1", 2, []int{9000, 3000}, []int{0, 0, 0, 1, 0, 0, 0, 1}},
		{"3 to 1, two agents each", 4, []int{3, 1}, []int{0, 2, 0, 1, 2, 0, 2, 3, 0, 2, 0, 1}},
		{"1 to 2 to 3", 3, []int{1, 2, 3}, []int{2, 1, 2, 0, 1, 2, 2, 1}},
	} {
		d, err := NewDeal(tt.agents, tt.ratings)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got []int
		for i := range tt.want {
			agent, _ := d.Of(i)
			got = append(got, agent)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: numbers are dealt to the agents %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestImpossibleDeals(t *testing.T) {
	for _, tt := range []struct {
		agents  int
		ratings []int
	}{{0, nil}, {-1, nil}, {3, []int{1, 2}}, {2, []int{1, 0}}, {2, []int{-1, 1}}, {2, []int{MostRated + 1, 1}}, {2, []int{1, 2, 3, 4}}} {
		if d, err := NewDeal(tt.agents, tt.ratings); err == nil {
			t.Errorf("%d agents on hosts with the ratings %v: %+v", tt.agents, tt.ratings, d)
		}
	}
}

// For every number of users each host has its part of them, give or take less than one, and each
// agent its part of its host's; places are without a gap, and the parts are those of the ratings.
func TestDealKeepsTheParts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(hosts, each int, ratings []int) {
		t.Helper()
		agents := hosts * each
		d, err := NewDeal(agents, ratings)
		must(t, err)
		sum := 0
		for _, v := range ratings {
			sum += v
		}
		parts, whole := make([]float64, hosts), 0.0
		for h, v := range ratings {
			parts[h] = d.Part(h) * float64(each)
			whole += parts[h]
			if off := math.Abs(parts[h] - float64(v)/float64(sum)); off > float64(hosts)/dealUnits {
				t.Fatalf(
					"ratings %v: host %d has the part %v, off by %v",
					ratings,
					h,
					parts[h],
					off,
				)
			}
		}
		if math.Abs(whole-1) > 1e-9 {
			t.Fatalf("ratings %v: the parts add up to %v", ratings, whole)
		}
		ofHost, ofAgent := make([]int, hosts), make([]int, agents)
		n := min(3*len(d.host)+100, 20_000)
		for i := range n {
			agent, place := d.Of(i)
			if place != ofAgent[agent] {
				t.Fatalf(
					"ratings %v, %d agents each: number %d has the place %d of agent %d, want %d",
					ratings,
					each,
					i,
					place,
					agent,
					ofAgent[agent],
				)
			}
			ofAgent[agent]++
			ofHost[agent%hosts]++
			for h, has := range ofHost {
				if want := parts[h] * float64(i+1); math.Abs(float64(has)-want) >= 1+1e-6 {
					t.Fatalf(
						"ratings %v: of %d numbers host %d has %d, want %v",
						ratings,
						i+1,
						h,
						has,
						want,
					)
				}
			}
			if i%997 == 0 || i == n-1 {
				if got := d.Hosts(i + 1); !slices.Equal(got, ofHost) {
					t.Fatalf(
						"ratings %v: of %d numbers the hosts have %v, Hosts says %v",
						ratings,
						i+1,
						ofHost,
						got,
					)
				}
			}
		}
		for agent, has := range ofAgent {
			if off := float64(has) - float64(ofHost[agent%hosts])/float64(each); math.Abs(
				off,
			) >= 1 {
				t.Fatalf(
					"ratings %v: agent %d has %d of the %d numbers of its host, which has %d agents",
					ratings,
					agent,
					has,
					ofHost[agent%hosts],
					each,
				)
			}
		}
	}
	for range 40 {
		hosts := 1 + r.IntN(12)
		ratings := make([]int, hosts)
		most := []int{3, 20, 100_000}[r.IntN(3)]
		for h := range ratings {
			ratings[h] = 1 + r.IntN(most)
		}
		check(hosts, 1+r.IntN(4), ratings)
	}
	check(1000, 1, slices.Repeat([]int{50_000, 49_999, 3}, 334)[:1000])
	check(2, 16, []int{MostRated, 1})
}

// Neighbors, who start together, are on different hosts as far as the ratings allow.
func TestDealSpreadsNeighbors(t *testing.T) {
	d, err := NewDeal(3, []int{20_000, 10_000, 10_000})
	must(t, err)
	row := 0
	longest := 0
	last := -1
	for i := range 1000 {
		agent, _ := d.Of(i)
		if row++; agent != last {
			row = 1
		}
		last, longest = agent, max(longest, row)
	}
	if longest > 2 {
		t.Errorf("%d neighbors in a row are on one host, which has half of all", longest)
	}
}

// Users are dealt whole: each rank of each behavior is one agent's, and no agent has a list of nil.
func TestPartsByRating(t *testing.T) {
	d, err := NewDeal(4, []int{3, 1})
	must(t, err)
	const users = 101
	parts := Parts(users, d, 0.7, 0.3)
	deal := NewStrata(0.7, 0.3)
	next := make([][2]int, 4)
	for i := range users {
		class, rank := deal.Next()
		agent, _ := d.Of(i)
		if at := next[agent][class]; parts[agent][class][at] != rank {
			t.Fatalf(
				"user %d, rank %d of behavior %d, is not agent %d's: %v",
				i,
				rank,
				class,
				agent,
				parts[agent][class],
			)
		}
		next[agent][class]++
	}
	few := Parts(1, d, 1)
	if len(few[0][0]) != 1 || few[3][0] == nil || len(few[3][0]) != 0 {
		t.Errorf("one user: %v", few)
	}
}

// A Deal is asked for every message of a ledger.
func BenchmarkDeal(b *testing.B) {
	d, err := NewDeal(8, []int{31_013, 9_001})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	sum := 0
	for i := 0; b.Loop(); i++ {
		_, place := d.Of(i)
		sum += place
	}
	_ = sum
}
