package examples

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/program"
)

// newProxies returns a cluster of proxy and agents alone, which is up in a second. It is down at
// the end of the test.
func newProxies(t *testing.T) *scripted {
	t.Helper()
	needsRoot(t)
	c := newScripted(t)
	c.env = append(c.env, "CLUSTER_ENGINES= ")
	t.Cleanup(c.down)
	return c
}

// made are those of the bridge and the namespaces of the cluster's name that exist.
func (c *scripted) made() []string {
	names, _ := filepath.Glob("/run/netns/" + c.name + "-*")
	bridge, _ := filepath.Glob("/sys/class/net/" + c.name + "0")
	return append(names, bridge...)
}

// tmp makes a directory for those that run.sh makes.
func (c *scripted) tmp() string {
	c.t.Helper()
	dir := filepath.Join(filepath.Dir(c.dir), "tmp")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	return dir
}

// TestLocalExampleBesideAnother has run.sh and up.sh find a cluster of the same network or name,
// which stays whole. At its own end a program goes that nobody wrote down.
func TestLocalExampleBesideAnother(t *testing.T) {
	c := newProxies(t)
	c.must("up.sh")
	networks, programs := c.made(), program.Survivors(c.dir)
	if len(networks) != 4 || len(programs) < 4 {
		t.Fatalf("the cluster has the networks %v and the programs %v", networks, programs)
	}
	other := "CLUSTER_NET=" + c.net[:strings.LastIndex(c.net, ".")] + ".251"
	for _, x := range []struct{ name, env, want string }{
		{"the same network", "CLUSTER_NAME=" + c.name, c.net + ".0/24 is in use here"},
		{"another network and the same name", other, "the name " + c.name + " is in use here"},
	} {
		t.Run(x.name, func(t *testing.T) {
			out, err := c.call("run.sh", "TMPDIR="+c.tmp(), x.env)
			if err == nil || !strings.Contains(out, x.want) ||
				!strings.Contains(out, "CLUSTER_NAME=") {
				t.Errorf("%v, want %q with CLUSTER_NAME in the remedy\n%s", err, x.want, out)
			}
			if left, _ := os.ReadDir(c.tmp()); len(left) > 0 {
				t.Errorf("run.sh leaves %v", left)
			}
			if after := c.made(); fmt.Sprint(after) != fmt.Sprint(networks) {
				t.Errorf("of the networks %v there are %v", networks, after)
			}
			if after := program.Survivors(c.dir); fmt.Sprint(after) != fmt.Sprint(programs) {
				t.Errorf("of the programs %v there are %v", programs, after)
			}
		})
	}
	starting := exec.CommandContext(
		t.Context(),
		"nsenter",
		"--net=/run/netns/"+c.name+"-app1",
		"sleep",
		"300",
	)
	if err := starting.Start(); err != nil {
		t.Fatal(err)
	}
	c.await("the program's network", func() bool {
		out, err := exec.CommandContext(t.Context(), "ip", "netns", "pids", c.name+"-app1").Output()
		return err == nil &&
			bytes.Contains(
				append([]byte("\n"), out...),
				fmt.Appendf(nil, "\n%d\n", starting.Process.Pid),
			)
	})
	c.down()
	_ = starting.Process.Signal(syscall.SIGTERM) // of no effect after SIGKILL
	var status *exec.ExitError
	if err := starting.Wait(); !errors.As(err, &status) ||
		status.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("a program without a file: %v, want SIGKILL by down.sh", err)
	}
	c.gone(c.dir)
}

