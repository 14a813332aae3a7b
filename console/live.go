package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"plimsoll/record"
	"plimsoll/record/store"
	"plimsoll/run/live"
)

const (
	// maxLine bounds a line of a run, in bytes; a longer one ends the connection.
	maxLine = 64 << 10
	// lookEvery is the time between two looks for new sockets.
	lookEvery = time.Second
	// silentAfter is the time without a frame after which the list shows a run as silent.
	silentAfter = 3 * time.Second
	// diedAfter is the time that a run whose socket closed without an end has to be found sealed.
	diedAfter = 2 * time.Second
	// maxFollowed bounds the kept runs; the oldest ended one is dropped first.
	maxFollowed = 64
	// maxWindows and maxLog bound the kept windows of the search and lines of the log.
	maxWindows, maxLog = 2000, 500
)

func ruleName(i int) string { return "rule." + strconv.Itoa(i) }

// followed is a run that is read. Its fields are guarded by mu; changed is closed and replaced by
// each change.
type followed struct {
	id, kind, dir string

	mu      sync.Mutex
	changed chan struct{}
	head    reading // of the newest frame
	frame   []byte  // the newest, as it came; nil before the first
	frames  int     // that came, so that a second one of the same second is known to be another
	seq     int64   // the last second that is known; -1 before the first
	heard   time.Time
	began   time.Time // of this server's look
	cols    *columns
	windows []json.RawMessage
	window  float64 // n of the last
	log     []json.RawMessage
	line    float64 // n of the last
	classes map[string]float64
	end     map[string]any

	// Of a comparison: its Judged, how often it changed, and the time of the file that it was made
	// of.
	judged  json.RawMessage
	judging int
	saved   time.Time
}

func newFollowed(kind, dir string) *followed {
	return &followed{
		id:      filepath.Base(dir),
		kind:    kind,
		dir:     dir,
		changed: make(chan struct{}),
		seq:     -1,
		began:   time.Now(),
		cols:    newColumns(mostPoints, kept),
	}
}

// hub finds the runs of a store that publish, and follows them.
type hub struct {
	store *store.Store
	// every and patience are lookEvery and diedAfter; tests are quicker.
	every, patience time.Duration
	// of a comparison; nil for none
	judge func(ctx context.Context, id string) (any, error)
	// called at each look; nil for none
	tidy func(now time.Time)
	// recorded reads the past of a run from its directory; nil reads nothing.
	recorded func(ctx context.Context, dir string) (*recorded, error)

	mu   sync.Mutex
	runs map[string]*followed
}

func newHub(st *store.Store) *hub {
	return &hub{store: st, every: lookEvery, patience: diedAfter, runs: map[string]*followed{}}
}

