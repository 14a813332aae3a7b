package mattermost

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Mixes returns the weights of the known mixes by name: "default", and those of other kinds of use. Only the ratios of weights count.
func Mixes() map[string]map[string]float64 {
	all := map[string]float64{}
	for _, a := range actions {
		all[a.name] = a.weight
	}
	return map[string]map[string]float64{"default": all}
}

// A mix is what persons do, and how often, on one server.
type mix struct {
	actions []*action // those that the server can do and whose weight is above 0
	share   []float64 // of each; they add up to 1
	total   []float64 // running sums of share
	absent  map[string]string
}

// newMix resolves weights by action name against what the server can do.
func newMix(weights map[string]float64, about *facts) (*mix, error) {
	m := &mix{absent: map[string]string{}}
	sum := 0.0
	left := maps.Clone(weights)
	for i := range actions {
		a := &actions[i]
		w := left[a.name]
		delete(left, a.name)
		if w <= 0 {
			continue
		}
		if lack := about.lacks(a.needs); lack != "" {
			m.absent[a.name] = lack
			continue
		}
		m.actions = append(m.actions, a)
		m.share = append(m.share, w)
		sum += w
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("unknown actions in the mix: %s", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	if len(m.actions) == 0 {
		return nil, fmt.Errorf("nothing of the mix can be done on this server")
	}
	run := 0.0
	for i := range m.share {
		m.share[i] /= sum
		run += m.share[i]
		m.total = append(m.total, run)
	}
	return m, nil
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
