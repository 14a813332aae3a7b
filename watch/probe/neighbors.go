package probe

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"plimsoll/watch/series"
)

// Of the processes beside a run, the busiest are named, if they use as many cores.
const (
	mostNeighbors  = 3
	leastNeighbors = 0.05
	neighborsEvery = 2 // samples
)

// Neighbors names the busiest processes of this host that belong neither to this program nor to the
// target:
//
//	plimsoll_neighbor_cpu_ratio{program}   cores in use over the last two samples, by the name of the program
//
// It reads the process table in every second sample.
type Neighbors struct {
	proc   string
	target func() []int
	ticks  map[int]procTicks
	round  int
	at     time.Time
	out    sink
}

type procTicks struct{ start, ticks uint64 }

// NewNeighbors makes the probe. target returns the first processes of the target; nil for none on
// this host.
func NewNeighbors(target func() []int) *Neighbors {
	return &Neighbors{proc: "/proc", target: target}
}

// Name returns "neighbors".
func (p *Neighbors) Name() string { return "neighbors" }

// Sample reads the process table. A process that began and ended between two readings is not seen.
func (p *Neighbors) Sample(_ context.Context, t time.Time) ([]series.Sample, error) {
	p.out.reset()
	if p.round++; p.round%neighborsEvery != 1 {
		return nil, nil
	}
	parents, err := parentsIn(p.proc)
	if err != nil {
		return nil, fmt.Errorf("neighbors: %w", err)
	}
	ours := []int{os.Getpid()}
	if p.target != nil {
		ours = append(ours, p.target()...)
	}
	now, used := map[int]procTicks{}, map[string]float64{}
	for pid := range parents {
		if below(parents, pid, ours) {
			continue
		}
		name, x, ok := p.read(pid)
		if !ok {
			continue
		}
		now[pid] = x
		was := p.ticks[pid]
		if was.start != x.start { // it began since
			was = procTicks{}
		}
		used[name] += float64(since(x.ticks, was.ticks)) / userHZ
	}
	span := t.Sub(p.at).Seconds()
	first := p.at.IsZero()
	p.ticks, p.at = now, t
	if first || span <= 0 {
		return nil, nil
	}
	names := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(cmp.Compare(used[b], used[a]), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), mostNeighbors)] {
		if cores := used[name] / span; cores >= leastNeighbors {
			p.out.add("plimsoll_neighbor_cpu_ratio", Labels("program", name), cores)
		}
	}
	return p.out.s, nil
}

// read returns the name and the CPU time of a process; ok is false for one that has ended.
func (p *Neighbors) read(pid int) (name string, x procTicks, ok bool) {
	text, err := os.ReadFile(filepath.Join(p.proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", x, false
	}
	var at process
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from || at.parseStat(text) != nil {
		return "", x, false
	}
	return string(text[from+1 : to]), procTicks{at.start, at.now.user + at.now.system}, true
}
