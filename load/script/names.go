package script

import (
	"bytes"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"plimsoll/internal/plain"
	"plimsoll/load/measure"
	"plimsoll/load/workload"
)

const (
	mostNames = 200  // of operations, of checks and of groups
	mostName  = 120  // bytes of one
	mostKey   = 2000 // bytes of what a script calls it; those beyond tell no names apart
	otherName = "other"
)

// series are the names of a script's series in one registry. They are safe for concurrent use.
type series struct {
	reg *measure.Registry
	// secrets are masked in names.
	secrets *plain.Secrets
	prefix  string // of operations; workload.Setup for those around a run
	ops     names
	checks  names
	groups  names
	// iterations are by the action's number.
	iterations []measure.Name
	notes      notes
}

// newSeries returns the names in a registry.
func newSeries(
	reg *measure.Registry, secrets *plain.Secrets, prefix string, actions []ActionWeight,
) *series {
	s := &series{reg: reg, secrets: secrets, prefix: prefix}
	for _, a := range actions {
		s.iterations = append(s.iterations, reg.Name(workload.Iteration+secrets.Label(a.Name)))
	}
	return s
}

// names maps what a script calls something to its series. Reading takes no lock.
type names struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]named]
}

// named is a series with its name.
type named struct {
	measure.Name
	text string
}

// of returns the series of a key that has this name when it is new.
func (n *names) of(reg *measure.Registry, key []byte, name func() string, other string) named {
	if m := n.known.Load(); m != nil {
		if have, ok := (*m)[string(key)]; ok {
			return have
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.known.Load()
	next := map[string]named{}
	if old != nil {
		if have, ok := (*old)[string(key)]; ok {
			return have
		}
		if len(*old) >= mostNames {
			return named{reg.Name(other), other}
		}
		next = maps.Clone(*old)
	}
	text := name()
	made := named{reg.Name(text), text}
	next[string(key)] = made
	n.known.Store(&next)
	return made
}

// op returns the series of an operation: of a tag, or else of method and path.
func (s *series) op(scratch *[]byte, tag, method, path string) named {
	key := (*scratch)[:0]
	if tag != "" {
		key = append(key, tag...)
	} else {
		key = appendName(key, method, path)
	}
	*scratch = key
	key = key[:min(len(key), mostKey)]
	prefix := ""
	if s.prefix != "" {
		prefix = s.prefix + " "
	}
	return s.ops.of(s.reg, key, func() string {
		text := s.secrets.Label(string(key))
		if tag != "" {
			return prefix + OpName(text)
		}
		return prefix + text[:min(len(text), mostName)]
	}, prefix+otherName)
}

// check returns the series of a check.
func (s *series) check(name string) measure.Name { return s.part(&s.checks, workload.Check, name) }

// group returns the series of a group.
func (s *series) group(name string) measure.Name { return s.part(&s.groups, workload.Group, name) }

// part returns the series of what is no operation.
func (s *series) part(of *names, prefix, name string) measure.Name {
	name = name[:min(len(name), mostKey)]
	return of.of(s.reg, []byte(name), func() string {
		return prefix + plain.Excerpt(s.secrets.Label(name), mostName)
	}, prefix+otherName).Name
}

// OpName returns the series of operations that a script tags with a name: the name itself, shortened
// if need be, or with "op " before it where series of that name mean something else to the program.
func OpName(tag string) string {
	name := plain.Excerpt(tag, mostName)
	for _, prefix := range []string{measure.LatePrefix, measure.OpenPrefix, measure.AfterPrefix} {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			return "op " + name
		}
	}
	if !workload.Steady(name) || name == workload.Socket || name == workload.Arrival ||
		name == "op" || name == "errors" {
		return "op " + name
	}
	return name
}

// appendName appends "METHOD /path" without the query, with {id} in the place of identifiers.
func appendName(b []byte, method, path string) []byte {
	b = append(append(b, method...), ' ')
	for len(path) > 0 && path[0] == '/' {
		end := 1
		for end < len(path) && path[end] != '/' && path[end] != '?' {
			end++
		}
		b = append(b, '/')
		if segment := path[1:end]; identifier(segment) {
			b = append(b, "{id}"...)
		} else {
			b = append(b, segment...)
		}
		path = path[end:]
	}
	return bytes.TrimSuffix(b, []byte(" "))
}

// identifier reports whether a segment of a path names one object among many: digits, at least 8
// hexadecimal digits, a UUID, or at least 16 of a-z and 0-9 with a digit.
func identifier(s string) bool {
	if s == "" {
		return false
	}
	digits, hex, lower, dashes := 0, 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'f':
			hex++
			lower++
		case 'A' <= c && c <= 'F':
			hex++
		case 'g' <= c && c <= 'z':
			lower++
		case c == '-':
			dashes++
		default:
			return false
		}
	}
	n := len(s)
	switch {
	case digits == n:
		return true
	case digits+hex == n:
		return n >= 8
	case n == 36 && dashes == 4 && digits+hex == 32:
		return s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
	}
	return digits+lower == n && n >= 16 && digits > 0
}

// span records a stretch of the script under a name: its duration, or that it failed.
func (r *realm) span(n measure.Name, began, took time.Duration, failed bool) {
	if failed {
		r.user.Recorder().ErrorOf(n, measure.Script, began)
	} else {
		r.user.Recorder().Since(n, began, took)
	}
}
