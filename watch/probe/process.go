package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"plimsoll/watch/series"
)

var pageSize = float64(os.Getpagesize())

// slowEvery sets how often the expensive numbers of a process are read: every fifth sample.
const slowEvery = 5

// Role is a name and the processes that fill it. PIDs returns the roots; their descendants count to
// the role as well. It is called once per sample and may return other pids after a restart.
type Role struct {
	Name string
	PIDs func() []int
	// CPU returns the CPU time of a control group that holds exactly these processes. It only
	// grows. Nil means that there is none: the process table is read.
	CPU func() (CPUTime, error)
}

// A CPUTime is the CPU time of a control group. User and System give the proportion in which Total
// is divided.
type CPUTime struct{ Total, User, System time.Duration }

// ProcessProbe samples the processes of one or more roles, each summed over its process trees:
//
//	plimsoll_process_cpu_seconds_total{mode,role}   user and system, children that ended included
//	plimsoll_process_cpu_ratio{role}                cores in use since the last sample
//	plimsoll_process_resident_memory_bytes{role}    private pages of each, and the largest shared part once
//	plimsoll_process_major_faults_total{role}
//	plimsoll_process_threads{role}, plimsoll_process_count{role}
//	plimsoll_process_open_fds{role}, plimsoll_process_fds_used_ratio{role} (the fullest process)
//	plimsoll_process_fds_limit{role}                the smallest limit of a process; left out where there is none
//	plimsoll_process_context_switches_total{kind,role}   voluntary or involuntary, all threads
//	plimsoll_process_start_seconds{role}            when the youngest root was started, after the boot of the host
//	plimsoll_process_gone{role}                     1 when a root has ended, or there is none
//
// The three lines before the last two are read every fifth sample. A role without a process, and a
// root that has ended or is a zombie, is an error. Counters start at zero with the probe, never
// fall, and count on over a restart. CPU time comes from the role's control group, if it has one:
// to the microsecond, and with processes that began and ended between two samples.
type ProcessProbe struct {
	proc  string
	roles []*tree
	procs map[int]*process
	round uint64
	dir   *os.File
	buf   []byte
	names []string
	out   sink
}

// NewProcess watches one role. See [NewProcesses] for several at the cost of one.
func NewProcess(role string, pids func() []int) *ProcessProbe {
	return NewProcesses([]Role{{Name: role, PIDs: pids}})
}

// NewProcesses watches several roles with one walk over /proc.
func NewProcesses(roles []Role) *ProcessProbe {
	p := &ProcessProbe{proc: "/proc", procs: map[int]*process{}, buf: make([]byte, 8192)}
	for _, r := range roles {
		p.roles = append(p.roles, &tree{
			name: r.Name, pids: r.PIDs, group: r.CPU, roots: map[int]uint64{},
			role:   Labels("role", r.Name),
			user:   Labels("mode", "user", "role", r.Name),
			system: Labels("mode", "system", "role", r.Name),
			vol:    Labels("kind", "voluntary", "role", r.Name),
			invol:  Labels("kind", "involuntary", "role", r.Name),
		})
	}
	return p
}

// Name returns "process".
func (p *ProcessProbe) Name() string { return "process" }

// tree is one role.
type tree struct {
	name   string
	pids   func() []int
	group  func() (CPUTime, error) // nil: none
	roots  map[int]uint64          // start time of each root, to notice that a pid was given again
	member map[int]*process

	userTicks, systemTicks, faults uint64
	switches                       [2]uint64
	before                         CPUTime // the group's at the last sample
	grouped                        bool    // there was one
	userCPU, systemCPU             float64 // seconds of the group
	lastCPU                        float64
	lastT                          time.Time

	role, user, system, vol, invol []series.Label
}

// process is the state of one pid.
type process struct {
	pid, parent int
	start       uint64
	stat, statm file
	seen        uint64 // round in which the pid was last in /proc
	read        uint64 // round in which stat was last read
	state       byte
	now         procTimes
	counted     procTimes // the part of now that the role's counters contain
	fresh       bool      // not yet counted
	before      bool      // was there before the probe
	owed        procTimes // times of ended children that the counters already contain
	threads     uint64
	tids        map[int]*[2]uint64
	fdLimit     float64
}

// procTimes are cumulative counters of /proc/PID/stat: own, and of waited-for children.
type procTimes struct{ user, system, cuser, csystem, faults, cfaults uint64 }

// Sample reads all roles. See [ProcessProbe] for the emitted metrics.
func (p *ProcessProbe) Sample(_ context.Context, t time.Time) ([]series.Sample, error) {
	p.out.reset()
	p.round++
	if err := p.walk(); err != nil {
		return nil, fmt.Errorf("processes: %w", err)
	}
	var errs []error
	for _, r := range p.roles {
		if err := p.role(r, t); err != nil {
			errs = append(errs, fmt.Errorf("role %s: %w", r.name, err))
		}
	}
	for pid, x := range p.procs {
		if x.seen != p.round {
			x.stat.close()
			x.statm.close()
			delete(p.procs, pid)
		}
	}
	return p.out.s, errors.Join(errs...)
}

