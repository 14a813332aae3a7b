package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"plimsoll/studies/study"
	"plimsoll/target/lab"
)

// A usage is what a try has used so far.
type usage struct {
	agents, servers, own, machine float64 // CPU seconds; machine is all that was not idle
	agentsMiB, serversMiB         float64 // resident now
	bytes, mail                   int64   // from and to the agents
	openFiles                     int     // of the agent or server that has most
}

// look reads what agents, servers and links have used.
func (l *leader) look() (u usage, err error) {
	if u.agents, u.agentsMiB, err = l.sum(&u, l.machines.agents); err != nil {
		return u, err
	}
	if u.servers, u.serversMiB, err = l.sum(&u, l.machines.servers); err != nil {
		return u, err
	}
	if u.own, err = study.CPU(os.Getpid()); err != nil {
		return u, err
	}
	if u.machine, err = busy(); err != nil {
		return u, err
	}
	u.bytes, u.mail = l.received.Load(), l.sent.Load()
	return u, nil
}

func (l *leader) sum(u *usage, of []*lab.Process) (cpu, mib float64, err error) {
	for _, p := range of {
		c, err := study.CPU(p.PID())
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %s", err, p.Tail())
		}
		kib, err := study.Resident(p.PID())
		if err != nil {
			return 0, 0, err
		}
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
		if err != nil {
			return 0, 0, err
		}
		cpu, mib = cpu+c, mib+kib/1024
		u.openFiles = max(u.openFiles, len(files))
	}
	return cpu, mib, nil
}

// busy returns the CPU seconds of this machine that were neither idle nor waiting for a disk nor stolen.
func busy() (float64, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b))
	if len(f) < 8 {
		return 0, fmt.Errorf("/proc/stat: %q", b[:min(len(b), 80)])
	}
	return study.Seconds([]string{f[1], f[2], f[3], f[6], f[7]}) // user, nice, system, irq, softirq
}

// available returns how many bytes of memory programs can still have; 0 if that is not known.
func available() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n << 10
		}
	}
	return 0
}
