package verbs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/files"
	"plimsoll/plan"
	"plimsoll/rig"
	"plimsoll/run/record"
)

// irregular returns paths that are not regular files, with the words for them.
func irregular(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{"/dev/zero": "a device", link: "a device", pipe: "a named pipe", dir: "a directory"}
	socket := filepath.Join(dir, "s")
	if l, err := net.Listen("unix", socket); err == nil { // below a directory with a long name there can be none
		t.Cleanup(func() { _ = l.Close() })
		paths[socket] = "a socket"
	}
	return paths
}

// TestInputsAreRegularFiles: each input that a person or a plan names is a regular file; a device without end is not
// read and a pipe without a writer is not waited for. The error has the place.
func TestInputsAreRegularFiles(t *testing.T) {
	dir := t.TempDir()
	for path, kind := range irregular(t) {
		want := path + " is " + kind + "; want a regular file"
		file := func(text string) string {
			name := filepath.Join(dir, "plan.yaml")
			if err := os.WriteFile(name, []byte("name: n\ntarget: {driver: external, url: \"http://127.0.0.1:9\"}\nbounded: {users: 5}\n"+text), 0o600); err != nil {
				t.Fatal(err)
			}
			return name
		}
		mix := file(fmt.Sprintf("workload: {behavior: mattermost, mix: %q}\n", path))
		for name, c := range map[string]struct {
			args []string
			want string
		}{
			"plan":    {[]string{"plan", "check", path}, want + ", or - for standard input"},
			"mix":     {[]string{"plan", "check", mix}, "workload.mix: " + want},
			"weights": {[]string{"plan", "mix", "-file", path}, want},
		} {
			if status, _, errs := ranWith(t, c.args...); status != rig.ExitUsage || !strings.Contains(errs, c.want) {
				t.Errorf("%s of %s: status %d, %s; want %q", name, kind, status, errs, c.want)
			}
		}
		if _, err := rig.ReadSpec(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a spec: %v, want %q", err, want)
		}
		s := &rig.Program{Env: func(string) string { return "" }}
		if _, err := s.Lookup("FILE", path); err == nil || err.Error() != want {
			t.Errorf("a reference: %v, want %q", err, want)
		}
	}
}

// TestPipesAreNotWaitedFor: each file that a command line names is a regular file. Another kind is an error, at once,
// with the accepted kind.
func TestPipesAreNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, kind := range irregular(t) {
		want := path + " is " + kind + "; want a regular file"
		probes := []string{"agent", "-join=nats://127.0.0.1:1", "-role=db", "-token-file=" + token}
		for name, args := range map[string][]string{
			"numbers":         {"judge", path},
			"numbers of arms": {"judge", "-base", path, "-new", path},
			"report":          {"report", path},
			"trend":           {"report", "trend", path},
			"import":          {"data", "verify", path},
			"administrator":   {"target", "verify", "-token-file", path, "http://127.0.0.1:9"},
			"process":         append(probes, "-pid", "db="+path),
			"token":           {"agent", "-join=nats://127.0.0.1:1", "-role=db", "-token-file", path},
		} {
			switch {
			case name == "import":
				link := filepath.Join(dir, strings.ReplaceAll(kind, " ", "-")+".jsonl")
				if err := os.Symlink(path, link); err != nil && !errors.Is(err, os.ErrExist) {
					t.Fatal(err)
				}
				args, want := append(args[:2:2], link), link+" is "+kind
				stops(t, name+" of "+kind, args, want)
			case kind == "a directory" && (args[0] == "judge" || args[0] == "report"): // it may be a store
			default:
				stops(t, name+" of "+kind, args, want)
			}
		}
	}
}

// stops holds that a command ends as bad usage, with want in its error. It must not wait for a pipe: then the test
// ends.
func stops(t *testing.T, name string, args []string, want string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, env: func(string) string { return "" }}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan int, 1)
	go func() { done <- a.run(ctx, args) }()
	select {
	case status := <-done:
		if status != rig.ExitUsage || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), want) != 1 {
			t.Errorf("%s: status %d, %s; want %q once", name, status, &errs, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: it waits", name)
	}
}

// TestStoredPipesAreNotWaitedFor: a store from another user may hold anything in the place of a run's files.
func TestStoredPipesAreNotWaitedFor(t *testing.T) {
	for _, file := range []string{record.ManifestFile, record.ValidityFile, record.WindowsFile, record.EventsFile} {
		root := t.TempDir()
		dir := filepath.Join(root, "runs", "r1")
		if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		w, err := record.Create(dir, record.Manifest{ID: "r1"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Seal(t.Context(), record.Validity{Valid: true}, ""); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, file)
		if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"ls", "-store", root}, {"show", "-store", root, "r1"}} {
			var out, errs bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, env: func(string) string { return "" }}
			done := make(chan int, 1)
			go func() { done <- a.run(t.Context(), args) }()
			select {
			case status := <-done:
				if strings.Contains(out.String(), "sealed, valid") {
					t.Errorf("%s of a run whose %s is a pipe: status %d\n%s%s", args[0], file, status, &out, &errs)
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("%s of a run whose %s is a pipe: it waits", args[0], file)
			}
		}
	}
}

// TestInputsAreBounded: a file that is too large is refused whole, regardless of its nominal size, and standard input
// is not cut off.
func TestInputsAreBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, bytes.Repeat([]byte("#"), 101), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := files.Read(name, 101); err != nil || len(b) != 101 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := files.Read(name, 100); !errors.Is(err, files.ErrTooLarge) || !strings.Contains(err.Error(), name+": too large: more than 100 bytes") {
		t.Errorf("error %v", err)
	}
	if b, err := files.Read("/proc/self/status", rig.MaxSmall); err != nil || len(b) == 0 {
		t.Errorf("a file that says it is empty: %d bytes, %v", len(b), err)
	}
	var errs bytes.Buffer
	a := &app{stdin: strings.NewReader("# " + strings.Repeat("x", plan.MaxSource)), stdout: &errs, stderr: &errs, env: func(string) string { return "" }}
	if status := a.run(t.Context(), []string{"plan", "check", "-"}); status != rig.ExitUsage || !strings.Contains(errs.String(), "standard input is larger than 1048576 bytes") {
		t.Errorf("status %d: %s", status, &errs)
	}
	s := a.program()
	if _, err := s.Resolve(plan.Target{}, plan.Workload{Params: map[string]string{"admin_password": "${FILE:/dev/zero}"}}); err == nil || !strings.Contains(err.Error(), "workload.params.admin_password: ") {
		t.Errorf("a secret that cannot be read: %v", err)
	}
}
