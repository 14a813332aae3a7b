package main

import (
	"errors"
	"path/filepath"
	"strconv"

	"plimsoll/studies/study"
)

// tree returns a process and its living descendants.
func tree(pid int) []int {
	children := map[int][]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		p, _ := strconv.Atoi(filepath.Base(d))
		if f, err := study.Stat(p); err == nil {
			parent, _ := strconv.Atoi(f[1])
			children[parent] = append(children[parent], p)
		}
	}
	out := []int{pid}
	for i := 0; i < len(out); i++ {
		out = append(out, children[out[i]]...)
	}
	return out
}

// cpuOf returns the CPU seconds of a process tree, those of ended and awaited descendants included.
func cpuOf(pid int) (sum float64, err error) {
	for i, p := range tree(pid) {
		f, err := study.Stat(p)
		if i == 0 && (err != nil || f[0] == "Z") {
			return 0, errors.Join(errors.New("the client has ended"), err)
		}
		if err != nil {
			continue // a child that ended meanwhile is counted in its parent
		}
		s, err := study.Seconds(f[11:15]) // utime, stime, cutime, cstime
		if err != nil {
			return 0, err
		}
		sum += s
	}
	return sum, nil
}
