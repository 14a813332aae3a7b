package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"plimsoll/studies/study"
)

// A kind is a difference of the new build from the base. One that changes gets another name.
type kind struct {
	name, what string
	// weight is how often it is measured, against the others.
	weight int
	// size is a share of the base's CPU time for all operations together, burnt in createPost
	// (byCPU), or of its p95(post), slept there (byWait); 0 for a difference without a size. A
	// fault is built in as it is.
	by    string
	size  float64
	fault string
	arm   string // further keys of the arm
	demo  string // the fault of "plimsoll demo", which is carried out in place of a comparison
}

// The names of differences whose size is a share.
const (
	byCPU  = "cpu"
	byWait = "wait"
)

// kinds are in the order of the page.
var kinds = slices.Concat([]kind{{
	name:   "none",
	what:   "nothing: two builds of one source",
	weight: 16,
}},
	sized(byCPU, "of the base's CPU time more, in createPost", 1, 2, 5, 10),
	sized(byWait, "of the base's p95(post) more in each post, asleep", 5, 10, 20),
	[]kind{
		{
			name:   "quota",
			what:   "nine tenths of the CPU time for server and database",
			weight: 1,
			arm:    ", deployment: {cpus: 90%}",
		},
		{name: "pool", what: "two database connections", weight: 1, fault: "pool:2"},
		{
			name:   "index",
			what:   "no index of a channel's posts",
			weight: 1,
			fault:  "no-index:idx_posts_channel_id_delete_at_create_at",
		},
		{
			name:   "database",
			what:   "1 ms more for each statement",
			weight: 1,
			fault:  "slow-query:1ms",
		},
		{name: "demo none", what: "`plimsoll demo`, nothing planted", weight: 1, demo: "none"},
		{
			name:   "demo",
			what:   "`plimsoll demo`, 25 % of the arm's own CPU time",
			weight: 1,
			demo:   "cpu:25%",
		},
	})

func sized(by, what string, percents ...float64) (out []kind) {
	for _, p := range percents {
		out = append(out, kind{
			name:   fmt.Sprintf("%s %g %%", by, p),
			what:   fmt.Sprintf("%g %% %s", p, what),
			weight: 4,
			by:     by,
			size:   p / 100,
		})
	}
	return out
}

func kindOf(name string) kind {
	if i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name }); i >= 0 {
		return kinds[i]
	}
	return kind{name: name, what: name} // of an older program
}

// nothing reports whether no difference is planted.
func (k kind) nothing() bool { return k.name == "none" || k.demo == "none" }

// A reading is what an outcome shows of the base: the CPU seconds of the server for an operation,
// the share of operations that are posts, and p95(post) in seconds. Zero is not known.
type reading struct {
	CPU   float64 `json:"cpu_s"`
	Posts float64 `json:"posts"`
	P95   float64 `json:"p95_post_s"`
}

// plant returns the fault that makes the difference; false if it needs a reading that is not known.
func (k kind) plant(base reading) (fault string, ok bool) {
	share := func(s float64) string {
		return time.Duration(s * float64(time.Second)).Round(time.Microsecond).String()
	}
	switch k.by {
	case byCPU:
		return "work:" + share(k.size*base.CPU/base.Posts) + "@createPost", base.CPU > 0 &&
			base.Posts > 0
	case byWait:
		return "slow-post:" + share(k.size*base.P95), base.P95 > 0
	}
	return k.fault, true
}

// planted returns the size of a difference against a base, by what was built in: 0 for one without
// a size.
func (k kind) planted(fault string, base reading) float64 {
	_, text, _ := strings.Cut(fault, ":")
	text, _, _ = strings.Cut(text, "@")
	each, err := time.ParseDuration(text)
	switch {
	case err == nil && k.by == byCPU && base.CPU > 0:
		return each.Seconds() * base.Posts / base.CPU
	case err == nil && k.by == byWait && base.P95 > 0:
		return each.Seconds() / base.P95
	}
	return 0
}

// A cell is one place in the order of outcomes.
type cell struct {
	Slot int    `json:"slot"` // from 1
	Kind string `json:"kind"`
	Host string `json:"host"` // quiet or neighbor
	Seed uint64 `json:"seed"`
}

// orderSeed fixes the order of the cells.
const orderSeed = 36

// order returns the first cells. Hosts alternate in pairs whose order is drawn. On each host the
// next kind is the one that lags its weight most, so that every prefix is balanced; of several that
// lag alike it is the first, and on the other host the last, in an order that is drawn.
func order(n int) (out []cell) {
	rng := rand.New(rand.NewPCG(orderSeed, 0))
	first, all := rng.Perm(len(kinds)), 0
	for _, k := range kinds {
		all += k.weight
	}
	ties := map[string][]int{study.Quiet: first, study.Neighbor: slices.Clone(first)}
	slices.Reverse(ties[study.Neighbor])
	made := map[string][]int{
		study.Quiet:    make([]int, len(kinds)),
		study.Neighbor: make([]int, len(kinds)),
	}
	for step := 1; len(out) < n; step++ {
		hosts := []string{study.Quiet, study.Neighbor}
		rng.Shuffle(2, func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
		for _, h := range hosts {
			next := slices.MaxFunc(ties[h], func(a, b int) int {
				return kinds[a].weight*step - all*made[h][a] - (kinds[b].weight*step - all*made[h][b])
			})
			made[h][next]++
			slot := len(out) + 1
			out = append(out, cell{slot, kinds[next].name, h, orderSeed + uint64(slot)})
		}
	}
	return out[:n]
}

// next returns the first cell without an outcome that can be planted with what is known of the
// base.
func next(done []outcome, base reading) cell {
	for _, c := range order(3*len(done) + 4*len(kinds)) {
		if _, ok := kindOf(c.Kind).plant(base); ok &&
			!slices.ContainsFunc(done, func(o outcome) bool {
				return o.cell == c
			}) {
			return c
		}
	}
	panic("unreachable: two fifths of each prefix need no reading")
}
