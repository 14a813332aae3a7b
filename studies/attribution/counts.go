package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"time"
)

// countsText counts the calls of each function, and writes them ten times a second with the CPU time
// of the process.
const countsText = `package refchat

import (
	"encoding/json"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

var studyCounts [%d]struct {
	atomic.Uint64
	_ [56]byte // a cache line each
}

func init() {
	file, err := os.Create(%q)
	if err != nil {
		panic(err)
	}
	go func() {
		for at := range time.Tick(100 * time.Millisecond) {
			var u unix.Rusage
			if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
				panic(err)
			}
			calls := make([]uint64, len(studyCounts))
			for i := range studyCounts {
				calls[i] = studyCounts[i].Load()
			}
			cpu := float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
			if err := json.NewEncoder(file).Encode(map[string]any{"at": at, "cpu_s": cpu, "calls": calls}); err != nil {
				panic(err)
			}
		}
	}()
}
`

// count adds counters to all functions, which a program writes to a file.
func (s source) count(file string) error {
	all, err := s.functions()
	if err != nil {
		return err
	}
	var list []insertion
	for _, f := range all {
		list = append(list, insertion{f, fmt.Sprintf("studyCounts[%d].Add(1)", f.called)})
	}
	s[path.Join(serverPath, "study_counts.go")] = fmt.Sprintf(countsText, len(all), file)
	return s.insert(list...)
}

// A counted moment has what a program that counts has done until then.
type counted struct {
	At    time.Time `json:"at"`
	CPU   float64   `json:"cpu_s"`
	Calls []uint64  `json:"calls"` // by function
}

// between returns the calls and the CPU seconds between two moments, to a tenth of a second.
func between(file string, from, to time.Time) (calls []uint64, cpu float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	var first, last counted
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c counted
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, 0, fmt.Errorf("%s: %w", file, err)
		}
		if c.At.Before(from) || first.At.IsZero() {
			first = c
		}
		if !c.At.After(to) {
			last = c
		}
	}
	if err := lines.Err(); err != nil || !last.At.After(first.At) {
		return nil, 0, fmt.Errorf("%s has no counts between %v and %v: %w", file, from, to, err)
	}
	for i := range last.Calls {
		calls = append(calls, last.Calls[i]-first.Calls[i])
	}
	return calls, last.CPU - first.CPU, nil
}
