package origin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"

	"plimsoll/judge/attribution"
	"plimsoll/judge/verdict"
	"plimsoll/plan"
	"plimsoll/record"
	"plimsoll/report"
	"plimsoll/watch/profile"
)

// Origins reads the runs of a comparison.
type Origins struct {
	*record.Comparison
	// Run opens a run by its id.
	Run func(id string) (*record.Run, error)
	// Operations counts those of the measured phase of a run, all and by name.
	Operations func(*record.Run) (float64, map[string]float64, error)
}

// Costs attributes the costs that a verdict on an arm on an engine judges, in the order of its
// results. A cost of which no run has a profile, or a reason for having none, is left out.
func (c Origins) Costs(engine, arm string, v verdict.Verdict) ([]report.Attributed, error) {
	var out []report.Attributed
	for _, r := range v.Results {
		role, ok := plan.CostOf(r.Name)
		if !ok {
			continue
		}
		a, err := c.cost(role, engine, arm, r.Pairs)
		if err != nil {
			return nil, fmt.Errorf("profiles of %s: %w", role, err)
		}
		if a != nil {
			out = append(out, *a)
		}
	}
	return out, nil
}

// cost attributes the cost of a role; nil if nothing is known of its profiles.
func (c Origins) cost(role, engine, arm string, pairs []verdict.Pair) (*report.Attributed, error) {
	var out report.Attributed
	var blocks []attribution.BlockProfiles
	why := ""
	for _, p := range pairs {
		var block attribution.BlockProfiles
		var ids [2]string
		there := true
		for i, x := range []struct {
			arm  string
			cost float64 // milliseconds per operation
			to   *attribution.CPUProfile
		}{{c.Arms[0], p.Base, &block.Base}, {arm, p.New, &block.New}} {
			r, err := c.judged(p.Block, engine, x.arm)
			if err != nil {
				return nil, err
			}
			if r == nil {
				there = false
				break
			}
			ids[i] = path.Join("runs", r.Manifest.ID, filepath.Base(r.ProfilePath(role)))
			if *x.to, err = read(r, role, x.cost/1000); errors.Is(err, fs.ErrNotExist) {
				there = false
				if why == "" {
					why, err = notProfiled(r, role)
				} else {
					err = nil
				}
			}
			if err != nil {
				return nil, fmt.Errorf("run %s: %w", r.Manifest.ID, err)
			}
		}
		if !there {
			out.Without++
			continue
		}
		if blocks = append(blocks, block); len(blocks) == 1 {
			out.Profiles = ids
		}
	}
	switch {
	case len(blocks) > 0:
		out.Attribution = attribution.Attribute(role, blocks)
	case why != "":
		out.Attribution = attribution.Attribution{Role: role, Withheld: "not profiled: " + why}
	default:
		return nil, nil
	}
	return &out, nil
}

// judged opens the run of a block that the verdicts on costs rest on; nil if there is none.
func (c Origins) judged(block int, engine, arm string) (*record.Run, error) {
	counts, spoiled := c.Judged(), c.Disturbed()
	for _, cell := range c.Runs {
		if cell.Block == block && cell.Engine == engine && cell.Arm == arm &&
			(counts(cell) || spoiled[cell.Run]) {
			return c.Run(cell.Run)
		}
	}
	return nil, nil
}

// notProfiled returns why a role of a run has no profile; empty if the run has no reason, because
// none was asked for.
func notProfiled(r *record.Run, role string) (string, error) {
	events, err := r.Events()
	for _, e := range events {
		if e.Kind == record.NotProfiledEvent && (e.Rule == "" || e.Rule == role) {
			return e.Text, err
		}
	}
	return "", err
}

// read reads the profile of a role of a run whose operations cost an amount of CPU seconds each.
func read(r *record.Run, role string, cost float64) (attribution.CPUProfile, error) {
	f, err := r.Profile(role)
	if err != nil {
		return attribution.CPUProfile{}, err
	}
	defer f.Close()
	s, err := profile.Read(f)
	if err != nil {
		return attribution.CPUProfile{}, err
	}
	return profiled(s, cost), nil
}

// profiled returns a stored profile as one that shares out a cost. The profiled time and the time
// between the samples of a cost begin and end within a second of each other; the number of
// operations is therefore the one at which the CPU time of the profile costs as much each as was
// judged.
func profiled(s profile.Stored, cost float64) attribution.CPUProfile {
	out := attribution.CPUProfile{
		Functions: make([]attribution.Function, len(s.Functions)),
		Stacks:    make([]attribution.CallStack, len(s.Stacks)),
		Period:    s.Period.Seconds(),
		CPU:       s.CPU,
	}
	for i, f := range s.Functions {
		out.Functions[i] = attribution.Function{Name: f.Name, File: f.File, Binary: f.Binary,
			Kind: cmp.Or(attribution.Kind(f.Kind), attribution.Unknown)}
	}
	var samples int64
	for i, st := range s.Stacks {
		to := &out.Stacks[i]
		to.Samples = st.Samples
		samples += st.Samples
		to.Functions = make([]int, len(st.Functions))
		for k, f := range st.Functions {
			to.Functions[k] = int(f)
		}
	}
	out.Operations = cmp.Or(s.CPU, float64(samples)*out.Period) / cost
	return out
}
