package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Mixes of actions that always exist.
const (
	// MixDefault is the behavior's own mix.
	MixDefault = "default"
	// MixCustom is nothing but Workload.Weights.
	MixCustom = "custom"
)

// MixFile returns the path of the file from which the weights are to be read, or "" if ActionMix is
// a name. A path holds a slash, or ends in .yaml or .yml.
func (w Workload) MixFile() string {
	if strings.ContainsAny(w.ActionMix, `/\`) || strings.HasSuffix(w.ActionMix, ".yaml") ||
		strings.HasSuffix(w.ActionMix, ".yml") {
		return w.ActionMix
	}
	return ""
}

// WithWeights returns a copy of the plan in which the weights of a file stand instead of its path,
// overridden by the weights that the plan itself gives: a plan that was run is complete by itself,
// and so is its digest.
func (p *Plan) WithWeights(file map[string]float64) *Plan {
	q := *p
	q.Workload.ActionMix, q.Workload.Weights = MixCustom, maps.Clone(file)
	maps.Copy(q.Workload.Weights, p.Workload.Weights)
	return &q
}

// ParseWeights reads a file of weights: one YAML mapping of action: number, read as strictly as a
// plan.
func (k Known) ParseWeights(src []byte) (map[string]float64, error) {
	d := newDecoder("the file is empty; write one line for each action, ACTION: WEIGHT")
	var w Workload
	if root := d.document(src); root != nil {
		d.decode("weights", root, &w.Weights, weights)
		d.checkWeights("weights", w.Weights, of(k.Actions, slices.Collect(maps.Keys(k.Actions))))
		if d.good("weights") && !someWeight(w.Weights) {
			d.at("weights", "gives no action a weight above 0; write some")
		}
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return w.Weights, nil
}

func someWeight(w map[string]float64) bool {
	for _, x := range w {
		if x > 0 {
			return true
		}
	}
	return false
}

func (d *decoder) checkMix(w Workload, k Known) {
	const path = "workload.mix"
	actions := of(k.Actions, slices.Collect(maps.Keys(w.Mix())))
	if actions != nil && len(actions) == 0 && d.good("workload.behavior", "workload.with") {
		for _, at := range []string{path, "workload.weights"} {
			if d.given(at) && d.good(at) && !(at == path && w.ActionMix == MixDefault) {
				d.at(at, "has no effect, because no behavior of this plan draws its actions by "+
					"weight; remove it")
			}
		}
		return
	}
	switch {
	case !d.good(path) || w.MixFile() != "":
	case w.ActionMix == MixCustom:
		if d.good("workload.weights") && !someWeight(w.Weights) {
			d.at(path, "custom is nothing but workload.weights, which gives no action a weight "+
				"above 0; write some")
		}
	case w.ActionMix != MixDefault && k.Mixes != nil:
		d.known(path, "mix", w.ActionMix, slices.Concat([]string{MixDefault, MixCustom}, k.Mixes))
	case !nameRE.MatchString(w.ActionMix):
		d.at(path,
			"%s is neither the name of a mix nor a file; want a name, or a path with a slash",
			clip(w.ActionMix))
	}
	d.checkWeights("workload.weights", w.Weights, actions)
}

// of returns the values of a table by behavior for some behaviors, sorted; nil if there is no
// table.
func of(table map[string][]string, behaviors []string) []string {
	if table == nil {
		return nil
	}
	list := []string{}
	for _, b := range behaviors {
		list = append(list, table[b]...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (d *decoder) checkWeights(path string, w map[string]float64, actions []string) {
	for name := range w {
		d.known(join(path, name), "action", name, actions)
	}
}

// checkStages holds the storms to the measured phase, one after the other.
func (d *decoder) checkStages(p *Plan, k Known) {
	b := p.Bounded
	var end time.Duration // of the storm before
	for i, s := range b.Stages {
		path := fmt.Sprintf("bounded.stages[%d]", i)
		d.stormKind(path+".storm", s.Storm, p, k)
		if !d.good(path+".at", path+".over", "bounded.measure") {
			continue
		}
		switch {
		case s.At+s.Over >= b.Measure:
			d.at(
				path,
				"from %s over %s ends beyond bounded.measure %s; begin earlier, or measure longer",
				FormatDuration(s.At),
				FormatDuration(s.Over),
				FormatDuration(b.Measure),
			)
		case i > 0 && s.At < end:
			d.at(
				path,
				"begins at %s, before the storm above it ends at %s; put them one after the other",
				FormatDuration(s.At),
				FormatDuration(end),
			)
		}
		end = max(end, s.At+s.Over)
	}
}

// stormKind checks that the users of some behavior of the plan support the kind.
func (d *decoder) stormKind(path, kind string, p *Plan, k Known) {
	if k.Storms == nil || kind == "" || !d.good(path, "workload.behavior", "workload.with") {
		return
	}
	kinds := of(k.Storms, slices.Collect(maps.Keys(p.Workload.Mix())))
	if len(kinds) == 0 {
		d.at(path, "no behavior of this plan knows a storm; remove the stage, or use another "+
			"behavior")
		return
	}
	d.known(path, "storm of these behaviors", kind, kinds)
}
