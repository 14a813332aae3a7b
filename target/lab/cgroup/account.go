package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Passive reports whether groups that only count and freeze leave the sharing of the CPU as it is.
// They do not where the hierarchy that counts also shares: a group has there the weight of one
// competitor, whatever the number of its processes.
func Passive() bool { return passive(mounted) }

func passive(root string) bool {
	if mount := unified(root); mount != "" {
		b, err := os.ReadFile(filepath.Join(mount, "cgroup.subtree_control"))
		return err == nil && !slices.Contains(strings.Fields(string(b)), "cpu")
	}
	counts, err := os.Stat(filepath.Join(root, "cpuacct"))
	if err != nil {
		return false
	}
	shares, err := os.Stat(filepath.Join(root, "cpu"))
	return err != nil || !os.SameFile(counts, shares)
}

// Account prepares the group for [Group.CPUTime]. Only processes that are added afterwards count.
func (g *Group) Account() (err error) {
	if g.account != "" {
		return nil
	}
	dir := ""
	if mount := unified(g.root); mount != "" {
		if dir, err = g.core(mount); err != nil {
			return fmt.Errorf("control group: counting CPU time: %w", err)
		}
	} else if dir, err = g.dir("cpuacct"); err != nil {
		return err
	}
	if _, err := cpuTime(dir); err != nil {
		return err
	}
	g.account = dir
	return nil
}

// A Usage is the CPU time that a group's processes used, those that have ended included.
type Usage struct {
	Total time.Duration
	// by the kernel's own division; their sum may differ a little from Total
	User, System time.Duration
}

// CPUTime returns the CPU time since [Group.Account], to the precision of the scheduler. It may be
// called while other methods run, from several goroutines.
func (g *Group) CPUTime() (Usage, error) {
	if g.account == "" {
		return Usage{}, errors.New("control group: its CPU time is not counted")
	}
	return cpuTime(g.account)
}

// userHZ is the unit of version 1's division: the kernel reports it to programs in hundredths of a
// second.
const userHZ = 100

func cpuTime(dir string) (t Usage, err error) {
	path := filepath.Join(dir, "cpu.stat")
	b, err := os.ReadFile(path)
	if err == nil && strings.Contains(string(b), "usage_usec ") {
		err = fill(path, string(b), map[string]*time.Duration{
			"usage_usec":  &t.Total,
			"user_usec":   &t.User,
			"system_usec": &t.System,
		}, time.Microsecond)
		return t, err
	}
	path = filepath.Join(dir, "cpuacct.usage")
	if b, err = os.ReadFile(path); err != nil {
		return t, fmt.Errorf("control group: counting CPU time: %w", err)
	}
	if err := fill(path, "total "+string(b), map[string]*time.Duration{"total": &t.Total}, time.Nanosecond); err != nil {
		return t, err
	}
	path = filepath.Join(dir, "cpuacct.stat")
	if b, err = os.ReadFile(path); err != nil {
		return t, fmt.Errorf("control group: counting CPU time: %w", err)
	}
	err = fill(path, string(b), map[string]*time.Duration{
		"user":   &t.User,
		"system": &t.System,
	}, time.Second/userHZ)
	return t, err
}

// fill reads lines of a name and a number. All names of want must be there.
func fill(path, text string, want map[string]*time.Duration, unit time.Duration) error {
	found := 0
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		to := want[name]
		if to == nil {
			continue
		}
		n, err := strconv.ParseUint(value, 10, 63)
		if err != nil {
			return fmt.Errorf("control group: reading %s: %w", path, err)
		}
		*to = time.Duration(n) * unit
		found++
	}
	if found < len(want) {
		return fmt.Errorf("control group: reading %s: it lacks the CPU time", path)
	}
	return nil
}
