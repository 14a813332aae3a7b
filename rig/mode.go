package rig

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"plimsoll/internal/files"
	"plimsoll/plan"
	"plimsoll/reference/dataset"
	"plimsoll/run/deploy/dumps"
	"plimsoll/watch/probe"
)

// systemMemory is about how much memory a server and its database take under load, where the plan does not limit it,
// storeMemory the part of the database, and appMemory that of the server.
const (
	systemMemory = 400 << 20
	storeMemory  = 150 << 20
	appMemory    = systemMemory - storeMemory
)

// profileMemory is the same for a system of a named profile, which has more stores than a database.
const profileMemory = 3 << 30

// A CompareMode is how the comparison of a plan is carried out on this host.
type CompareMode struct {
	Duet bool
	Why  string // a clause: the reason for the mode
	// Lacks is the reason why this host cannot carry out the duet that the plan asks for; empty otherwise.
	Lacks string
	// Caution is what is not known about the duet that the plan asks for; empty otherwise.
	Caution string
}

// Name returns the mode as plans write it.
func (m CompareMode) Name() string {
	if m.Duet {
		return plan.ModeDuet
	}
	return plan.ModeSequence
}

// ModeOf returns the mode of a plan's comparison: that of the plan, or a sequence where this host lacks the memory for
// all systems of a duet at once. A host whose free memory is unknown has enough. Only with read are files that the plan
// names read, for the size of its dataset, and names of hosts elsewhere looked up.
func ModeOf(p *plan.Plan, read bool) CompareMode {
	free, err := probe.FreeMemory()
	if err != nil {
		free = 1 << 62
	}
	return modeWith(p, datasetBytes(p.Target.Dataset, read), free, read)
}

// modeWith is [ModeOf] for a dataset of so many bytes, on a host with so much free memory.
func modeWith(p *plan.Plan, data, free int64, read bool) CompareMode {
	var m CompareMode
	if m.Duet, m.Why = p.Duet(); !m.Duet {
		return m
	}
	if m.Caution = p.Caution(); !p.Target.OwnHost() {
		var look lookUp
		if read {
			look = lookUpHost
		}
		m.Caution = sharedHost(p, look)
	}
	need := duetMemory(p, data)
	if need <= free {
		return m
	}
	lacks := fmt.Sprintf("the %d systems of a duet, up at once, need about %s of memory, and this host has %s to spare",
		p.Seats(), megabytes(need), megabytes(free))
	if p.Compare.Mode == plan.ModeDuet {
		m.Lacks = lacks
		return m
	}
	return CompareMode{Why: lacks}
}

// duetMemory estimates how many bytes of memory all systems of a duet take: each as much as the plan allows it, else
// the usual for all its servers, and the data that it and its replicas begin with.
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

// datasetBytes estimates the size of a target's data: of a directory that of its files, else that of what is generated.
// 0 where there are none, where they are in files that are not to be read, and where these cannot be read, which is an
// error when they are loaded.
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
