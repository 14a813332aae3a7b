package study

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestInsert(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.md")
	if err := os.WriteFile(path, []byte("head\n"+Part("rows", "old")+"\ntail\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // again gives the same
		if err := Insert(path, "rows", "new\n"); err != nil {
			t.Fatal(err)
		}
		want := "head\n<!-- rows -->\nnew\n<!-- end of rows -->\ntail\n"
		if b, err := os.ReadFile(path); string(b) != want {
			t.Errorf("%q, %v, want %q", b, err, want)
		}
	}
	if err := Insert(path, "others", "new"); err == nil || !strings.Contains(err.Error(), "marks") {
		t.Errorf("without marks: %v", err)
	}
	if b, err := os.ReadFile(path); !strings.Contains(string(b), "\nnew\n") {
		t.Errorf("a page without the marks was changed: %q, %v", b, err)
	}
}

func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.jsonl")
	for _, n := range []int{1, 2} {
		if err := Append(path, n); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(path); string(b) != "1\n2\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// A command runs to its end beside its neighbor; a neighbor that ends before is an error, a status
// is none.
func TestBeside(t *testing.T) {
	script := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tt := range map[string]struct{ neighbor, want string }{
		"none":           {"", ""},
		"stays":          {script("stays", "exec sleep 60"), ""},
		"fails":          {script("fails", "exit 1"), "did not disturb to the end"},
		"does not exist": {filepath.Join(t.TempDir(), "none"), "starting the neighbor"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 0.3; exit 3")
			err := Beside(t.Context(), tt.neighbor, 1, cmd)
			if (err == nil) != (tt.want == "") ||
				err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if err == nil && cmd.ProcessState.ExitCode() != 3 {
				t.Errorf("exit status %d, want 3", cmd.ProcessState.ExitCode())
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Beside(ctx, "", 1, exec.CommandContext(ctx, "sleep", "60")); err == nil {
		t.Error("a command that was not run is no error")
	}
}

// The CPU time of this process grows while it works.
func TestCPU(t *testing.T) {
	began, err := CPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	x, now := 1.0, began
	for i := 0; now < began+0.05 && i < 1000; i++ {
		for range 1_000_000 {
			x = x*1.0000001 + 1
		}
		if now, err = CPU(os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
	if now < began+0.05 || x == 0 {
		t.Errorf("%.2f s before, %.2f s after", began, now)
	}
	if _, err := CPU(1 << 30); err == nil {
		t.Error("a process that is not there has CPU time")
	}
}
