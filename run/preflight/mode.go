package preflight

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"plimsoll/internal/files"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/run/deploy"
	"plimsoll/run/deploy/dumps"
	"plimsoll/run/sharedhost"
	"plimsoll/watch/probe"
)

// systemMemory is about the memory of a server and its database under load, where the plan does not
// limit it: storeMemory for the database, appMemory for the server.
const (
	systemMemory = 400 << 20
	storeMemory  = 150 << 20
	appMemory    = systemMemory - storeMemory
)

// profileMemory is the same for a system of a named profile, which has more stores than a database.
const profileMemory = 3 << 30

// A CompareMode decides between a duet and a sequence for the comparison of a plan on this host.
type CompareMode struct {
	Duet bool
	Why  string // a clause: the reason for the mode
	// Lacks is the reason why this host cannot carry out the duet that the plan asks for; empty
	// otherwise.
	Lacks string
	// Caution names an unknown property of the duet that the plan asks for; empty if there is none.
	Caution string
}

// Name returns the mode as plans write it.
func (m CompareMode) Name() string {
	if m.Duet {
		return plan.ModeDuet
	}
	return plan.ModeSequence
}

// ModeOf returns the mode of a plan's comparison: the plan's, or a sequence where this host lacks
// the memory for all systems of a duet at once. A host whose free memory is unknown has enough.
// With read, it reads the files of the plan's dataset for their size, and looks up the names of
// hosts elsewhere.
func ModeOf(p *plan.Plan, read bool) CompareMode {
	free, err := probe.FreeMemory()
	if err != nil {
		free = 1 << 62
	}
	return modeWith(p, datasetBytes(p.Target.Dataset, read), free, read)
}

// modeWith is [ModeOf] for a dataset of data bytes, on a host with free bytes of memory.
func modeWith(p *plan.Plan, data, free int64, read bool) CompareMode {
	var m CompareMode
	if m.Duet, m.Why = p.Duet(); !m.Duet {
		return m
	}
	if m.Caution = p.Caution(); !p.Target.OwnHost() {
		var look sharedhost.LookUp
		if read {
			look = sharedhost.Resolve
		}
		m.Caution = sharedhost.OneHost(p, look)
	}
	need := duetMemory(p, data)
	if need <= free {
		return m
	}
	lacks := fmt.Sprintf(
		"the %d systems of a duet, up at once, need about %s of memory, and this host has %s to spare",
		p.Seats(),
		megabytes(need),
		megabytes(free),
	)
	if p.Compare.Mode == plan.ModeDuet {
		m.Lacks = lacks
		return m
	}
	return CompareMode{Why: lacks}
}

// duetMemory estimates the memory of all systems of a duet in bytes: for each the limit of the
// plan, or the usual memory of all its servers, and the data that it and its replicas begin with.
func duetMemory(p *plan.Plan, data int64) (all int64) {
	if !p.Target.OwnHost() {
		return 0
	}
	databases := int64(p.Seats() / len(p.Compare.Arms))
	for _, a := range p.Compare.Arms {
		one := int64(systemMemory)
		if p.Target.Profile != "" {
			one = profileMemory
		}
		if p.Target.Filled() {
			one += data
		}
		apps := int64(max(p.Target.Instances, 1))
		one += (apps - 1) * appMemory
		if t := p.Target.Topology; t != nil {
			one += int64(t.Replicas) * storeMemory
			if p.Target.Filled() {
				one += int64(t.Replicas) * data
			}
		}
		if d := a.Deployment; d != nil && d.Memory > 0 {
			switch d.Of {
			case plan.OfApp:
				one = max(one-apps*appMemory, 0) + int64(d.Memory)
			default:
				one = int64(d.Memory)
			}
		}
		all += one * databases
	}
	return all
}

// datasetBytes estimates the size of a target's data: of the files of a directory, or of a
// population that is generated. It is 0 without data, for files that are not to be read, and for
// files that cannot be read: loading them fails later.
func datasetBytes(name string, read bool) (sum int64) {
	preset, known := dataset.Preset(name)
	switch {
	case !(plan.Target{Dataset: name}).Filled():
	case known && !read:
		return dumps.BytesOf(preset)
	case !read:
	case files.IsDir(name):
		_ = filepath.WalkDir(name, func(_ string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return nil
			}
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
			return nil
		})
	default:
		if spec, err := dumps.ReadSpec(name); err == nil {
			sum = dumps.BytesOf(spec)
		}
	}
	return sum
}

// megabytes writes an amount of memory as plans do, in whole megabytes.
func megabytes(n int64) string { return plan.Memory(n >> 20 << 20).String() }

// ModeHere is [ModeOf] for a comparison that begins, with further cautions. Two arms whose
// references lead to one address are refused where they would take turns.
func ModeHere(r *deploy.Resolver, p *plan.Plan) (m CompareMode, cautions []string, err error) {
	full, err := resolved(r, p)
	if err != nil {
		return m, nil, err
	}
	m = ModeOf(full, true)
	if duet, _ := p.Duet(); duet && !m.Duet && !p.Target.OwnHost() {
		return m, nil, plan.Usagef(
			"%s, by the references of the plan; give each arm servers of its own, or write mode: sequence",
			m.Why,
		)
	}
	if m.Caution != "" {
		cautions = append(cautions, m.Caution)
	}
	if one := sharedhost.OneServer(p, full, sharedhost.Resolve); one != "" {
		cautions = append(cautions, one)
	}
	return m, cautions, nil
}

// resolved returns a plan without references in the addresses of the arms.
func resolved(r *deploy.Resolver, p *plan.Plan) (*plan.Plan, error) {
	full, c := *p, *p.Compare
	full.Compare, c.Arms = &c, slices.Clone(c.Arms)
	for i, a := range c.Arms {
		t, err := r.Resolve(plan.Target{URL: a.URL}, plan.Workload{})
		if err != nil {
			return nil, fmt.Errorf("compare.arms.%s: %w", a.Name, err)
		}
		c.Arms[i].URL = t.URL
	}
	return &full, nil
}
