package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plimsoll/watch/series"
)

// MostLabeled is the largest number of agents that have series of their own. Of more, there are
// series with the label agent="worst", the largest value of all agents (of a limit the smallest),
// with agent="sum", and of as many agents, the latest ones of late.
const MostLabeled = 16

// Values of the label agent of the series of more agents than [MostLabeled].
const (
	worstOfAll = "worst"
	sumOfAll   = "sum"
)

// Name implements [plimsoll/probe.Probe].
func (d *RemoteDriver) Name() string { return "agents" }

// Label is the label of agent k's series.
func Label(k int) series.Label { return agentLabel(fmt.Sprint(k)) }

func agentLabel(value string) series.Label { return series.Label{Name: "agent", Value: value} }

// labeled returns a sample with one more label.
func labeled(s series.Sample, l series.Label) series.Sample {
	s.Labels = append(append([]series.Label(nil), s.Labels...), l)
	return s
}

// Sample implements [plimsoll/probe.Probe]: the last samples of the agents' own probes, with the
// label agent. With an error there are samples too; samples of all agents together are left out
// unless each has one. Agents that were stopped have no more samples, which is an error only of one
// that was silent then.
func (d *RemoteDriver) Sample(context.Context, time.Time) (out []series.Sample, err error) {
	// The driver's lock is left alone: slow agents are awaited under it.
	now, stopped := time.Now(), d.stopAt.Load()
	if stopped != nil {
		now = *stopped
	}
	own := d.shown()
	var all totals
	silent := 0
	for k, a := range d.agents {
		a.mu.Lock()
		samples, at := a.samples, a.sampled
		a.mu.Unlock()
		if now.Sub(at) > d.staleAfter() {
			if silent++; silent <= MostLabeled {
				err = errors.Join(err,
					fmt.Errorf("agent %d has sent no samples for more than %v", k, d.staleAfter()))
			}
			continue
		}
		if stopped != nil {
			continue
		}
		if own == nil || own[k] {
			for _, s := range samples {
				out = append(out, labeled(s, Label(k)))
			}
		}
		if own != nil {
			all.add(samples)
		}
	}
	if silent > MostLabeled {
		err = errors.Join(err, fmt.Errorf("and %d further agents", silent-MostLabeled))
	}
	return append(out, all.of(len(d.agents))...), err
}

// shown returns the agents with series of their own; nil for all.
func (d *RemoteDriver) shown() map[int]bool {
	if len(d.agents) <= MostLabeled {
		return nil
	}
	type lateness struct {
		k    int
		late time.Duration
	}
	var list []lateness
	d.each(func(a *agent) { list = append(list, lateness{a.n, a.late}) })
	slices.SortStableFunc(list, func(x, y lateness) int { return cmp.Compare(y.late, x.late) })
	own := map[int]bool{}
	for _, x := range list[:MostLabeled] {
		own[x.k] = true
	}
	return own
}

// slowly slows down the forgetting of an agent's lateness: by one part of so many with each report.
// Its series would be many short ones else.
const slowly = 32

// took takes in what a report says of the agent itself. a.mu is held.
func (a *agent) took(r *report, now time.Time) {
	if len(r.Samples) > 0 {
		a.samples, a.sampled = r.Samples, now
	}
	a.late = max(r.Lag, a.late-a.late/slowly)
}

// totals are the series of all agents together.
type totals struct {
	keys []string // in the order of their coming
	by   map[string]*total
	key  []byte
}

type total struct {
	sample     series.Sample
	worst, sum float64
	n          int
}

func (t *totals) add(samples []series.Sample) {
	if t.by == nil {
		t.by = map[string]*total{}
	}
	for _, s := range samples {
		t.key = s.AppendKey(t.key[:0])
		x := t.by[string(t.key)]
		if x == nil {
			x = &total{sample: s, worst: s.Value}
			t.by[string(t.key)] = x
			t.keys = append(t.keys, string(t.key))
		}
		x.n++
		x.sum += s.Value
		if strings.HasSuffix(s.Name, "_limit") {
			x.worst = min(x.worst, s.Value)
		} else {
			x.worst = max(x.worst, s.Value)
		}
	}
}

// of returns the series that all agents have.
func (t *totals) of(agents int) (out []series.Sample) {
	for _, key := range t.keys {
		if x := t.by[key]; x.n == agents {
			s := x.sample
			s.Value = x.worst
			out = append(out, labeled(s, agentLabel(worstOfAll)))
			s.Value = x.sum
			out = append(out, labeled(s, agentLabel(sumOfAll)))
		}
	}
	return out
}

// Sampled returns the last sample of an agent by its key, the name and the agent's own labels, and
// when it came; ok is false if there is none.
func (d *RemoteDriver) Sampled(agent int, key string) (v float64, at time.Time, ok bool) {
	a := d.agents[agent]
	a.mu.Lock()
	defer a.mu.Unlock()
	var of []byte
	for _, s := range a.samples {
		if !strings.HasPrefix(key, s.Name) {
			continue
		}
		if of = s.AppendKey(of[:0]); string(of) == key {
			return s.Value, a.sampled, true
		}
	}
	return 0, time.Time{}, false
}
