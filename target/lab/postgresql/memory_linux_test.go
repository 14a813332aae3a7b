package postgresql_test

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/failure"
	"plimsoll/target/lab/postgresql"
)

// TestMain lets the test binary play the program that is killed while its server starts.
func TestMain(m *testing.M) {
	if dir := os.Getenv("POSTGRESQL_TEST_STATE"); dir != "" {
		_, _ = postgresql.Start(context.Background(), postgresql.Config{Dir: dir})
		select {}
	}
	os.Exit(m.Run())
}

// Mapped files of /dev/shm and System V segments; the inode of such a segment is its id.
var (
	shmFile    = regexp.MustCompile(`(?m) (/dev/shm/PostgreSQL\.\d+)$`)
	shmSegment = regexp.MustCompile(`(?m) (\d+) +/SYSV[0-9a-f]{8}`)
)

// memory is the shared memory of a server.
type memory struct{ files, segments []string }

// memoryBelow waits until a process that works below dir has shared memory of both kinds.
func memoryBelow(t *testing.T, dir string) (m memory) {
	t.Helper()
	failure.Unless(t, func() bool {
		all, err := filepath.Glob("/proc/[0-9]*")
		failure.None(t, err)
		for _, p := range all {
			if at, err := os.Readlink(p + "/cwd"); err != nil || !strings.HasPrefix(at, dir+"/") {
				continue
			}
			maps, _ := os.ReadFile(p + "/maps") // one that has ended has none
			m = memory{found(shmFile, maps), found(shmSegment, maps)}
			if len(m.files) > 0 && len(m.segments) > 0 {
				return true
			}
		}
		return false
	}, "no process with shared memory")
	return m
}

func found(re *regexp.Regexp, maps []byte) (names []string) {
	for _, m := range re.FindAllSubmatch(maps, -1) {
		names = append(names, string(m[1]))
	}
	return names
}

// left returns the memory that still exists.
func (m memory) left(t *testing.T) (names []string) {
	t.Helper()
	for _, f := range m.files {
		if _, err := os.Stat(f); err == nil {
			names = append(names, f)
		}
	}
	all, err := os.ReadFile("/proc/sysvipc/shm")
	failure.None(t, err)
	for line := range strings.Lines(string(all)) {
		for _, id := range m.segments {
			if f := strings.Fields(line); len(f) > 1 && f[1] == id {
				names = append(names, "segment "+id)
			}
		}
	}
	return names
}

// reachableDir returns a directory that the server's user can enter, as the server names it.
func reachableDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	failure.None(t, err)
	for at := dir; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		failure.None(t, os.Chmod(at, 0o711))
	}
	return dir
}

// A program that is killed while initdb runs leaves nothing: the guard removes its memory.
func TestKilledProgramLeavesNoSharedMemory(t *testing.T) {
	dir := reachableDir(t)
	program := osexec.Command(os.Args[0])
	program.Env = append(os.Environ(), "POSTGRESQL_TEST_STATE="+dir)
	failure.None(t, program.Start())
	m := memoryBelow(t, dir)
	failure.None(t, program.Process.Kill())
	_ = program.Wait()
	failure.Unless(t, func() bool { return len(m.left(t)) == 0 }, "shared memory is left")
}

// A start that is canceled while initdb runs leaves nothing.
func TestCanceledStartLeavesNoSharedMemory(t *testing.T) {
	dir := reachableDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := postgresql.Start(ctx, postgresql.Config{Dir: dir})
		ended <- err
	}()
	m := memoryBelow(t, dir)
	cancel()
	failure.Says(t, <-ended, "canceled")
	if left := m.left(t); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// A server takes its shared memory with it, however it ends; no other program could distinguish the
// remains from a living server's.
func TestServerLeavesNoSharedMemory(t *testing.T) {
	kill := func(t *testing.T, s *postgresql.Server) {
		failure.None(t, syscall.Kill(s.PIDs()[0], syscall.SIGKILL))
	}
	for name, end := range map[string]func(t *testing.T, ctx context.Context, s *postgresql.Server){
		"killed and stopped": func(t *testing.T, ctx context.Context, s *postgresql.Server) {
			kill(t, s)
			failure.None(t, s.Stop(ctx))
		},
		"killed and restored": func(t *testing.T, ctx context.Context, s *postgresql.Server) {
			kill(t, s)
			<-s.Done()
			failure.None(t, s.Restore(ctx, "chat"))
		},
		"ended at once": func(t *testing.T, ctx context.Context, s *postgresql.Server) {
			ended, cancel := context.WithCancel(ctx)
			cancel()
			failure.None(t, s.Stop(ended))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, s := startServer(t, postgresql.Config{Dir: t.TempDir()})
			failure.None(t, errors.Join(s.CreateDatabase(ctx, "chat"), s.Snapshot(ctx, "chat")))
			m := memory{files: sharedMemory(t, s.PIDs()[0])}
			end(t, ctx, s)
			if left := m.left(t); len(left) > 0 {
				t.Errorf("%v are left", left)
			}
		})
	}
}
