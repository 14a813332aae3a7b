package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/record"
	"plimsoll/series"
)

const crashPlan = `
name: crash
target: {driver: refchat, args: ["-hash=bcrypt:4"ARGS]}
database: {engine: [postgresql]}
workload: {behavior: poster, pace: 0.05, params: {channels: "2"}}
bounded: {users: 6, ramp: 1s, settle: 1s, measure: 4s}
`

// crashedRun returns the directory of the only run in a store, when it is there.
func crashedRun(root string) string {
	dirs, _ := filepath.Glob(filepath.Join(root, "store", "runs", "*"))
	if len(dirs) != 1 {
		return ""
	}
	return dirs[0]
}

// atPhase waits until a run is in a phase.
func atPhase(t *testing.T, root, phase string, output *safeBuffer) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		b, err := os.ReadFile(filepath.Join(crashedRun(root), record.EventsFile))
		if err == nil && bytes.Contains(b, []byte(`"kind":"phase"`)) && bytes.Contains(b, []byte(`"phase":"`+phase+`"`)) {
			return
		}
	}
	t.Fatalf("no phase %s\n%s", phase, output.String())
}

// childrenOf returns the processes whose parent is pid, with their command lines.
func childrenOf(pid int) map[int]string {
	out := map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) {
			continue
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(f), "cmdline"))
		out[child] = string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))
	}
	return out
}

// journaled returns the process that a run's deployment has started under a name.
func journaled(t *testing.T, root, journal string) int {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(root, "store", "state", "*", journal))
	more, _ := filepath.Glob(filepath.Join(root, "store", "state", "*", "*", journal))
	pid := 0
	for _, f := range append(files, more...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(b) {
			var l struct {
				PID   int  `json:"pid"`
				Ended bool `json:"ended"`
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			switch {
			case !l.Ended:
				pid = l.PID
			case l.PID == pid:
				pid = 0
			}
		}
	}
	if pid == 0 {
		t.Fatalf("no process in %s of %q", journal, files)
	}
	return pid
}

// A target that crashes in the measured phase, and goes on or not, makes a run that is not valid, by the target's doing, and the finding quotes the line of
// the log. Before, a backend of PostgreSQL that was killed, with a recovery in the server's log, left a valid run and status 0.
func TestACrashInTheMeasuredPhaseVoidsTheRun(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		do         func(t *testing.T, root string)
		want       []string // in one finding each
	}{
		{"a backend of PostgreSQL is killed", "", func(t *testing.T, root string) {
			killed := false
			for pid, line := range childrenOf(journaled(t, root, "postgresql.journal")) {
				if strings.Contains(line, " chat ") && !killed { // "postgres: USER DATABASE HOST(PORT) STATE"
					killed = true
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !killed {
				t.Fatal("PostgreSQL has no backend of the database")
			}
		}, []string{"was terminated by signal 9: Killed", "db postgres: the database server recovered from a crash", "; reinitializing"}},
		{"the server is killed", "", func(t *testing.T, root string) {
			if err := syscall.Kill(journaled(t, root, "app.journal"), syscall.SIGSEGV); err != nil {
				t.Fatal(err)
			}
		}, []string{"app app-0: plimsoll ended: exit status 2", "app app-0: it crashed"}},
		{"a request panics and the server goes on", `, "-fault=panic:5%@createPost"`, func(*testing.T, string) {},
			[]string{"panic serving 127.0.0.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd, root, output := startPlan(t, strings.Replace(crashPlan, "ARGS", tt.args, 1), "run")
			atPhase(t, root, "measure", output)
			tt.do(t, root)
			status := wait(t, cmd, 2*time.Minute, output)
			r, err := record.Open(crashedRun(root))
			if err != nil {
				t.Fatal(err)
			}
			if status != exitInvalid && status != exitSLO || r.Validity.Valid || record.CauseOf(r.Validity) != record.ByTarget {
				t.Errorf("status %d, valid %v, by %q\n%s", status, r.Validity.Valid, record.CauseOf(r.Validity), output.String())
			}
			var texts []string
			for _, f := range r.Validity.Findings {
				if f.Gate == record.CrashGate && f.Level == record.Red {
					texts = append(texts, f.Text)
				}
			}
			for _, want := range tt.want {
				if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, want) }) {
					t.Errorf("no finding has %q: %q", want, texts)
				}
			}
			if len(texts) > mostCrashFindings+1 {
				t.Errorf("%d findings", len(texts))
			}
			b, err := os.ReadFile(filepath.Join(r.Dir, record.EventsFile))
			if err != nil || !bytes.Contains(b, []byte(`"kind":"crash"`)) {
				t.Errorf("no event of it: %v", err)
			}
		})
	}
}