// look follows new sockets until ctx is done.
func (h *hub) look(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	all.Go(func() { h.judgeOn(ctx) }) // it takes seconds, in which runs may begin
	looked := map[string]time.Time{}
	for {
		for kind, dir := range map[string]string{
			"run":        "runs",
			"comparison": "comparisons",
			"sizing":     "sizings",
		} {
			if !h.due(dir, looked[dir]) {
				continue
			}
			looked[dir] = time.Now()
			found, _ := os.ReadDir(filepath.Join(h.store.Root(), dir))
			for _, d := range found {
				if f, conn := h.take(ctx, kind, filepath.Join(h.store.Root(), dir, d.Name())); f != nil {
					all.Go(func() { h.follow(ctx, f, conn) })
				}
			}
		}
		if h.tidy != nil {
			h.tidy(time.Now())
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

const (
	// freshFor is the time after a change of a directory of the store during which every look reads
	// all of it.
	freshFor = time.Minute
	// idleEvery is the interval between looks otherwise: a store has thousands of runs, and this
	// host may be measuring.
	idleEvery = 5 * time.Second
)

// due reports whether to look for the sockets in a directory of the store: a new run makes a new
// directory, but a comparison that goes on does not.
func (h *hub) due(dir string, looked time.Time) bool {
	fi, err := os.Stat(filepath.Join(h.store.Root(), dir))
	return err == nil && (time.Since(fi.ModTime()) < freshFor || time.Since(looked) >= idleEvery)
}

// take connects to the socket of a run that is not followed yet; nil when there is nobody behind
// it.
func (h *hub) take(ctx context.Context, kind, dir string) (*followed, net.Conn) {
	id := filepath.Base(dir)
	h.mu.Lock()
	old := h.runs[id]
	h.mu.Unlock()
	if old != nil && !old.over() || !wholeID(id) {
		return nil, nil
	}
	conn, err := dial(ctx, dir)
	if err != nil {
		return nil, nil
	}
	f := newFollowed(kind, dir)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs[id] = f
	for len(h.runs) > maxFollowed {
		gone := ""
		for id, r := range h.runs {
			if r.over() && (gone == "" || r.began.Before(h.runs[gone].began)) {
				gone = id
			}
		}
		if gone == "" {
			break
		}
		delete(h.runs, gone)
	}
	return f, conn
}

// dial connects to the socket in dir; a link to one elsewhere is none.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	if !live.Published(dir) {
		return nil, live.ErrGone
	}
	return live.Dial(ctx, dir)
}

// follow reads a run until it ends, dies or ctx is done.
func (h *hub) follow(ctx context.Context, f *followed, conn net.Conn) {
	h.restore(ctx, f) // its frames wait in the socket meanwhile
	for {
		began := time.Now()
		f.read(ctx, conn)
		if f.over() || ctx.Err() != nil {
			return
		}
		select { // one that ends at once is not opened again at once
		case <-ctx.Done():
			return
		case <-time.After(h.patience/8 - time.Since(began)):
		}
		// The connection broke, which is not yet the end of the run: it may be sealed a moment
		// later, or publish again.
		conn = nil
		for end := time.Now().Add(h.patience); conn == nil && time.Now().Before(end); {
			if h.sealed(f) {
				return
			}
			if c, err := dial(ctx, f.dir); err == nil {
				conn = c
				break
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(h.patience / 8):
			}
		}
		if conn == nil {
			f.finish(map[string]any{
				"state": "died",
				"why":   "its socket closed without an end, and it was not sealed",
			})
			return
		}
	}
}

// restoreWithin bounds the reading of a run's past.
const restoreWithin = 30 * time.Second

// restore reads the past of a run from its directory: this server may have started after the run.
// Without a past, the run begins with the first frame.
func (h *hub) restore(ctx context.Context, f *followed) {
	if f.kind != "run" || h.recorded == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, restoreWithin)
	defer cancel()
	rec, err := h.recorded(ctx, f.dir)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cols, f.classes = rec.cols, rec.classes
	f.windows, f.window = raw(
		rec.windows[max(0, len(rec.windows)-maxWindows):],
		func(w live.SearchWindow) int {
			return w.N
		},
	)
	f.log, f.line = raw(rec.log, func(l live.LogLine) int { return l.N })
	f.head.Phases, _ = json.Marshal(rec.phases)
	f.head.Rules, _ = json.Marshal(rec.rules) // both have numbers that JSON has
	if rec.last > 0 {
		f.seq = int64(rec.last)
		f.tell()
	}
}

// sealed ends f when its directory says that the run is over.
func (h *hub) sealed(f *followed) bool {
	if f.kind != "run" {
		return false
	}
	r, err := record.Open(f.dir)
	if err != nil || !r.Ended() {
		return false
	}
	end := map[string]any{
		"state":     endState(r.Manifest.State),
		"valid":     r.Validity.Valid,
		"documents": documents(h.store, "runs", f.id),
	}
	if r.Manifest.Why != "" {
		end["why"] = r.Manifest.Why
	}
	f.finish(end)
	return true
}

func endState(s record.State) string {
	if s == record.Sealed {
		return "ended"
	}
	return string(s)
}

// read takes the lines of a connection, and closes it.
func (f *followed) read(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 8<<10), maxLine)
	for lines.Scan() && !f.over() {
		f.line1(lines.Bytes())
	}
}