// Close closes the files that Sample keeps open.
func (p *ProcessProbe) Close() error {
	for _, x := range p.procs {
		x.stat.close()
		x.statm.close()
	}
	clear(p.procs)
	if p.dir == nil {
		return nil
	}
	return p.dir.Close()
}

// walk brings p.procs up to date. A pid that belongs to no role is checked when it is new and every
// fifth time, in case it was adopted or given again.
func (p *ProcessProbe) walk() (err error) {
	if p.dir == nil {
		if p.dir, err = os.Open(p.proc); err != nil {
			return err
		}
	}
	if _, err = p.dir.Seek(0, 0); err != nil {
		return err
	}
	p.names, err = pidsIn(p.dir, p.names[:0])
	if err != nil {
		return err
	}
	for _, name := range p.names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		x := p.procs[pid]
		if x != nil && x.tids == nil && p.round%slowEvery != 0 { // no member of a role so far
			x.seen = p.round
			continue
		}
		if x == nil {
			x = p.meet(pid, name)
		}
		text, err := x.stat.read()
		if err != nil {
			continue // ended between the listing and now; seen stays behind
		}
		start := x.start
		if err := x.parseStat(text); err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		if x.tids == nil {
			x.stat.close() // keep files open for members only
		}
		if start != 0 && start != x.start {
			// The pid was given again: another process.
			x = p.meet(pid, name)
			if err := x.parseStat(text); err != nil {
				return fmt.Errorf("process %d: %w", pid, err)
			}
		}
		x.seen, x.read = p.round, p.round
	}
	return nil
}

// meet makes the entry of a pid that is new, or belongs to another process than before.
func (p *ProcessProbe) meet(pid int, name string) *process {
	x := &process{pid: pid, fresh: true}
	x.stat = file{path: filepath.Join(p.proc, name, "stat"), buf: p.buf}
	x.statm = file{path: filepath.Join(p.proc, name, "statm"), buf: p.buf}
	p.procs[pid] = x
	return x
}

// parseStat reads the text of /proc/PID/stat. The command may contain blanks and parentheses.
func (x *process) parseStat(text []byte) error {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 || i+2 >= len(text) {
		return errors.New("stat has no command")
	}
	f := fields(bytes.TrimSuffix(text[i+1:], []byte("\n")))
	state := f.next()
	if len(state) != 1 {
		return errors.New("stat has no state")
	}
	var v [20]uint64
	for n := range v {
		w := f.next()
		neg := len(w) > 1 && w[0] == '-'
		if neg {
			w = w[1:]
		}
		var err error
		if v[n], err = number(w); err != nil {
			return fmt.Errorf("stat: field %d: %w", n+4, err)
		}
	}
	// v[0] is field 4 of proc(5).
	x.state, x.parent = state[0], int(v[0])
	x.now = procTimes{
		faults:  v[8],
		cfaults: v[9],
		user:    v[10],
		system:  v[11],
		cuser:   v[12],
		csystem: v[13],
	}
	x.threads, x.start = v[16], v[18]
	return nil
}

// role emits one role's samples.
func (p *ProcessProbe) role(r *tree, t time.Time) error {
	roots := r.pids()
	if len(roots) == 0 {
		p.out.add("plimsoll_process_gone", r.role, 1)
		return errors.New("no process")
	}
	var errs []error
	youngest := uint64(0)
	if r.member == nil {
		r.member = map[int]*process{}
	}
	for _, pid := range roots {
		x := p.procs[pid]
		switch {
		case x == nil || x.seen != p.round:
			errs = append(errs, fmt.Errorf("process %d has exited", pid))
			continue
		case x.state == 'Z' || x.state == 'X':
			errs = append(errs, fmt.Errorf("process %d has exited and waits for its parent", pid))
			continue
		case r.roots[pid] != 0 && r.roots[pid] != x.start:
			errs = append(
				errs,
				fmt.Errorf("process %d has exited; its number belongs to another process now", pid),
			)
			continue
		}
		r.roots[pid] = x.start
		youngest = max(youngest, x.start)
		r.adopt(x)
	}
	// Children of members are members. Parents are usually listed before their children, so this
	// loop runs twice; a late child is found at the next sample otherwise.
	for grown := true; grown; {
		grown = false
		for _, x := range p.procs {
			if x.seen != p.round || r.member[x.pid] == x {
				continue
			}
			if m := r.member[x.parent]; m != nil && m.seen == p.round {
				r.adopt(x)
				grown = true
			}
		}
	}
	for pid := range r.roots {
		if !slices.Contains(roots, pid) {
			delete(r.roots, pid)
		}
	}
	r.count(p.round)
	p.out.add("plimsoll_process_gone", r.role, float64(min(len(errs), 1)))
	if youngest > 0 {
		p.out.add("plimsoll_process_start_seconds", r.role, float64(youngest)/userHZ)
	}
	if len(errs) > 0 {
		return errors.Join(errs...) // a tree without a root is not the role any more
	}
	return p.emit(r, t)
}