// A run whose target stays up has no such finding.
func TestNoCrashIsFoundInAQuietRun(t *testing.T) {
	cmd, root, output := startPlan(t, strings.Replace(crashPlan, "ARGS", "", 1), "run")
	_ = wait(t, cmd, 2*time.Minute, output)
	r, err := record.Open(crashedRun(root))
	if err != nil {
		t.Fatalf("%v\n%s", err, output.String())
	}
	for _, f := range r.Validity.Findings {
		if f.Gate == record.CrashGate || f.Gate == record.PanicGate {
			t.Errorf("%+v", f)
		}
	}
}

// What nobody here supervises tells of its restarts by its own series.
func TestRestartsInTheSeriesAreFound(t *testing.T) {
	db, err := series.Create(filepath.Join(t.TempDir(), "series"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	epoch := time.Now().Add(-time.Minute).Truncate(time.Second)
	label := func(kv ...string) (ls []series.Label) {
		for i := 0; i < len(kv); i += 2 {
			ls = append(ls, series.Label{Name: kv[i], Value: kv[i+1]})
		}
		return ls
	}
	for i := range 30 {
		late := float64(i / 15) // 0, then 1
		var s []series.Sample
		add := func(name string, v float64, kv ...string) {
			s = append(s, series.Sample{Name: name, Labels: label(kv...), Value: v})
		}
		add("process_start_time_seconds", 1000+100*late, "role", "app", "instance", "app-0")
		add("process_start_time_seconds", 1000, "role", "app", "instance", "app-1")
		add("plimsoll_process_start_seconds", 50+10*late, "role", "proxy", "instance", "proxy-0")
		add("plimsoll_process_start_seconds", 50+10*late, "role", "app") // supervised here: others say it better
		add("plimsoll_process_gone", late, "role", "cache", "instance", "cache-0")
		add("plimsoll_process_gone", 0, "role", "cache", "instance", "cache-1")
		add("pg_postmaster_start_time_seconds", 7, "role", "db", "instance", "db-0")
		add("plimsoll_pg_checkpointer_start_time_seconds", 7+60*late, "role", "db", "instance", "db-0")
		add("mysql_global_status_uptime", float64(100+i)*(1-late)+float64(i)*late, "role", "db", "instance", "db-1")
		add("nginx_connections_accepted", float64(i%20), "role", "proxy", "instance", "proxy-1")
		add("container_oom_events_total", late, "role", "app", "instance", "app-2")
		add("container_oom_events_total", late, "role", "db") // in one group with this program
		add("container_oom_events_total", late, "role", "self")
		if err := db.Append(epoch.Add(time.Duration(i)*time.Second), s); err != nil {
			t.Fatal(err)
		}
	}
	found := restarts(t.Context(), db, epoch, 30*time.Second)
	var got []string
	for _, f := range found {
		if f.Gate != record.CrashGate || f.Level != record.Red {
			t.Errorf("%+v", f)
		}
		who, _, _ := strings.Cut(strings.TrimPrefix(f.Text, "the target did not stay up: "), ":")
		got = append(got, who)
	}
	slices.Sort(got)
	if want := []string{"app-0", "app-2", "cache-0", "db-0", "db-1", "proxy-0", "proxy-1"}; !slices.Equal(got, want) {
		t.Errorf("restarts of %q, want %q", got, want)
	}
}

// A verb that panics ends with the status of a tool that failed, and says where; 2 stays bad usage.
func TestAVerbThatPanicsEndsWithStatusOne(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: panicking{}, stderr: &stderr, env: os.Getenv}
	if status := a.run(t.Context(), []string{"version"}); status != exitTool || !strings.Contains(stderr.String(), "panic in the verb version: no room") || !strings.Contains(stderr.String(), "goroutine") {
		t.Errorf("status %d\n%s", status, stderr.String())
	}
	stderr.Reset()
	a = &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &stderr, env: os.Getenv}
	if status := a.run(t.Context(), []string{"version", "-what"}); status != exitUsage {
		t.Errorf("status %d of bad usage", status)
	}
	if status := a.run(t.Context(), []string{"version"}); status != exitOK {
		t.Errorf("status %d", status)
	}
	a.caught.add() // in a request, a user or a probe
	if status := a.run(t.Context(), []string{"version"}); status != exitTool {
		t.Errorf("status %d after a panic that a boundary caught", status)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic(errors.New("no room")) }
