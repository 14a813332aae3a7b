package profile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plimsoll/watch/profile/symbols"
)

// The sources of a profile.
const (
	FromKernel = "kernel" // samples of perf_event_open
	FromServer = "pprof"  // /debug/pprof/profile of the server itself
)

// A Symbol is one function of a program.
type Symbol struct {
	Name   string // as the language writes it, with package and receiver
	File   string // of its source; empty if unknown
	Line   int    // of its start; 0 if unknown
	Binary string // base name of the file that holds it; empty for the kernel
	Kind   string // as in package symbols; empty in profiles of other tools
}

// A SampledStack is one call stack.
type SampledStack struct {
	Functions []int32 // indexes into [Stored.Functions], outermost caller first
	Samples   int64
}

// A Binary is a program or a library of the processes.
type Binary struct{ Name, BuildID string }

// A Stored is the profile of one role in one run, as a file holds it.
type Stored struct {
	Module    string   // path of the main module of a Go program; empty if there is none
	Binaries  []Binary // the main program first
	Functions []Symbol
	Stacks    []SampledStack
	Period    time.Duration // CPU time that a sample stands for
	Seconds   float64       // profiled time, by the clock
	CPU       float64       // CPU seconds in that time by the kernel's accounting; 0 if unknown
	Lost      int64         // samples that the kernel dropped
	Source    string        // [FromKernel] or [FromServer]; empty in profiles of other tools
}

// The bounds of a profile. One of 90 minutes has some 100,000 stacks of 30 functions: a file of
// 3 MB.
const (
	maxFile    = 32 << 20 // bytes, compressed
	maxProto   = 64 << 20 // bytes
	maxStacks  = 1 << 20
	maxDepth   = 1 << 10 // functions of one stack
	maxFrames  = 1 << 24 // functions of all stacks
	maxEntries = 1 << 18 // of a table other than that of strings
	maxStrings = 4 * maxEntries
	maxText    = 2 * maxEntries // bytes of one string; the kinds of all functions are one
)

// Comments of a profile begin with one of these. pprof prints those that do not begin with #.
const (
	moduleComment  = "plimsoll.module="
	cpuComment     = "plimsoll.cpu_seconds="
	secondsComment = "plimsoll.seconds="
	lostComment    = "plimsoll.lost="
	sourceComment  = "plimsoll.source="
	kindsComment   = "#plimsoll.kinds=" // initials of the kinds, in the order of the functions
)

// kindInitials are the initials of the kinds of package symbols. A dash is no kind.
var kindInitials = map[byte]string{
	'o': symbols.Own,
	'l': symbols.Library,
	'r': symbols.Runtime,
	'k': symbols.Kernel,
	'u': symbols.Unknown,
	'-': "",
}

// errLarge wraps the bound that a profile exceeds.
var errLarge = errors.New("too large for a profile")

// check returns an error if s is not a profile that [Read] accepts.
func (s *Stored) check() error {
	switch {
	case len(s.Stacks) > maxStacks:
		return fmt.Errorf("%d stacks: %w; at most %d", len(s.Stacks), errLarge, maxStacks)
	case len(s.Functions) > maxEntries, len(s.Binaries) > maxEntries:
		return fmt.Errorf(
			"%d functions of %d binaries: %w; at most %d",
			len(s.Functions),
			len(s.Binaries),
			errLarge,
			maxEntries,
		)
	case s.Period <= 0:
		return fmt.Errorf("a period of %v; want more than 0", s.Period)
	case !(s.Seconds >= 0 && s.CPU >= 0) || math.IsInf(s.Seconds+s.CPU, 0) || s.Lost < 0:
		return fmt.Errorf(
			"%v s with %v CPU seconds and %d lost samples; want finite numbers from 0",
			s.Seconds,
			s.CPU,
			s.Lost,
		)
	}
	if err := s.checkTexts(); err != nil {
		return err
	}
	return s.checkStacks()
}

func (s *Stored) checkTexts() error {
	if s.Source != "" && s.Source != FromKernel && s.Source != FromServer {
		return fmt.Errorf("no source %q of profiles", s.Source)
	}
	longest := len(s.Module)
	for _, b := range s.Binaries {
		longest = max(longest, len(b.Name), len(b.BuildID))
	}
	for _, f := range s.Functions {
		longest = max(longest, len(f.Name), len(f.File))
	}
	if longest > maxEntries {
		return fmt.Errorf("a name of %d bytes: %w; at most %d", longest, errLarge, maxEntries)
	}
	return nil
}

func (s *Stored) checkStacks() error {
	var frames int
	for i, st := range s.Stacks {
		frames += len(st.Functions)
		switch {
		case len(st.Functions) > maxDepth || frames > maxFrames:
			return fmt.Errorf(
				"stack %d has %d functions, all so far %d: %w; at most %d and %d",
				i,
				len(st.Functions),
				frames,
				errLarge,
				maxDepth,
				maxFrames,
			)
		case st.Samples <= 0 || st.Samples > math.MaxInt64/int64(s.Period):
			return fmt.Errorf(
				"stack %d has %d samples of %v; want 1 or more, and less than 292 years",
				i,
				st.Samples,
				s.Period,
			)
		}
		for _, f := range st.Functions {
			if f < 0 || int(f) >= len(s.Functions) {
				return fmt.Errorf("stack %d: no function %d", i, f)
			}
		}
	}
	return nil
}

// comments returns the comments that hold what the format of pprof has no room for.
func (s *Stored) comments() ([]string, error) {
	kinds := make([]byte, len(s.Functions))
	for i, f := range s.Functions {
		kinds[i] = '-'
		if f.Kind != "" {
			kinds[i] = f.Kind[0]
		}
		if kindInitials[kinds[i]] != f.Kind {
			return nil, fmt.Errorf("function %q: no kind %q", f.Name, f.Kind)
		}
	}
	return []string{
		moduleComment + s.Module,
		cpuComment + strconv.FormatFloat(s.CPU, 'g', -1, 64),
		secondsComment + strconv.FormatFloat(s.Seconds, 'g', -1, 64),
		lostComment + strconv.FormatInt(s.Lost, 10),
		sourceComment + s.Source,
		kindsComment + string(kinds),
	}, nil
}

// comment takes in one comment. Comments of other tools are ignored.
func (s *Stored) comment(text string) (err error) {
	name, value, _ := strings.Cut(text, "=")
	switch name + "=" {
	case moduleComment:
		s.Module = value
	case cpuComment:
		s.CPU, err = strconv.ParseFloat(value, 64)
	case secondsComment:
		s.Seconds, err = strconv.ParseFloat(value, 64)
	case lostComment:
		s.Lost, err = strconv.ParseInt(value, 10, 64)
	case sourceComment:
		s.Source = value
	case kindsComment:
		if len(value) != len(s.Functions) {
			return fmt.Errorf("%d kinds of %d functions", len(value), len(s.Functions))
		}
		for i := range s.Functions {
			kind, ok := kindInitials[value[i]]
			if !ok {
				return fmt.Errorf("no kind of functions %q", value[i])
			}
			s.Functions[i].Kind = kind
		}
	}
	return err
}
