package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// gone reports whether err means that the process or thread has ended meanwhile.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// pidsIn appends the names of dir that are numbers.
func pidsIn(dir *os.File, names []string) ([]string, error) {
	for {
		part, err := dir.Readdirnames(512)
		for _, n := range part {
			if n[0] >= '0' && n[0] <= '9' {
				names = append(names, n)
			}
		}
		if errors.Is(err, io.EOF) {
			return names, nil
		}
		if err != nil {
			return names, err
		}
	}
}

// slow emits the metrics that need several files per process.
func (p *ProcessProbe) slow(r *tree) error {
	var fds, fullest, limit float64
	var errs []error
	for _, x := range r.member {
		if x.state == 'Z' {
			continue
		}
		n, err := p.openFiles(x)
		if err == nil {
			err = p.threadSwitches(x, r)
		}
		if gone(err) {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("process %d: %w", x.pid, err))
			continue
		}
		fds += n
		if x.fdLimit > 0 {
			fullest = max(fullest, n/x.fdLimit)
			if limit == 0 || x.fdLimit < limit {
				limit = x.fdLimit
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	p.out.add("plimsoll_process_open_fds", r.role, fds)
	p.out.add("plimsoll_process_fds_used_ratio", r.role, fullest)
	if limit > 0 {
		p.out.add("plimsoll_process_fds_limit", r.role, limit)
	}
	p.out.add("plimsoll_process_context_switches_total", r.vol, float64(r.switches[0]))
	p.out.add("plimsoll_process_context_switches_total", r.invol, float64(r.switches[1]))
	return nil
}

// openFiles counts a process' open files, and reads its limit once.
func (p *ProcessProbe) openFiles(x *process) (float64, error) {
	dir := filepath.Join(p.proc, strconv.Itoa(x.pid))
	if x.fdLimit == 0 {
		text, err := os.ReadFile(filepath.Join(dir, "limits"))
		if err != nil {
			return 0, err
		}
		if x.fdLimit, err = parseFDLimit(text); err != nil {
			return 0, err
		}
	}
	return countFDs(dir, 0)
}

// countFDs counts the open files of the process whose directory in /proc is dir. own is how many of
// them the counting opens itself: 1 in this process.
func countFDs(dir string, own int) (float64, error) {
	info, err := os.Stat(filepath.Join(dir, "fd"))
	if err != nil {
		return 0, err
	}
	if info.Size() > 0 { // since Linux 6.2 the size is the count
		return float64(info.Size()), nil
	}
	d, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return 0, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	return float64(max(len(names)-own, 0)), err
}

// parseFDLimit finds the soft limit of open files in /proc/PID/limits; -1 is unlimited.
func parseFDLimit(text []byte) (float64, error) {
	for line := range lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte("Max open files"))
		if !ok {
			continue
		}
		f := fields(rest)
		w := f.next()
		if string(w) == "unlimited" {
			return -1, nil
		}
		n, err := number(w)
		if err != nil {
			return 0, fmt.Errorf("limits: open files: %w", err)
		}
		return float64(n), nil
	}
	return 0, errors.New("limits: no line of open files")
}

// threadSwitches adds the context switches of every thread since the last time. Those of a thread
// between its last reading and its end are lost.
func (p *ProcessProbe) threadSwitches(x *process, r *tree) error {
	dir := filepath.Join(p.proc, strconv.Itoa(x.pid), "task")
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	p.names, err = pidsIn(d, p.names[:0])
	d.Close()
	if err != nil {
		return err
	}
	first := x.before && len(x.tids) == 0
	for _, name := range p.names {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		now, err := p.switches(filepath.Join(dir, name, "status"))
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		last := x.tids[tid]
		if last == nil {
			last = &[2]uint64{}
			if first {
				*last = now // counters start with the probe
			}
			x.tids[tid] = last
		}
		for i := range now {
			if now[i] >= last[i] {
				r.switches[i] += now[i] - last[i]
			} else {
				r.switches[i] += now[i] // another thread of the same number
			}
			last[i] = now[i]
		}
	}
	if len(x.tids) > 4*len(p.names)+64 { // threads come and go: drop those that are gone
		for tid := range x.tids {
			if !slices.Contains(p.names, strconv.Itoa(tid)) {
				delete(x.tids, tid)
			}
		}
	}
	return nil
}

func (p *ProcessProbe) switches(path string) (n [2]uint64, err error) {
	f := file{path: path, buf: p.buf}
	defer f.close()
	text, err := f.read()
	if err != nil {
		return n, err
	}
	found := 0
	for line := range lines(text) {
		w := fields(line)
		i := 0
		switch string(w.next()) {
		case "voluntary_ctxt_switches:":
		case "nonvoluntary_ctxt_switches:":
			i = 1
		default:
			continue
		}
		if n[i], err = w.number(); err != nil {
			return n, fmt.Errorf("%s: %w", path, err)
		}
		found++
	}
	if found != 2 {
		return n, fmt.Errorf("%s: no context switches", path)
	}
	return n, nil
}
