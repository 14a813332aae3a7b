package probe

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"plimsoll/watch/series"
)

// Turns separates the growth of a host's counters during the turns of one run from the growth
// between them, when several runs take turns on the host. Begin and End mark the two ends of a
// turn. What counts with it ([HostOptions], [Self.UseTurns], [Turns.Cores], [Turns.SelfCPU]) goes
// on evenly from one turn to the next, as if nothing had run between: a counter has its value at
// the first reading plus its growth during turns.
//
// Begin and End are for one goroutine and change nothing when called twice. They read the files of
// counters into memory, about 15 KiB; the texts are parsed by whoever samples next. All other
// methods are safe for concurrent use.
type Turns struct {
	proc   string
	mu     sync.Mutex
	on     bool // between Begin and End
	closed bool
	files  []*turnFile
	used   time.Duration // CPU time of this process during turns until usedAt
	usedAt time.Duration // CPU time of this process at the last Begin or End
	err    error         // of the last reading of that
	heard  []func(on bool)

	summing sync.Mutex // of sum
	sum     *cpuStat
	stat    *turnReader
}

// NewTurns returns the turns of a run that has none yet. proc replaces /proc, for tests. The caller
// calls Close.
func NewTurns(proc string) (*Turns, error) {
	if proc == "" {
		proc = "/proc"
	}
	sum, err := newCPUStat(nil)
	if err != nil {
		return nil, err
	}
	t := &Turns{proc: proc, sum: sum}
	if t.used, err = selfCPU(); err != nil {
		return nil, fmt.Errorf("this program's CPU time: %w", err)
	}
	t.usedAt = t.used
	return t, nil
}

// Begin marks the beginning of a turn.
func (t *Turns) Begin() { t.turn(true) }

// End marks the end of a turn.
func (t *Turns) End() { t.turn(false) }

func (t *Turns) turn(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.on == on || t.closed {
		return
	}
	t.use()
	t.on = on
	for _, f := range t.heard {
		f(on)
	}
	for _, f := range t.files {
		f.mark(on)
	}
}

// Hear has f called now and at both ends of every turn from now on, with whether the turn is under
// way. f returns at once and calls no method of t.
func (t *Turns) Hear(f func(on bool)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = append(t.heard, f)
	f(t.on)
}

// Close closes the files. No turn begins after it.
func (t *Turns) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.file.close())
	}
	return errors.Join(errs...)
}

// use brings the CPU time of this process up to date.
func (t *Turns) use() {
	now, err := selfCPU()
	if t.err = err; err != nil {
		return
	}
	if t.on {
		t.used += now - t.usedAt
	}
	t.usedAt = now
}

