package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"plimsoll/load/measure"
	"plimsoll/record"
)

const (
	defaultParallel = 12
	// mostMemory is the resident memory that a small run may reach, in MiB: twenty bodies of 4 MiB,
	// as much again for decoded values and for the garbage collector, and the program itself.
	// mostOfMany is that of any number of users, and mostOfRuns that of a verb whose runs follow
	// each other in one process, beside what the run before left to the collector.
	mostMemory = 256
	mostOfRuns = 384
	mostOfMany = 1024
	// mostWaiting is how many rows that only wait for deadlines run beside the others.
	mostWaiting = 24
)

// A result is the outcome of a row.
type result struct {
	row      row
	status   int // -1: it was ended at its limit
	classes  []string
	memory   int // MiB, the most
	seconds  float64
	struck   int // how often the fault struck
	leak     leak
	problems []string // why it does not hold; none if it does
}

// A suite runs rows.
type suite struct {
	program  string
	feed     string // plimsoll with the news feed
	dir      string // kept if it was given
	parallel int
	users    int // instead of the rows'
	log      func(format string, args ...any)

	people  string // the password of all accounts but the administrator's
	servers *servers
	certs   *certificates
	ca      string // file of their authority
}

// all runs the rows, several at a time, and returns the results in their order. An error means that
// the suite itself failed.
func (s *suite) all(ctx context.Context, chosen []row) (results []result, err error) {
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "plimsoll-chaos-"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(s.dir)
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	need := map[string]bool{}
	for _, r := range chosen {
		need[r.server] = true
	}
	if s.certs, err = newCertificates(); err != nil {
		return nil, fmt.Errorf("making certificates: %w", err)
	}
	s.ca = filepath.Join(s.dir, "ca.pem")
	if err := os.WriteFile(s.ca, s.certs.authority, 0o644); err != nil {
		return nil, err
	}
	s.people = "Bb2!" + rand.Text() + `'"<&>\%`
	s.servers, err = startServers(ctx, s.dir, s.feed, need, "Aa1!"+rand.Text()+`"<&>\`)
	defer func() { err = errors.Join(err, s.servers.close(context.WithoutCancel(ctx))) }()
	if err != nil {
		return nil, fmt.Errorf("starting the reference servers: %w", err)
	}
	results = make([]result, len(chosen))
	var wg sync.WaitGroup
	busy := make(chan struct{}, s.parallel)
	heavy := make(chan struct{}, max(1, s.parallel/3))
	waiting := make(chan struct{}, mostWaiting)
	var mu sync.Mutex
	var errs []error
	did := 0
	start := func(i int, places ...chan struct{}) {
		wg.Go(func() {
			for _, p := range places {
				p <- struct{}{}
				defer func() { <-p }()
			}
			if ctx.Err() != nil {
				return
			}
			r, err := s.tried(ctx, chosen[i])
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", chosen[i].name(), err))
			}
			results[i] = r
			did++
			s.log("%3d of %d  %s", did, len(chosen), r.line())
		})
	}
	for i, r := range chosen {
		switch {
		case r.wait:
			start(i, waiting)
		case r.mode.heavy:
			start(i, heavy, busy)
		default:
			start(i, busy)
		}
	}
	wg.Wait()
	return results, errors.Join(append(errs, ctx.Err())...)
}

// line is a result for people.
func (r result) line() string {
	text := "holds"
	if len(r.problems) > 0 {
		text = "NOT MET: " + strings.Join(r.problems, "; ")
	}
	return fmt.Sprintf(
		"%-34s status %2d  %-14s %4d MiB %6.1f s  %s",
		r.row.name(),
		r.status,
		strings.Join(r.classes, " "),
		r.memory,
		r.seconds,
		text,
	)
}

// tries is how often a row is run whose fault did not strike: on a host that does much else, a
// second may pass without a request.
const tries = 3

// tried runs a row until its fault has struck.
func (s *suite) tried(ctx context.Context, r row) (out result, err error) {
	for range tries {
		if out, err = s.once(ctx, r); err != nil || out.struck > 0 || out.status < 0 ||
			ctx.Err() != nil {
			break
		}
	}
	return out, err
}

// once runs one row.
func (s *suite) once(ctx context.Context, r row) (out result, err error) {
	out.row = r
	dir := filepath.Join(s.dir, strings.ReplaceAll(r.name(), "/", "."))
	if err := os.RemoveAll(dir); err != nil { // of a try before
		return out, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return out, err
	}
	t, err := newTrap()
	if err != nil {
		return out, err
	}
	defer t.close()
	secrets := &vault{}
	secrets.add(s.servers.password)
	secrets.add(s.people)
	script := newScript(r.phase, r.load)
	defer script.end()
	if r.verb == capacity {
		script.measure = searchTime
	}
	users := r.users
	if s.users > 0 {
		users, script.measure = s.users, manyTime
	}
	certs := s.certs
	if !r.mode.ofTLS() {
		certs = nil
	}
	p, err := newProxy(r.mode, script, s.servers.at[r.server], t.url(), secrets, certs)
	if err != nil {
		return out, err
	}
	defer p.Close()
	store := filepath.Join(dir, "store")
	planFile := filepath.Join(dir, "plan.yaml")
	if err := os.WriteFile(planFile, []byte(planOf(r, p.URL(), users, script.measure)), 0o644); err != nil {
		return out, err
	}
	args := []string{cmp.Or(string(r.verb), "run"), "-store", store, planFile}
	if r.load == proofs {
		timeout := "10s"
		if r.wait && len(r.classes) > 0 { // it is for the timeouts
			timeout = "1s"
		}
		args = []string{
			"target",
			"verify",
			"-timeout",
			timeout,
			"-team",
			teamOf(r),
			"-only",
			proven,
			p.URL(),
		}
	}
	env := append(
		os.Environ(),
		"PLIMSOLL_CALIBRATE=false",
		"PLIMSOLL_ADMIN_PASSWORD="+s.servers.password,
		"PLIMSOLL_USER_PASSWORD="+s.people,
		"SSL_CERT_FILE="+s.ca,
	)
	limit := r.limit()
	if s.users > 0 {
		limit *= 3
	}
	began := time.Now()
	ran, err := execute(ctx, limit, env, s.programOf(r), args...)
	if err != nil {
		return out, err
	}
	out.seconds, out.status, out.memory = time.Since(began).Seconds(), ran.status, ran.memory
	outputs := map[string][]byte{"stdout": ran.stdout, "stderr": ran.stderr}
	runs, err := filepath.Glob(filepath.Join(store, "runs", "*"))
	if err != nil {
		return out, err
	}
	var problems []string
	for _, run := range runs {
		problems = append(problems, out.read(run)...)
	}
	if len(runs) == 0 {
		out.classes = said(ran.stdout, ran.stderr)
	}
	if strings.HasPrefix(r.mode.name, "echo-") {
		more, err := s.reread(ctx, env, r, store, runs)
		if err != nil {
			return out, err
		}
		maps.Copy(outputs, more)
	}
	for name, text := range outputs {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return out, err
		}
	}
	kept := store
	if _, err := os.Stat(store); err != nil {
		kept = planFile
	}
	if out.leak, err = leaks(secrets, outputs, kept); err != nil {
		return out, err
	}
	out.struck = int(p.struck.Load())
	out.judge(problems, outputs, limit, int(t.visits.Load()), s.most(r))
	return out, nil
}

// judge compares the outcome with the expected one.
func (r *result) judge(
	problems []string,
	outputs map[string][]byte,
	limit time.Duration,
	visits, most int,
) {
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	switch {
	case r.status < 0:
		add("it had not ended after %v", limit)
	case !slices.Contains(r.row.statuses, r.status):
		add("status %d, right is %s", r.status, r.row.statusText())
	}
	if !r.row.anyClass && r.status >= 0 {
		if len(r.row.classes) > 0 && !slices.ContainsFunc(r.classes, func(c string) bool {
			return slices.Contains(r.row.classes, c)
		}) {
			add("no operation of class %s", r.row.classText())
		}
		for _, c := range r.classes {
			if !slices.Contains(r.row.classes, c) && !slices.Contains(r.row.further, c) {
				add("operations of class %s, right is %s", c, r.row.classText())
			}
		}
	}
	if r.memory > most {
		add("%d MiB, at most %d", r.memory, most)
	}
	if r.struck == 0 {
		add("the fault did not strike")
	}
	if visits > 0 {
		add("a redirection was followed %d times", visits)
	}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		for _, mark := range []string{"panic:", "runtime error:", "\ngoroutine "} {
			if bytes.Contains(outputs[name], []byte(mark)) {
				add("%s shows a panic", name)
				break
			}
		}
	}
	for _, l := range []string{r.leak.secret, r.leak.control} {
		if l != "" {
			add("%s", l)
		}
	}
	r.problems = problems
}

// read reads the classes of a run, and returns the problems of its records.
func (r *result) read(dir string) (problems []string) {
	kept, err := record.Open(dir)
	if err != nil {
		return []string{"the run cannot be read: " + err.Error()}
	}
	if kept.Manifest.State != record.Sealed {
		problems = append(problems, "the run is not sealed")
	}
	merged, err := kept.Merged(0, math.MaxInt64)
	if err != nil {
		return append(problems, "the run's windows cannot be read: "+err.Error())
	}
	for _, w := range merged {
		for c, n := range w.Classes {
			if class := measure.Class(c); n > 0 && class != measure.OK &&
				!slices.Contains(r.classes, class.String()) {
				r.classes = append(r.classes, class.String())
			}
		}
	}
	slices.Sort(r.classes)
	return problems
}

var classWord = regexp.MustCompile(
	`\((dial|tls|write|header|body|decode|ws|timeout|4xx|5xx|dropped)\)`,
)

// said returns the classes that an output names.
func said(outputs ...[]byte) (classes []string) {
	for _, o := range outputs {
		for _, m := range classWord.FindAllSubmatch(o, -1) {
			if c := string(m[1]); !slices.Contains(classes, c) {
				classes = append(classes, c)
			}
		}
	}
	slices.Sort(classes)
	return classes
}

// most returns the resident memory that a row may reach, in MiB.
func (s *suite) most(r row) int {
	switch {
	case s.users > 0:
		return mostOfMany
	case r.verb == compare:
		return mostOfRuns
	}
	return mostMemory
}

// programOf returns the program that knows the server of a row.
func (s *suite) programOf(r row) string {
	if r.load == feed {
		return s.feed
	}
	return s.program
}

// reread looks at the store as people do.
func (s *suite) reread(
	ctx context.Context,
	env []string,
	r row,
	store string,
	runs []string,
) (map[string][]byte, error) {
	out := map[string][]byte{}
	if len(runs) == 0 {
		return out, nil
	}
	run := filepath.Base(runs[0])
	looks := map[string][]string{
		"show":  {"show", "-store", store, run},
		"json":  {"show", "-store", store, "-json", run},
		"pages": {"show", "-store", store, "-pages", filepath.Join(store, "pages"), run},
		"ls":    {"ls", "-store", store},
	}
	if r.verb == compare {
		looks["report"] = []string{"report", "-store", store, "last"}
	}
	for name, args := range looks {
		ran, err := execute(ctx, time.Minute, env, s.programOf(r), args...)
		if err != nil {
			return nil, err
		}
		out[name+".stdout"], out[name+".stderr"] = ran.stdout, ran.stderr
	}
	return out, nil
}

// An ended holds the status and the output of a program that has ended.
type ended struct {
	status         int // -1: it was ended at its limit
	memory         int // MiB
	stdout, stderr []byte
}

// execute runs the program to its end or its limit. The peak memory of a process is read from the
// kernel while it lives (VmHWM); the value of wait includes the memory of the process that started
// it.
func execute(
	ctx context.Context,
	limit time.Duration,
	env []string,
	program string,
	args ...string,
) (ended, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bounded
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return ended{}, err
	}
	e := ended{}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		t := time.NewTicker(20 * time.Millisecond)
		defer t.Stop()
		for {
			e.memory = max(e.memory, peak(cmd.Process.Pid))
			select {
			case <-done:
				return
			case <-t.C:
			}
		}
	})
	err := cmd.Wait()
	over := ctx.Err() != nil
	close(done)
	wg.Wait()
	e.stdout, e.stderr = stdout.b, stderr.b
	var exit *exec.ExitError
	switch {
	case over:
		e.status = -1
	case errors.As(err, &exit):
		e.status = exit.ExitCode()
	case err != nil:
		return e, err
	}
	return e, nil
}

// bounded keeps the first 16 MB that are written to it.
type bounded struct{ b []byte }

func (w *bounded) Write(p []byte) (int, error) {
	w.b = append(w.b, p[:min(len(p), max(0, 16<<20-len(w.b)))]...)
	return len(p), nil
}

// peak is the most memory that a process had so far, in MiB; 0 if it is gone.
func peak(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	line, _, _ := strings.Cut(rest, "kB")
	kb, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return 0
	}
	return (kb + 512) / 1024
}

// proven are the actions that `target verify` proves here. The first posts a message.
const proven = "create_post,add_reaction,edit_post,delete_post,ack_to_post,view_thread," +
	"update_thread_read,upsert_draft,create_scheduled_post,search_posts,click_user_profile," +
	"add_channel_bookmark"

// teamOf names a team of the row's own.
func teamOf(r row) string {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, r.name()) // never fails
	return fmt.Sprintf("c%08x", sum.Sum32())
}

// planOf is the plan of a row. The host does other work: the gates of its own health are open. More
// users than the row's pause for longer, so that all together ask as often.
func planOf(r row, url string, users int, measure time.Duration) string {
	pace := 0.02
	if r.mode.heavy {
		pace = 0.04
	}
	if users > r.users {
		pace *= float64(users) / float64(r.users)
	}
	ready := readyPath
	workload := fmt.Sprintf(
		`{behavior: poster, pace: %v, params: {team: %s, channels: "2"}}`,
		pace,
		teamOf(r),
	)
	switch r.load {
	case persons:
		login := "warm"
		if r.phase == logins {
			login = "cold"
		}
		workload = fmt.Sprintf(
			`{behavior: mattermost, pace: %v, login: %s, params: {team: %s, users: %s-, channels: "2", speed: "1"}}`,
			min(pace, 1),
			login,
			teamOf(r),
			teamOf(r),
		)
	case feed:
		ready, workload = "/health", "{behavior: newsfeed}"
	case posters, proofs:
	}
	metrics := ""
	if r.phase == scrape {
		metrics = ", metrics_url: " + metricsPath
	}
	test := fmt.Sprintf(
		"bounded: {users: %d, ramp: %v, settle: %v, measure: %v}",
		users,
		rampTime,
		r.load.settleTime(),
		measure,
	)
	switch r.verb {
	case capacity:
		budget := max(time.Duration(pace*float64(searchTime)), time.Second)
		test = fmt.Sprintf(
			"unbounded: {max_users: %d, start: %d, window: 1s, budget: %v}",
			2*users,
			users,
			budget,
		)
	case compare:
		test += "\ncompare: {arms: {base: {}, new: {}}, blocks: 1, retry: 0s}"
	}
	return fmt.Sprintf(`name: chaos
seed: 7
target: {driver: external, url: %q, ready: %s%s}
workload: %s
%s
gates: {lag: {red: 60s}, late: {red: 100%%}, cpu: {red: 100%%}, core: {red: 100%%}, sched: {red: 60s}, pause: {red: 60s}, gc: {red: 100%%}, steal: {red: 100%%}, target_steal: {red: 100%%},
  others: {red: 100%%}, throttled: {red: 100%%}, wait: {red: 100%%}, inbox: {red: 60s}, memory: {red: 100%%}, ports: {red: 100%%}, bursts: {red: 1000x}, little: {red: 100%%}}
`, url, ready, metrics, workload, test)
}
