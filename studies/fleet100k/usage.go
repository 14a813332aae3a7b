package main

import (
	"fmt"
	"os"

	"plimsoll/studies/study"
	"plimsoll/target/lab"
	"plimsoll/watch/probe"
)

// A usage is what a try has used so far.
type usage struct {
	agents, servers, own, machine float64 // CPU seconds; machine is that of all programs
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
	load, err := study.ReadLoad()
	if err != nil {
		return u, err
	}
	u.machine = load.Used
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

// available returns how many bytes of memory programs can still have; 0 if that is not known.
func available() int64 {
	n, err := probe.FreeMemory()
	if err != nil {
		return 0
	}
	return n
}