// line1 takes one line; one that is not a frame of this run is left out.
func (f *followed) line1(line []byte) {
	var in reading
	if json.Unmarshal(line, &in) != nil {
		return
	}
	if in.Kind == "end" || in.End != nil {
		end := map[string]any{}
		if in.End != nil {
			line = in.End
		}
		if json.Unmarshal(line, &end) != nil {
			return
		}
		delete(end, "kind")
		if s := end["state"]; s != "ended" && s != "interrupted" && s != "died" {
			end["state"] = "ended"
		}
		f.finish(end)
		return
	}
	if in.Kind != f.kind || in.ID != f.id || in.Seq == nil {
		return
	}
	var flat bytes.Buffer
	if json.Compact(&flat, line) != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = time.Now()
	if *in.Seq < f.seq || *in.Seq == f.seq && bytes.Equal(flat.Bytes(), f.frame) {
		return // the run lives, and waits for its turn
	}
	if f.kind == "run" {
		if *in.Seq > f.seq { // else the second is in the columns already
			f.cols.add(float64(*in.Seq), in.values(f.classes, float64(*in.Seq-max(f.seq, 0))))
		}
		f.classes = in.Errors.Classes
		if f.classes == nil {
			f.classes = map[string]float64{}
		}
		f.windows, f.window = newer(f.windows, in.Search.Windows, f.window, maxWindows)
		f.log, f.line = newer(f.log, in.Log, f.line, maxLog)
	}
	f.frame, f.seq, f.head = flat.Bytes(), *in.Seq, in
	f.frames++
	f.tell()
}

// newer appends the items whose n is greater than last, keeps the last most of them, and returns
// the greatest n.
func newer(to, items []json.RawMessage, last float64, most int) ([]json.RawMessage, float64) {
	for _, item := range items {
		var in struct{ N float64 }
		if json.Unmarshal(item, &in) == nil && in.N > last {
			to, last = append(to, slices.Clone(item)), in.N
		}
	}
	return to[max(0, len(to)-most):], last
}

func (f *followed) finish(end map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.end == nil {
		f.end = end
		f.tell()
	}
}

// tell wakes the streams; f.mu is held.
func (f *followed) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *followed) over() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.end != nil
}

// died reports whether the process of a run is gone without an end.
func (f *followed) died() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.end != nil && f.end["state"] == "died"
}

// past returns the Past of a run after the frame with this seq; f.mu is held.
func (f *followed) past(seq int64) map[string]any {
	p := f.cols.past(float64(seq))
	if f.head.Phases != nil {
		p["phases"] = f.head.Phases
	}
	if f.head.Rules != nil {
		p["rules"] = f.head.Rules
	}
	p["windows"] = append([]json.RawMessage{}, f.windows...)
	p["log"] = append([]json.RawMessage{}, f.log...)
	return p
}

// item returns the LiveItem of the contract.
func (f *followed) item(now time.Time) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]any{"kind": f.kind, "id": f.id, "state": "running", "began": f.began}
	addTexts(out, map[string]string{
		"verb":        f.head.Verb,
		"plan":        f.head.Plan,
		"arm":         f.head.Arm,
		"engine":      f.head.Engine,
		"of":          f.head.Of.ID,
		"began":       f.head.Began,
		"exploratory": f.head.Exploratory,
	})
	if f.head.PID > 0 {
		out["pid"] = f.head.PID
	}
	heard := f.heard
	if heard.IsZero() {
		heard = f.began
	} else {
		out["heard"] = heard
	}
	switch {
	case f.end != nil:
		out["state"] = "ended"
		if f.end["state"] == "died" {
			out["state"] = "died"
		}
		if why, ok := f.end["why"]; ok {
			out["why"] = why
		}
	case now.Sub(heard) > silentAfter:
		out["state"] = "silent"
	}
	return out
}

// list returns the items, newest first, without those that have just been found and had no time for
// a frame.
func (h *hub) list() []map[string]any {
	h.mu.Lock()
	all := make([]*followed, 0, len(h.runs))
	for _, f := range h.runs {
		all = append(all, f)
	}
	h.mu.Unlock()
	slices.SortFunc(all, func(a, b *followed) int { return b.began.Compare(a.began) })
	out := []map[string]any{}
	for _, f := range all {
		// else a frame will tell whose part it is
		if item := f.item(time.Now()); item["heard"] != nil || item["state"] != "running" {
			out = append(out, item)
		}
	}
	return out
}

// busy returns the id of something that is under way; empty for nothing.
func (h *hub) busy() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, f := range h.runs {
		if !f.over() {
			return id
		}
	}
	return ""
}

func (h *hub) run(id string) *followed {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.runs[id]
}
