package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"plimsoll/target/lab"
)

// tick is the unit of CPU times in /proc on every architecture that Go runs on (USER_HZ).
const tick = 0.01

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
	if u.own, err = cpuOf(os.Getpid()); err != nil {
		return u, err
	}
	if u.machine, err = busy(); err != nil {
		return u, err
	}
	for _, k := range l.links {
		u.bytes += k.received.Load()
		u.mail += k.sent.Load()
	}
	return u, nil
}

func (l *leader) sum(u *usage, of []*lab.Process) (cpu, mib float64, err error) {
	for _, p := range of {
		c, err := cpuOf(p.PID())
		if err != nil {
			return 0, 0, fmt.Errorf("%w: %s", err, p.Tail())
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID()))
		if err != nil {
			return 0, 0, err
		}
		f := strings.Fields(string(b))
		pages, err := strconv.ParseFloat(f[min(1, len(f)-1)], 64)
		if err != nil {
			return 0, 0, fmt.Errorf("/proc/%d/statm: %q", p.PID(), b)
		}
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
		if err != nil {
			return 0, 0, err
		}
		cpu, mib = cpu+c, mib+pages*float64(os.Getpagesize())/(1<<20)
		u.openFiles = max(u.openFiles, len(files))
	}
	return cpu, mib, nil
}

// cpuOf returns the CPU seconds of a process.
func cpuOf(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if len(f) < 13 || f[0] == "Z" {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	return sumOf(f[11:13]) // utime, stime
}

func sumOf(fields []string) (sum float64, err error) {
	for _, f := range fields {
		n, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return 0, err
		}
		sum += n * tick
	}
	return sum, nil
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
	return sumOf([]string{f[1], f[2], f[3], f[6], f[7]}) // user, nice, system, irq, softirq
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

// A meter adds up bytes. It is safe for concurrent use.
type meter struct{ atomic.Int64 }

func (m *meter) count(n int, err error) (int, error) {
	m.Add(int64(n))
	return n, err
}

func client() *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: new(http.Transport)} // and no proxy
}

// each makes a GET request at every server.
func (m *machines) each(ctx context.Context, path string) error {
	c := client()
	defer c.CloseIdleConnections()
	for _, u := range m.urls {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u+path, nil)
		if err != nil {
			return err
		}
		resp, err := c.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s%s: status %d", u, path, resp.StatusCode)
		}
	}
	return nil
}
