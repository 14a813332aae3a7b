package mattermost

import (
	"errors"
	"math/rand/v2"
	"slices"

	"plimsoll/load/workload"
)

// DefaultMix is the mix of persons when a plan names none.
const DefaultMix = "default"

// Mixes returns the weights of the known mixes, by the mixes' and the actions' names. Only the
// ratios of weights count.
//
//	default      the 51 weights of mattermost-load-test-ng: rates of calls on production servers, relative to creating a post
//	loadtest-ng  the same weights; with it come that tool's own choices (uniform, independent) for comparison with published results
//	files        many files: a writer in two attaches one, people look at pictures and scroll
//	search       people who look for things: a quarter of their actions is a search
//
// The last two are the plans of a self-hoster who plans for a certain use; their weights are
// assumptions.
func Mixes() map[string]map[string]float64 {
	mixes := map[string]map[string]float64{}
	for _, name := range []string{DefaultMix, "loadtest-ng", "files", "search"} {
		w := map[string]float64{}
		for _, a := range actions {
			w[a.name] = a.weight
			if boost, ok := boosts[name][a.name]; ok {
				w[a.name] = boost
			}
		}
		mixes[name] = w
	}
	return mixes
}

// boosts are the weights of a mix that differ from the default mix.
var boosts = map[string]map[string]float64{
	"files": {"create_post": 3, "scroll_channel": 4, "add_channel_bookmark": 0.05},
	"search": {"search_posts": 2, "search_users": 0.8, "search_channels": 0.6,
		"search_group_channels":  0.3,
		"search_posts_all_teams": 0.5, "click_permalink": 0.8},
}

// A mix holds the persons' actions and their frequencies on one server.
type mix struct {
	actions []*action // with a weight above 0, which the server can do
	total   []float64 // running sums of their shares, up to 1
	list    []workload.TallyAction
	tally   []int // index in list
}

// newMix resolves weights by action name against the features of the server. Names of other
// behaviors' actions are ignored.
func newMix(weights map[string]float64, about *facts, extended ...Extension) (*mix, error) {
	m := &mix{}
	sum := 0.0
	all := slices.Clone(actions)
	for i := range extended {
		all = append(all, extended[i].actions()...)
	}
	for i := range all {
		a := &all[i]
		w := weights[a.name]
		if w <= 0 {
			continue
		}
		lack := about.lacks(a.needs)
		m.list = append(m.list, workload.TallyAction{Name: a.name, Weight: w, Absent: lack})
		if lack != "" {
			continue
		}
		m.tally = append(m.tally, len(m.list)-1)
		m.actions = append(m.actions, a)
		m.total = append(m.total, w)
		sum += w
	}
	if len(m.actions) == 0 {
		return nil, errors.New("the mix holds no action that persons can do on this server")
	}
	run := 0.0
	for i, w := range m.total {
		run += w / sum
		m.total[i] = run
	}
	return m, nil
}

// has reports whether an action is part of the mix.
func (m *mix) has(name string) bool {
	for _, a := range m.actions {
		if a.name == name {
			return true
		}
	}
	return false
}

// draw chooses an action by weight, with one draw.
func (m *mix) draw(r *rand.Rand) int {
	x := r.Float64()
	for i, t := range m.total {
		if x < t {
			return i
		}
	}
	return len(m.total) - 1
}
