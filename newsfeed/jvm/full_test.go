//go:build full

package jvm

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/newsfeed/await"
	"plimsoll/target/lab"
)

// The tests of this file run the real servers: Java 17 and mvn are needed, and the network the
// first time. make test-full runs them.

// patience bounds one server's whole test; a download is in it the first time.
const patience = 12 * time.Minute

var starts = map[string]struct {
	start    func(context.Context, Config) (*Server, error)
	title    string
	version  string
	settings map[string]string // that the server must report
}{
	"cassandra": {StartCassandra, "Cassandra", "5.0.4", map[string]string{
		"commitlog_sync": "periodic",
		"heap":           "512MiB",
	}},
	"opensearch": {StartOpenSearch, "OpenSearch", "2.19.2", map[string]string{"heap": "384MiB"}},
	"kafka": {StartKafka, "Kafka", "3.9.1", map[string]string{
		"log.flush.interval.messages": "9223372036854775807",
		"heap":                        "256MiB",
	}},
}

// TestMain lets the test binary play the program that is killed: see TestFullDiesWithItsProgram.
func TestMain(m *testing.M) {
	if dir := os.Getenv("JVM_TEST_PARENT"); dir != "" {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		s, err := StartKafka(ctx, Config{Dir: dir})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.PIDs()[0])
		<-ctx.Done()
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// TestFullServers starts each server, reads its description, kills it, starts it again on its data
// and port, and stops it.
func TestFullServers(t *testing.T) {
	for _, name := range []string{"cassandra", "opensearch", "kafka"} {
		t.Run(name, func(t *testing.T) {
			want := starts[name]
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			conf := Config{Dir: t.TempDir()}
			began := time.Now()
			s, err := want.start(ctx, conf)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Kill() }()
			first := time.Since(began)
			d, err := s.Describe(ctx)
			if err != nil || d.Name != want.title || d.Version != want.version {
				t.Errorf(
					"it says it is %s %s, %v; want %s %s",
					d.Name,
					d.Version,
					err,
					want.title,
					want.version,
				)
			}
			for k, v := range want.settings {
				if d.Settings[k] != v {
					t.Errorf("its %s is %q, want %q; it tells %v", k, d.Settings[k], v, d.Settings)
				}
			}
			if _, err := want.start(ctx, conf); err == nil ||
				!strings.Contains(err.Error(), "in use") {
				t.Errorf("a second server on the same directory: %v", err)
			}
			resident := memory(t, s.PIDs()[0])
			if err := s.Kill(); err != nil || len(s.PIDs()) != 0 {
				t.Fatalf("killing: %v, processes %v", err, s.PIDs())
			}
			conf.Port = s.port
			began = time.Now()
			again, err := want.start(ctx, conf)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = again.Kill() }()
			t.Logf(
				"start %v, after a kill %v, resident %d MiB at rest, %v",
				first.Round(time.Millisecond),
				time.Since(began).Round(time.Millisecond),
				resident,
				d.Settings,
			)
			if again.Addr() != s.Addr() {
				t.Errorf("it is at %s now, and was at %s", again.Addr(), s.Addr())
			}
			began = time.Now()
			if err := again.Stop(ctx); err != nil || len(again.PIDs()) != 0 || await.Listener(ctx, again.Addr()) == nil {
				t.Errorf("stopping: %v, processes %v", err, again.PIDs())
			}
			t.Logf("stop %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// memory is the resident memory of a process in MiB.
func memory(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib >> 10
}

// TestFullBadSetting: the server's own words reach the caller, and nothing runs.
func TestFullBadSetting(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, wrong := range map[string]string{
		"cassandra":  "commitlog_sync",
		"opensearch": "http.port",
		"kafka":      "node.id",
	} {
		dir := t.TempDir()
		_, err := starts[name].start(ctx, Config{
			Dir:      dir,
			Settings: map[string]string{wrong: "nonsense"},
		})
		if err == nil || !strings.Contains(err.Error(), "nonsense") {
			t.Errorf("%s: %v: want an error with the server's own words", name, err)
		}
		if left, err := lab.Leftovers(filepath.Join(dir, name+".journal")); err != nil ||
			len(left) != 0 {
			t.Errorf("%s: %v still runs, %v", name, left, err)
		}
	}
}

// TestFullDiesWithItsProgram kills a program with SIGKILL: its server goes with it, and the next
// start on the directory works.
func TestFullDiesWithItsProgram(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "JVM_TEST_PARENT="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the program says %q", line)
	}
	id, err := lab.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(20 * time.Second); id.Alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d survived the program that started it", pid)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s, err := StartKafka(ctx, Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(ctx); err != nil {
		t.Error(err)
	}
}
