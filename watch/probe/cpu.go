package probe

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"plimsoll/watch/series"
)

// userHZ is the unit of CPU times in /proc on every Linux architecture that Go supports.
const userHZ = 100

// Columns of a cpu line of /proc/stat. guest and guest_nice follow, and are part of user and nice.
const (
	cpuUser = iota
	cpuNice
	cpuSystem
	cpuIdle
	cpuIOWait
	cpuIRQ
	cpuSoftIRQ
	cpuSteal
	cpuModes
)

var modeNames = [cpuModes]string{
	"user",
	"nice",
	"system",
	"idle",
	"iowait",
	"irq",
	"softirq",
	"steal",
}

// core is one CPU's counters, in ticks.
type core struct {
	id     int
	labels [cpuModes][]series.Label
	raw    [cpuModes]uint64 // as last read
	now    [cpuModes]uint64 // the part of raw that is the run's
	last   [cpuModes]uint64
	known  int    // columns the kernel has; steal is absent before 2.6.11
	seen   uint64 // generation in which the line was last there
	ready  bool   // last is filled
}

// share returns the busy, stolen and total time of the core since the last sample; stolen time
// counts as busy too. Counters of idle and iowait can step back a tick on tickless kernels; such a
// step counts as zero.
func (c *core) share() (busy, steal, total float64) {
	for m := range cpuModes {
		if c.now[m] <= c.last[m] {
			continue
		}
		d := float64(c.now[m] - c.last[m])
		total += d
		switch m {
		case cpuIdle, cpuIOWait:
		case cpuSteal:
			steal += d
			busy += d // time the core wanted to run and could not: not to be had
		default:
			busy += d
		}
	}
	return busy, steal, total
}

type role struct {
	cores  []int // nil: all
	name   string
	labels []series.Label
}

// cpuStat reads /proc/stat.
type cpuStat struct {
	cores   []*core // by id; nil where there is none
	roles   []role
	gen     uint64
	elapsed time.Duration // since the last call of parse, by the caller's clock

	switches, forks struct{ own, raw uint64 }
}

// newCPUStat checks the roles. The role "host" is always there and means all cores.
func newCPUStat(roles map[string][]int) (*cpuStat, error) {
	c := &cpuStat{}
	add := func(name string, cores []int) {
		c.roles = append(c.roles, role{cores: cores, name: name, labels: Labels("role", name)})
	}
	add("host", nil)
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		switch {
		case name == "" || name == "host":
			return nil, fmt.Errorf("role %q of a core set is reserved; choose another name", name)
		case len(roles[name]) == 0:
			return nil, fmt.Errorf("role %q has no cores", name)
		}
		add(name, slices.Clone(roles[name]))
	}
	return c, nil
}

// parse reads the text of /proc/stat, emits counters, and from the second call on the shares of the
// time between the calls.
func (c *cpuStat) parse(text []byte, k *sink) error {
	c.gen++
	any, err := c.scan(text, k, sampled)
	errs := []error{err}
	if !any {
		errs = append(errs, errors.New("no line of a core"))
	}
	for i := range c.roles {
		if err := c.shares(&c.roles[i], k); err != nil {
			errs = append(errs, err)
		}
	}
	for _, e := range c.cores {
		// A core whose tick has not come yet keeps its old values, so that no tick is lost.
		if e != nil && e.seen == c.gen && (!e.ready || e.now != e.last) {
			e.last, e.ready = e.now, true
		}
	}
	return errors.Join(errs...)
}

// skip leaves the growth in a gap out.
func (c *cpuStat) skip(end, begin []byte) error {
	return skipping(end, begin, func(text []byte, how reading) error {
		_, err := c.scan(text, nil, how)
		return err
	})
}

