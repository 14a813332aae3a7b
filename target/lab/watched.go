package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Watched is a supervised program as a [Crashes] follows it. Only PID is required.
type Watched struct {
	Role string // in the deployment: app, db, cache
	Name string // of the one program, such as app-0; default: Role
	Kind string // kind of its log: KindPostgreSQL, KindMySQL or "" for any other program
	PID  int
	Logs []string        // paths of the files that it writes to
	Done <-chan struct{} // closed when it has ended; nil: the process table is used
	Err  func() error    // after Done: how it ended; nil for status 0. It may be nil
	Tail func() string   // its last output, where it has no log file. It may be nil
}

// The kinds of log whose lines have meanings of their own.
const (
	KindPostgreSQL = "postgresql"
	KindMySQL      = "mysql"
)

// Watched returns the child for a [Crashes].
func (p *Process) Watched() Watched {
	w := Watched{Name: p.name, PID: p.id.PID, Done: p.ended, Err: p.Err, Tail: p.tail.String}
	for _, l := range p.logs {
		w.Logs = append(w.Logs, l.name)
	}
	return w
}

// A Crash is a sign that a supervised program, or a part of it, ended, crashed or was restarted.
type Crash struct {
	Role, Name string
	// description: "a process of the server was terminated by signal 9: Killed"
	What string
	// the line of its log that reports it, printable, at most 300 bytes; may be empty
	Line  string
	At    time.Time // when it was seen
	Times int       // how often, if the same was seen more than once
}

// String returns the program, the description, and the line.
func (c Crash) String() string {
	s := c.Name + ": " + c.What
	if c.Role != "" && c.Role != c.Name {
		s = c.Role + " " + s
	}
	if c.Times > 1 {
		s += fmt.Sprintf(" (%d times)", c.Times)
	}
	if c.Line != "" {
		s += "; its log: " + c.Line
	}
	return s
}

// mostCrashes limits the different crashes that are kept.
const mostCrashes = 50

// Crashes follows supervised programs: their ends, the ends of the processes that they had at the
// beginning, and their logs. It is for one goroutine.
type Crashes struct {
	all  []*followed
	seen map[Crash]int // without At, Line and Times: its place in kept
	kept []Crash
	more int // beyond mostCrashes
}

// followed is one program and how far it was followed.
type followed struct {
	Watched
	id    Identity
	ended bool
	logs  []*followedLog
	// children are the program's own at the beginning; from settled on without those that ended
	// within childSettles, which were helpers. When all of the others are gone, it has restarted
	// them.
	children []Identity
	began    time.Time
	settled  bool
	sign     string // the first line of a log that was a sign of something
	old      string // the last such line of a tail that was there at the beginning
	last     []byte // the last one that was not
}

// childSettles is the least age of a child that counts as a part of its program.
const childSettles = 2 * time.Second

// FollowCrashes begins to follow programs. Earlier lines of their logs are ignored.
func FollowCrashes(list []Watched) *Crashes {
	c := &Crashes{seen: map[Crash]int{}}
	for _, w := range list {
		if w.Name == "" {
			w.Name = w.Role
		}
		f := &followed{Watched: w, began: time.Now(), children: children(w.PID)}
		f.id, _ = Identify(w.PID) // one that has ended has none: the first Look finds out
		for _, path := range w.Logs {
			f.logs = append(f.logs, openLog(path))
		}
		for _, line := f.signInTail(); line != ""; _, line = f.signInTail() { // to the last one
			f.old = line
		}
		c.all = append(c.all, f)
	}
	return c
}

// Look checks all programs and returns new crashes. It reads a bounded part of each log
// ([Crashes.Unread]); last marks the last call, which reads more.
func (c *Crashes) Look(now time.Time, last bool) (fresh []Crash) {
	for _, f := range c.all {
		note := func(what, line string) {
			x := Crash{
				Role:  f.Role,
				Name:  f.Name,
				What:  what,
				Line:  line,
				At:    now,
				Times: 1,
			}
			if c.note(x) {
				fresh = append(fresh, x)
			}
		}
		for _, l := range f.logs {
			l.read(last, func(line []byte) {
				if what, ok := crashLine(f.Kind, line); ok {
					text := printable(line)
					f.sign = cmp.Or(f.sign, text)
					note(what, text)
				} else if len(line) > 0 {
					f.last = append(f.last[:0], line[:min(len(line), mostText)]...)
				}
			})
		}
		if what, line := f.signInTail(); line != "" && f.sign == "" {
			f.sign = line
			note(what, line)
		}
		f.lookAtProcess(now, note)
	}
	return fresh
}