// TestLocalExampleRefuses has up.sh make nothing under a name that is too long, or in a directory
// with files of others.
func TestLocalExampleRefuses(t *testing.T) {
	c := newProxies(t)
	full := filepath.Join(t.TempDir(), "full")
	if err := os.Mkdir(full, 0o700); err != nil {
		t.Fatal(err)
	}
	letter := filepath.Join(full, "letter")
	if err := os.WriteFile(letter, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ env, want string }{
		{"CLUSTER_NAME=" + c.name + "x", "want 6 letters or digits at most"},
		{"CLUSTER=" + full, full + " has letter in it"},
	} {
		if out, err := c.call("up.sh", x.env); err == nil || !strings.Contains(out, x.want) {
			t.Errorf("%s: %v, want %q\n%s", x.env, err, x.want, out)
		}
		if networks := c.made(); len(networks) > 0 {
			t.Errorf("%s: %v", x.env, networks)
		}
	}
	_, err := os.Stat(letter)
	info, _ := os.Stat(full)
	if list, _ := os.ReadDir(full); err != nil || info.Mode().Perm() != 0o700 || len(list) != 1 {
		t.Errorf("the directory: %v, %v, %v", err, info.Mode(), list)
	}
}

// TestLocalExampleStop has a program end that outlives SIGKILL, as in a system call that does not
// return: stop does not succeed, nor forgets it, also where it is a condition.
func TestLocalExampleStop(t *testing.T) {
	dir := t.TempDir()
	writeText(t, filepath.Join(dir, "db.pid"), "1\n")
	const script = `set -eu
. external/local/cluster.sh
runs() { return 0; }
kill() { echo "$@"; }
sleep() { :; }
stop db || echo goes on`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), "CLUSTER="+dir)
	out, err := cmd.Output()
	if want := "-s TERM 1\n-s KILL 1\ngoes on\n"; err != nil || string(out) != want {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "db.pid")); err != nil {
		t.Errorf("the program is forgotten: %v", err)
	}
}

// TestLocalExampleZombie has a program end whose parent does not wait for it, as in a container
// without an init: it has ended.
func TestLocalExampleZombie(t *testing.T) {
	child := exec.CommandContext(t.Context(), "sleep", "300")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const script = `set -eu
. external/local/cluster.sh
cut -d ' ' -f 22 "/proc/$1/stat" >"$CLUSTER/db.since"
echo "$1" >"$CLUSTER/db.pid"
runs db "$1"
sleep() { :; }
stop db`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", fmt.Sprint(child.Process.Pid))
	cmd.Env = append(os.Environ(), "CLUSTER="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
}

// TestLocalExampleInterrupted ends run.sh in the middle by SIGTERM: nothing is left, and a
// comparison that goes on has written its records before.
func TestLocalExampleInterrupted(t *testing.T) {
	for _, x := range []struct {
		name, at, want string
		group          bool // the signal goes to all, as one of a terminal does
		status         int
	}{
		{"while up.sh runs", "*/proxy.pid", "", true, 143},
		{"while the comparison runs", "*/compares", "recorded", false, 6},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := newProxies(t)
			plimsoll, err := program.Build()
			if err != nil {
				t.Fatal(err)
			}
			wrapper, tmp := filepath.Join(filepath.Dir(c.dir), "program"), c.tmp()
			script := `#!/bin/sh
[ "$1" = compare ] || exec ` + plimsoll + ` "$@"
trap 'sleep 0.2; echo recorded; exit 6' TERM
: >"$CLUSTER/compares"
while :; do sleep 0.05; done
`
			if err := os.WriteFile(wrapper, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd := exec.CommandContext(t.Context(), "external/local/run.sh")
			cmd.Env = append(c.env, "PROGRAM="+wrapper, "TMPDIR="+tmp)
			cmd.Stdout = &out
			cmd.Stderr = &out
			cmd.WaitDelay = time.Second
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			c.await(x.at, func() bool {
				names, _ := filepath.Glob(filepath.Join(tmp, x.at))
				return len(names) > 0
			})
			pid := cmd.Process.Pid
			if x.group {
				pid = -pid
			}
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if got := cmd.ProcessState.ExitCode(); got != x.status ||
				!strings.Contains(out.String(), x.want) {
				t.Errorf("status %d, want %d and %q\n%s", got, x.status, x.want, out.String())
			}
			_ = os.Remove(tmp) // unless there is something in it
			c.gone(tmp)
		})
	}
}