// adopt makes x a member.
func (r *tree) adopt(x *process) {
	if r.member[x.pid] == x {
		return
	}
	r.member[x.pid] = x
	if x.tids == nil {
		x.tids = map[int]*[2]uint64{}
	}
	if x.fresh && r.lastT.IsZero() {
		x.counted, x.before = x.now, true // counters start with the probe
	}
	x.fresh = false
}

// count adds the use of members since the last sample.
//
// When a child ends and its parent waits for it, the kernel adds the child's times to the parent's
// children times. The part that was already counted while the child lived is owed by the parent, so
// that it is not counted twice, and the part between the last sample and the end is not lost.
func (r *tree) count(round uint64) {
	for _, x := range r.member {
		if x.seen == round {
			continue
		}
		// The parent may have ended in the same second; then its own parent has taken over the sum.
		heir := r.member[x.parent]
		for heir != nil && heir.seen != round {
			heir = r.member[heir.parent]
		}
		if heir != nil {
			o, c := &heir.owed, x.counted
			o.user += c.user + c.cuser
			o.system += c.system + c.csystem
			o.faults += c.faults + c.cfaults
		}
	}
	for pid, x := range r.member {
		if x.seen != round {
			delete(r.member, pid)
		}
	}
	for _, x := range r.member {
		n, c := &x.now, &x.counted
		r.userTicks += since(n.user, c.user) + lessOwed(since(n.cuser, c.cuser), &x.owed.user)
		r.systemTicks += since(n.system, c.system)
		r.systemTicks += lessOwed(since(n.csystem, c.csystem), &x.owed.system)
		r.faults += since(n.faults, c.faults)
		r.faults += lessOwed(since(n.cfaults, c.cfaults), &x.owed.faults)
		x.counted = x.now
	}
}

func since(now, last uint64) uint64 { return now - min(now, last) }

func lessOwed(d uint64, owed *uint64) uint64 {
	paid := min(d, *owed)
	*owed -= paid
	return d - paid
}

// cpu returns the role's CPU seconds since the probe's first sample.
func (r *tree) cpu() (user, system float64, err error) {
	if r.group == nil {
		return float64(r.userTicks) / userHZ, float64(r.systemTicks) / userHZ, nil
	}
	now, err := r.group()
	if err != nil {
		return 0, 0, err
	}
	if r.grouped {
		grown := max(now.Total-r.before.Total, 0).Seconds()
		u := max(now.User-r.before.User, 0).Seconds()
		s := max(now.System-r.before.System, 0).Seconds()
		share := 1.0
		if u+s > 0 {
			share = u / (u + s)
		}
		r.userCPU += grown * share
		r.systemCPU += grown * (1 - share)
	}
	r.before, r.grouped = now, true
	return r.userCPU, r.systemCPU, nil
}

func (p *ProcessProbe) emit(r *tree, t time.Time) error {
	k := &p.out
	var errs []error
	var private, shared, threads float64
	for _, x := range r.member {
		threads += float64(x.threads)
		text, err := x.statm.read()
		if err != nil {
			if x.state != 'Z' && !gone(err) {
				errs = append(errs, fmt.Errorf("process %d: %w", x.pid, err))
			}
			continue
		}
		f := fields(bytes.TrimSuffix(text, []byte("\n")))
		f.next() // size
		resident, err1 := f.number()
		share, err2 := f.number()
		if err := errors.Join(err1, err2); err != nil {
			errs = append(errs, fmt.Errorf("process %d: statm: %w", x.pid, err))
			continue
		}
		private += float64(since(resident, share))
		shared = max(shared, float64(share))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	user, system, err := r.cpu()
	if err != nil {
		return err
	}
	k.add("plimsoll_process_cpu_seconds_total", r.user, user)
	k.add("plimsoll_process_cpu_seconds_total", r.system, system)
	if dt := t.Sub(r.lastT).Seconds(); !r.lastT.IsZero() && dt > 0 {
		k.add("plimsoll_process_cpu_ratio", r.role, (user+system-r.lastCPU)/dt)
	}
	r.lastCPU, r.lastT = user+system, t
	k.add("plimsoll_process_major_faults_total", r.role, float64(r.faults))
	k.add("plimsoll_process_resident_memory_bytes", r.role, (private+shared)*pageSize)
	k.add("plimsoll_process_threads", r.role, threads)
	k.add("plimsoll_process_count", r.role, float64(len(r.member)))
	if p.round%slowEvery == 1 {
		return p.slow(r)
	}
	return nil
}
