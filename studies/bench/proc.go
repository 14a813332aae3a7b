package main

import (
	"errors"
	"fmt"

	"plimsoll/studies/study"
	"plimsoll/watch/probe"
)

// cpuOf returns the CPU seconds of a process tree, those of ended and awaited descendants included.
func cpuOf(pid int) (sum float64, err error) {
	if _, err := study.CPU(pid); err != nil {
		return 0, fmt.Errorf("the client has ended: %w", err)
	}
	family, err := probe.Family([]int{pid})
	for _, p := range family {
		f, serr := study.Stat(p)
		if serr != nil {
			continue // a child that ended meanwhile is counted in its parent
		}
		s, serr := study.Seconds(f[11:15]) // utime, stime, cutime, cstime
		sum, err = sum+s, errors.Join(err, serr)
	}
	return sum, err
}
