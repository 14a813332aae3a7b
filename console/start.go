package console

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/internal/files"
	"plimsoll/internal/plain"
	"plimsoll/plan"
	"plimsoll/record/store"
)

const (
	mostPlans    = 200
	mostPlan     = 1 << 20 // bytes of a file
	shownOutput  = 4 << 10 // bytes of the end of an output
	keptStarted  = 20      // processes
	startedBelow = "started"
)

// starter starts plans of a directory, each in a separate process. Its methods are safe for
// concurrent use.
type starter struct {
	dir, program string
	store        *store.Store
	parse        func([]byte) (*plan.Plan, error)

	looked *remembered[planFile]

	mu      sync.Mutex
	started []*startedPlan // oldest first
}

type startedPlan struct {
	pid        int
	verb, plan string
	began      time.Time
	output     string        // its file
	done       chan struct{} // closed when it has ended, after status is set
	status     int
}

// A planFile is one of the directory.
type planFile struct {
	File    string   `json:"file"`
	Name    string   `json:"name"`
	Verbs   []string `json:"verbs"`
	Arms    []string `json:"arms,omitempty"`
	Engines []string `json:"engines,omitempty"`
	Length  float64  `json:"length,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// list reads the plans of the directory.
func (s *starter) list() ([]planFile, error) {
	out := []planFile{}
	if s == nil {
		return out, nil
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.Type().IsRegular() ||
			ext != ".yaml" && ext != ".yml" ||
			len(out) >= mostPlans {
			continue
		}
		f, err := s.looked.of(filepath.Join(s.dir, e.Name()), func() (planFile, error) {
			return s.look(e.Name()), nil
		})
		if err != nil {
			continue // it is gone
		}
		out = append(out, f)
	}
	return out, nil
}

func (s *starter) look(name string) planFile {
	f := planFile{File: name, Verbs: []string{}}
	b, err := files.Read(filepath.Join(s.dir, name), mostPlan)
	var p *plan.Plan
	if err == nil {
		p, err = s.parse(b)
	}
	if err != nil {
		f.Problem = plain.Excerpt(plain.Error(err), 500)
		return f
	}
	f.Name, f.Engines = p.Name, p.Database.Engine
	for verb, has := range map[string]bool{
		"run":      p.Bounded != nil,
		"capacity": p.Unbounded != nil,
		"compare":  p.Compare != nil,
		"sizing":   p.Sizing != nil,
	} {
		if has {
			f.Verbs = append(f.Verbs, verb)
		}
	}
	slices.Sort(f.Verbs)
	f.Length = p.RunLength(p.Bounded != nil, p.Unbounded != nil).Seconds()
	if c := p.Compare; c != nil {
		for _, a := range c.Arms {
			f.Arms = append(f.Arms, a.Name)
		}
	}
	return f
}

// A request names the plan that an operator wants to start, and how.
type request struct {
	Plan     string `json:"plan"`
	Verb     string `json:"verb"`
	Database string `json:"database"`
	Arm      string `json:"arm"`
	Users    int    `json:"users"`
}

// named is the form of arms and databases.
var named = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

var errBusy = errors.New(
	"a plan that was started here is running: two at a time would measure each other",
)

// arguments returns the program's arguments for a request, or an error that describes the invalid
// field.
func (s *starter) arguments(q request) ([]string, error) {
	plans, err := s.list()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(plans, func(p planFile) bool { return p.File == q.Plan })
	switch {
	case i < 0:
		return nil, errors.New("there is no such plan in the directory of -plans")
	case plans[i].Problem != "":
		return nil, fmt.Errorf("the plan cannot be started: %s", plans[i].Problem)
	case !slices.Contains(plans[i].Verbs, q.Verb):
		return nil, fmt.Errorf(
			"verb %q: this plan is for %s",
			q.Verb,
			strings.Join(plans[i].Verbs, ", "),
		)
	case q.Users < 0:
		return nil, fmt.Errorf("users %d: want 1 or more", q.Users)
	}
	args := []string{q.Verb, "-store=" + s.store.Root()}
	for _, x := range []struct{ flag, value string }{{"database", q.Database}, {"arm", q.Arm}} {
		switch {
		case x.value == "":
			continue
		case q.Verb == "compare":
			return nil, fmt.Errorf("%s is for run, capacity and sizing", x.flag)
		case !named.MatchString(x.value):
			return nil, fmt.Errorf("%s %q is no name", x.flag, x.value)
		}
		args = append(args, "-"+x.flag+"="+x.value)
	}
	if q.Users > 0 {
		if q.Verb != "run" && q.Verb != "capacity" {
			return nil, errors.New("users is for run and capacity")
		}
		args = append(args, fmt.Sprintf("-users=%d", q.Users))
	}
	path, err := filepath.Abs(filepath.Join(s.dir, q.Plan)) // and no flag, whatever its name is
	return append(args, path), err
}

// start starts a plan, one at a time. The process outlives this one: its output goes to a file of
// the store.
func (s *starter) start(q request, now time.Time) (pid int, err error) {
	args, err := s.arguments(q)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.started); n > 0 && s.started[n-1].running() {
		return 0, errBusy
	}
	dir := filepath.Join(s.store.Root(), startedBelow)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	name := filepath.Join(
		dir,
		store.NewID(now, strings.TrimSuffix(q.Plan, filepath.Ext(q.Plan)))+".log",
	)
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd := exec.Command(s.program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	// a signal of the terminal is this server's alone
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	p := &startedPlan{
		pid:    cmd.Process.Pid,
		verb:   q.Verb,
		plan:   q.Plan,
		began:  now,
		output: name,
		done:   make(chan struct{}),
	}
	go func() { // ends with the process, or with this one
		defer close(p.done)
		_ = cmd.Wait() // its status says how it ended
		p.status = cmd.ProcessState.ExitCode()
	}()
	s.started = append(s.started, p)
	s.started = s.started[max(0, len(s.started)-keptStarted):]
	return p.pid, nil
}

func (p *startedPlan) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// processes returns the processes that were started, newest first.
func (s *starter) processes() []map[string]any {
	out := []map[string]any{}
	if s == nil {
		return out
	}
	s.mu.Lock()
	all := slices.Clone(s.started)
	s.mu.Unlock()
	for _, p := range slices.Backward(all) {
		one := map[string]any{
			"pid":     p.pid,
			"verb":    p.verb,
			"plan":    p.plan,
			"began":   p.began,
			"running": p.running(),
			"output":  endOf(p.output),
		}
		if !p.running() {
			one["status"] = p.status
		}
		out = append(out, one)
	}
	return out
}

// endOf returns the end of an output; empty when it cannot be read.
func endOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return ""
	}
	if _, err := f.Seek(max(0, fi.Size()-shownOutput), io.SeekStart); err != nil {
		return ""
	}
	b, err := files.ReadUpTo(f, 2*shownOutput)
	if err != nil {
		return ""
	}
	return plain.Lines(string(b))
}

func (s *Console) listPlans(*http.Request) (any, error) {
	plans, err := s.plans.list()
	return map[string]any{"plans": plans}, err
}

func (s *Console) start(w http.ResponseWriter, r *http.Request) {
	var q request
	if !body(w, r, &q) {
		return
	}
	if s.plans == nil {
		refuse(w, http.StatusConflict, "this server was started without -plans")
		return
	}
	if id := s.hub.busy(); id != "" { // also one that the server before this one has started
		refuse(
			w,
			http.StatusConflict,
			id+" is under way in this store: two at a time would measure each other",
		)
		return
	}
	pid, err := s.plans.start(q, time.Now())
	switch {
	case errors.Is(err, errBusy):
		refuse(w, http.StatusConflict, err.Error())
	case err != nil:
		refuse(w, http.StatusBadRequest, plain.Error(err))
	default:
		answer(w, map[string]any{"pid": pid})
	}
}