// note keeps a crash and reports whether it is the first of its kind.
func (c *Crashes) note(x Crash) bool {
	key := Crash{Role: x.Role, Name: x.Name, What: x.What}
	if i, ok := c.seen[key]; ok {
		c.kept[i].Times++
		return false
	}
	if len(c.kept) >= mostCrashes {
		c.more++
		return false
	}
	c.seen[key] = len(c.kept)
	c.kept = append(c.kept, x)
	return true
}

// All returns the crashes in their order, and the number of further ones that were not kept.
func (c *Crashes) All() (kept []Crash, more int) { return slices.Clone(c.kept), c.more }

// Unread returns the logs of which a part was skipped, because it grew faster than it was read, and
// how many bytes.
func (c *Crashes) Unread() map[string]int64 {
	out := map[string]int64{}
	for _, f := range c.all {
		for _, l := range f.logs {
			if l.skipped > 0 {
				out[f.Name] += l.skipped
			}
		}
	}
	return out
}

// signInTail looks for the first sign after f.old in the last output of a program that has no log
// file.
func (f *followed) signInTail() (what, line string) {
	if len(f.logs) > 0 || f.Tail == nil {
		return "", ""
	}
	for text := range strings.SplitSeq(f.Tail(), "\n") {
		sign, ok := crashLine(f.Kind, []byte(text[:min(len(text), mostLine)]))
		switch shown := printable([]byte(text)); {
		case !ok:
		case shown == f.old: // those before it are older still
			what, line = "", ""
		case line == "":
			what, line = sign, shown
		}
	}
	return what, line
}

// lookAtProcess notices that the program itself has ended, and that its processes are others than
// at the beginning.
func (f *followed) lookAtProcess(now time.Time, note func(what, line string)) {
	if f.ended {
		return
	}
	over, how := false, "it ended"
	select {
	case <-f.Done: // never of a nil channel
		over = true
		if f.Err != nil {
			how = "it ended by itself, with status 0"
			if err := f.Err(); err != nil {
				how = printable([]byte(err.Error()))
			}
		}
	default:
		if f.Done == nil && f.PID != 0 {
			id, err := Identify(f.PID)
			switch {
			case err != nil:
				over = true
			case f.id.PID != 0 && id != f.id:
				over, how = true, "it ended, and another process has its number"
			}
		}
	}
	if over {
		f.ended = true
		line := cmp.Or(f.sign, printable(f.last))
		if line == "" && f.Tail != nil {
			line = printable([]byte(LastLines(f.Tail(), 1)))
		}
		note(how, line)
		return
	}
	f.lookAtChildren(now, note)
}

// lookAtChildren notices that all the children of the beginning are gone: a server that restarts
// its processes after a crash does so, and a shell that starts a program again. Single ones come
// and go.
func (f *followed) lookAtChildren(now time.Time, note func(what, line string)) {
	switch {
	case len(f.children) == 0 || !f.settled && now.Sub(f.began) < childSettles:
		return
	case !f.settled:
		f.settled = true
		f.children = slices.DeleteFunc(f.children, func(id Identity) bool { return !id.Alive() })
		return
	}
	if slices.ContainsFunc(f.children, Identity.Alive) {
		return
	}
	note(
		fmt.Sprintf(
			"all %d processes that it had started before the run have ended, and it goes on",
			len(f.children),
		),
		"",
	)
	f.children = nil
}

// mostChildren bounds how many children of a program are followed: one that lives is enough.
const mostChildren = 64

// children returns the processes that a program has started and that have not ended, at most
// mostChildren; none where the kernel does not list them.
func children(pid int) (out []Identity) {
	if pid <= 0 {
		return nil
	}
	for _, child := range ChildPIDs(pid) {
		if len(out) == mostChildren {
			break
		}
		if id, err := Identify(child); err == nil && id.Alive() {
			out = append(out, id)
		}
	}
	return out
}

// ChildPIDs returns the processes that a process and its threads have started and that exist at the
// time of the call; none where the kernel does not list them.
func ChildPIDs(pid int) (out []int) {
	for b := range ofThreads(pid, "children") {
		for field := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(field); err == nil {
				out = append(out, child)
			}
		}
	}
	return out
}
