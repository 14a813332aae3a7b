package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"plimsoll/plan"
)

// irregular returns paths that are no regular files, with the words for them.
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

// TestInputsAreRegularFiles: whatever a person or a plan names is a regular file; a device without end is not read and a pipe that nobody writes is not
// waited for. The error has the place.
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
			var out, errs bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &out, stderr: &errs, env: func(string) string { return "" }}
			if status := a.run(t.Context(), c.args); status != exitUsage || !strings.Contains(errs.String(), c.want) {
				t.Errorf("%s of %s: status %d, %s; want %q", name, kind, status, &errs, c.want)
			}
		}
		if _, err := readSpec(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a spec: %v, want %q", err, want)
		}
		s := &session{app: &app{env: func(string) string { return "" }}}
		if _, err := s.lookup("FILE", path); err == nil || err.Error() != want {
			t.Errorf("a reference: %v, want %q", err, want)
		}
	}
}

// TestInputsAreBounded: a file that is too large is refused whole, whatever size it says it has, and standard input is not cut off.
func TestInputsAreBounded(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, bytes.Repeat([]byte("#"), 101), 0o600); err != nil {
		t.Fatal(err)
	}
	if b, err := readRegular(name, 101); err != nil || len(b) != 101 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if _, err := readRegular(name, 100); !errors.Is(err, errTooLarge) || !strings.Contains(err.Error(), name+": too large: more than 100 bytes") {
		t.Errorf("error %v", err)
	}
	if b, err := readRegular("/proc/self/status", maxSmall); err != nil || len(b) == 0 {
		t.Errorf("a file that says it is empty: %d bytes, %v", len(b), err)
	}
	var errs bytes.Buffer
	a := &app{stdin: strings.NewReader("# " + strings.Repeat("x", plan.MaxSource)), stdout: &errs, stderr: &errs, env: func(string) string { return "" }}
	if status := a.run(t.Context(), []string{"plan", "check", "-"}); status != exitUsage || !strings.Contains(errs.String(), "standard input is larger than 1048576 bytes") {
		t.Errorf("status %d: %s", status, &errs)
	}
	s := &session{app: a}
	if _, err := s.resolve(plan.Target{}, plan.Workload{Params: map[string]string{"admin_password": "${FILE:/dev/zero}"}}); err == nil || !strings.Contains(err.Error(), "workload.params.admin_password: ") {
		t.Errorf("a secret that cannot be read: %v", err)
	}
}