// scan reads the lines of the text, and reports whether there is one of a core. k may be nil unless
// samples are wanted.
func (c *cpuStat) scan(text []byte, k *sink, how reading) (any bool, err error) {
	var errs []error
	for line := range lines(text) {
		f := fields(line)
		key := f.next()
		var err error
		switch {
		case bytes.HasPrefix(key, []byte("cpu")) && len(key) > 3:
			if err = c.line(key[3:], f, k, how); err != nil {
				err = fmt.Errorf("line %.60q: %w", line, err)
			} else {
				any = true
			}
		case string(key) == "ctxt":
			err = total(&c.switches.own, &c.switches.raw, "node_context_switches_total", f, k, how)
		case string(key) == "processes":
			err = total(&c.forks.own, &c.forks.raw, "node_forks_total", f, k, how)
		case how != sampled:
		case string(key) == "procs_running":
			err = one(k, "node_procs_running", f)
		case string(key) == "procs_blocked":
			err = one(k, "node_procs_blocked", f)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return any, errors.Join(errs...)
}

// total counts a line's only number.
func total(own, raw *uint64, name string, f fields, k *sink, how reading) error {
	v, err := f.number()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if how.count(own, raw, v); how == sampled {
		k.add(name, nil, float64(*own))
	}
	return nil
}

// one emits a line's only number.
func one(k *sink, name string, f fields) error {
	v, err := f.number()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	k.add(name, nil, float64(v))
	return nil
}

func (c *cpuStat) line(id []byte, f fields, k *sink, how reading) error {
	n, err := number(id)
	if err != nil || n > 1<<16 {
		return fmt.Errorf("core number: %w", errNumber)
	}
	for len(c.cores) <= int(n) {
		c.cores = append(c.cores, nil)
	}
	e := c.cores[n]
	if e == nil {
		e = &core{id: int(n)}
		for m, name := range modeNames {
			e.labels[m] = Labels("cpu", string(id), "mode", name)
		}
		c.cores[n] = e
	}
	for e.known = 0; e.known < cpuModes; e.known++ {
		w := f.next()
		if len(w) == 0 {
			break
		}
		v, err := number(w)
		if err != nil {
			return err
		}
		how.count(&e.now[e.known], &e.raw[e.known], v)
	}
	if e.known <= cpuIdle {
		return fmt.Errorf("%d columns, want at least %d", e.known, cpuIdle+1)
	}
	if how != sampled {
		return nil
	}
	e.seen = c.gen
	for m := range e.known {
		k.add("node_cpu_seconds_total", e.labels[m], float64(e.now[m])/userHZ)
	}
	return nil
}

// shares emits one role's ratios over its cores.
func (c *cpuStat) shares(r *role, k *sink) error {
	var busy, steal, total, hottest float64
	stealKnown := true
	add := func(e *core) {
		b, s, t := e.share()
		busy += b
		steal += s
		total += t
		if t > 0 {
			hottest = max(hottest, b/t)
		}
		stealKnown = stealKnown && e.known > cpuSteal
	}
	if r.cores == nil {
		for _, e := range c.cores {
			if e != nil && e.seen == c.gen {
				if !e.ready {
					return nil // the first sample
				}
				add(e)
			}
		}
	}
	for _, id := range r.cores {
		if id < 0 || id >= len(c.cores) || c.cores[id] == nil || c.cores[id].seen != c.gen {
			return fmt.Errorf("core %d of role %q is not there or offline", id, r.name)
		}
		if !c.cores[id].ready {
			return nil
		}
		add(c.cores[id])
	}
	if total == 0 && c.elapsed < 100*time.Millisecond {
		return nil // a tick is 10 ms: called too soon
	}
	if total == 0 {
		return fmt.Errorf(
			"no tick has passed on the cores of role %q since the last sample",
			r.name,
		)
	}
	k.add("plimsoll_cpu_busy_ratio", r.labels, busy/total)
	k.add("plimsoll_cpu_busy_hottest_ratio", r.labels, hottest)
	if stealKnown {
		k.add("plimsoll_cpu_steal_ratio", r.labels, steal/total)
	}
	return nil
}