// SelfCPU returns the user and system time of this process during turns so far, plus the time
// before [NewTurns]. With a nil Turns it is all the time of this process.
func (t *Turns) SelfCPU() (time.Duration, error) {
	if t == nil {
		return selfCPU()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.use()
	return t.used, t.err
}

func selfCPU() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// Cores returns the busy and the whole time of some cores during turns, in seconds since a time
// that is always the same. Everything but idle and iowait is busy. A core that is not there is an
// error.
func (t *Turns) Cores(cores []int) (busy, total float64, err error) {
	t.summing.Lock()
	defer t.summing.Unlock()
	if t.stat == nil {
		t.stat, err = t.follow(filepath.Join(t.proc, "stat"))
		if err != nil {
			return 0, 0, err
		}
	}
	gaps, now, err := t.stat.read()
	for _, g := range gaps {
		err = errors.Join(err, t.sum.skip(g.end, g.begin))
	}
	if err != nil {
		return 0, 0, err
	}
	t.sum.gen++
	var discarded sink
	if _, err := t.sum.scan(now, &discarded, sampled); err != nil {
		return 0, 0, err
	}
	for _, id := range cores {
		if id < 0 || id >= len(t.sum.cores) || t.sum.cores[id] == nil ||
			t.sum.cores[id].seen != t.sum.gen {
			return 0, 0, fmt.Errorf("core %d is not there or offline", id)
		}
		b, _, all := t.sum.cores[id].share()
		busy, total = busy+b/userHZ, total+all/userHZ
	}
	return busy, total, nil
}

// follow returns a reader of a file of counters, which is read at both ends of every turn from now
// on. Growth between now and the first turn is not the run's.
func (t *Turns) follow(path string) (*turnReader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.files {
		if f.file.path == path {
			return f.reader(t), nil
		}
	}
	f := &turnFile{file: file{path: path}}
	text, err := f.file.read()
	if err != nil {
		return nil, err
	}
	if !t.on {
		f.end = bytes.Clone(text)
	}
	t.files = append(t.files, f)
	return f.reader(t), nil
}

// turnFile is one file and its readers.
type turnFile struct {
	file    file
	readers []*turnReader
	end     []byte // as of the last End; nil during a turn, or when it could not be read
	due     bool   // the text at the last Begin could not be read yet
}

// A gap is the time between two turns: a file's text at its two ends. end is nil when it could not
// be read.
type gap struct{ end, begin []byte }

// turnReader is one use of a file.
type turnReader struct {
	turns *Turns
	of    *turnFile
	gaps  []gap // since the last call of read
	now   []byte
}

func (f *turnFile) reader(t *Turns) *turnReader {
	r := &turnReader{turns: t, of: f}
	f.readers = append(f.readers, r)
	return r
}

// mark reads the file at an end of a turn.
func (f *turnFile) mark(on bool) {
	text, err := f.file.read()
	if on {
		f.due = true
	}
	if err == nil {
		text = bytes.Clone(text)
		f.began(text)
	}
	if !on {
		if f.end = nil; err == nil && !f.due {
			f.end = text
		}
	}
}

// began completes the last gap, if it has to be, with the first text of the turn that could be
// read.
func (f *turnFile) began(text []byte) {
	if !f.due {
		return
	}
	for _, r := range f.readers {
		r.gaps = append(r.gaps, gap{f.end, text})
	}
	f.due, f.end = false, nil
}

// read returns the gaps since the last call and the text after them: the present one during a turn,
// else that of the end of the last. It is valid until the next call.
func (r *turnReader) read() (gaps []gap, now []byte, err error) {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	f := r.of
	text := f.end
	if r.turns.on {
		if text, err = f.file.read(); err == nil && f.due {
			f.began(bytes.Clone(text))
		}
	} else if text == nil {
		err = fmt.Errorf("%s could not be read at the end of the turn", f.file.path)
	}
	gaps, r.gaps = r.gaps, nil
	if err != nil {
		return gaps, nil, err
	}
	r.now = append(r.now[:0], text...)
	return gaps, r.now, nil
}

// A reading is the role of a text of counters.
type reading int

const (
	sampled   reading = iota // growth since the reading before is the run's, and samples are wanted
	turnEnded                // growth since the reading before is the run's
	turnBegan                // growth since the reading before is that of others
)

// count brings a counter up to date: own grows by the growth of raw, unless that is of others. A
// counter that stepped back takes own back with it.
func (how reading) count(own, raw *uint64, now uint64) {
	switch {
	case how == turnBegan:
	case now >= *raw:
		*own += now - *raw
	default:
		*own -= min(*raw-now, *own)
	}
	*raw = now
}

// growth counts the samples of a parser whose metrics are counters, except for gauges, over turns.
type growth struct {
	parse func(text []byte, k *sink) error
	of    map[countedSeries]*grown
	k     sink
}

// gauges are the metrics of files of counters that are none.
var gauges = map[string]bool{"node_netstat_Tcp_CurrEstab": true}

// A countedSeries is a series of a parser, which keeps its lists of labels.
type countedSeries struct {
	name   string
	labels *series.Label
}

type grown struct{ own, raw float64 }

// skip leaves the growth in a gap out.
func (g *growth) skip(end, begin []byte) error {
	return skipping(end, begin, func(text []byte, how reading) error {
		g.k.reset()
		err := g.parse(text, &g.k)
		g.count(g.k.s, how)
		return err
	})
}

// skipping has the two texts of a gap read.
func skipping(end, begin []byte, read func(text []byte, how reading) error) error {
	var err error
	if end != nil {
		err = read(end, turnEnded)
	}
	return errors.Join(err, read(begin, turnBegan))
}

// count reads samples, and replaces the values of sampled ones by those over turns. These never
// step back, although they are sums of fractions.
func (g *growth) count(s []series.Sample, how reading) {
	for i := range s {
		if gauges[s[i].Name] {
			continue
		}
		id := countedSeries{name: s[i].Name}
		if len(s[i].Labels) > 0 {
			id.labels = &s[i].Labels[0]
		}
		x, v := g.of[id], s[i].Value
		switch {
		case x == nil:
			x = &grown{own: v}
			g.of[id] = x
		case how != turnBegan:
			x.own += max(0, v-x.raw)
		}
		if x.raw = v; how == sampled {
			s[i].Value = x.own
		}
	}
}
