package workload

import (
	"maps"
	"slices"
)

// clone returns a copy that shares nothing with s.
func (s Snapshot) clone() Snapshot {
	out := slices.Clone(s)
	for i := range out {
		out[i].Actions = slices.Clone(out[i].Actions)
		for k := range out[i].Actions {
			a := &out[i].Actions[k]
			a.By, a.Skipped = slices.Clone(a.By), maps.Clone(a.Skipped)
		}
	}
	return out
}

// replace puts the counts of one process in the place of its earlier ones, in a sum over processes.
// Processes of one run have the same behaviors and actions, mostly in the same order; then it
// allocates nothing.
func (s *Snapshot) replace(was, is Snapshot) {
	s.shift(was, -1)
	s.shift(is, 1)
}

// shift adds counts, or takes them off where there are any, in place.
func (s *Snapshot) shift(o Snapshot, sign int64) {
	for i, b := range o {
		to := s.find(i, b.Behavior, sign > 0)
		for k := range b.Actions {
			if a := to.find(k, &b.Actions[k], sign > 0); a != nil {
				a.shift(&b.Actions[k], sign)
			}
		}
	}
}

// find returns the counts of a behavior, whose place is likely to be i. If there are none, it adds
// them or returns nil.
func (s *Snapshot) find(i int, behavior string, add bool) *BehaviorCount {
	if i >= len(*s) || (*s)[i].Behavior != behavior {
		if i = slices.IndexFunc(*s, func(b BehaviorCount) bool {
			return b.Behavior == behavior
		}); i < 0 {
			if !add {
				return nil
			}
			i = len(*s)
			*s = append(*s, BehaviorCount{Behavior: behavior})
		}
	}
	return &(*s)[i]
}

// find returns the counts of an action, whose place is likely to be k. If there are none, it adds
// them or returns nil.
func (b *BehaviorCount) find(k int, a *ActionCount, add bool) *ActionCount {
	if b == nil {
		return nil
	}
	if k >= len(b.Actions) || b.Actions[k].Name != a.Name {
		if k = slices.IndexFunc(b.Actions, func(x ActionCount) bool {
			return x.Name == a.Name
		}); k < 0 {
			if !add {
				return nil
			}
			k = len(b.Actions)
			b.Actions = append(b.Actions, ActionCount{
				Name:   a.Name,
				Weight: a.Weight,
				Absent: a.Absent,
			})
		}
	}
	return &b.Actions[k]
}

func (a *ActionCount) shift(o *ActionCount, sign int64) {
	a.Attempts += sign * o.Attempts
	a.OK += sign * o.OK
	a.Failed += sign * o.Failed
	for g, n := range o.By {
		a.By = addTo(a.By, g, sign*n)
	}
	for reason, n := range o.Skipped {
		if a.Skipped == nil {
			a.Skipped = map[string]int64{}
		}
		if a.Skipped[reason] += sign * n; a.Skipped[reason] == 0 {
			delete(a.Skipped, reason)
		}
	}
}
