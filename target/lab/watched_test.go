package lab_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

// listener starts a child whose standard input is written here.
func listener(t *testing.T, spec lab.Spec) (*lab.Process, *os.File) {
	t.Helper()
	in, say, err := os.Pipe()
	failure.None(t, err)
	defer in.Close()
	spec.Stdin = in
	return start(t, spec), say
}

// prints waits for a text in the output of a child.
func prints(t *testing.T, p *lab.Process, text string) {
	t.Helper()
	failure.Unless(t, func() bool {
		return strings.Contains(p.Tail(), text)
	}, "it does not print ", text)
}

// A program that ends by itself is a crash, however it ends; one that is stopped is not followed
// any more by then.
func TestTheEndOfAProgramIsACrash(t *testing.T) {
	for _, tt := range []struct{ name, script, what, line string }{
		{"by a status", "read x; echo sorry; exit 3", "exit status 3", "sorry"},
		{"by itself", "read x; echo bye; exit 0", "it ended by itself, with status 0", "bye"},
		{"by a signal", "read x; kill -9 $$", "signal: killed", ""},
		{"by a panic", "read x; echo 'panic: boom'; echo 'goroutine 1 [running]:'; exit 2", "exit status 2", "panic: boom"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log, err := os.Create(filepath.Join(t.TempDir(), "log"))
			failure.None(t, err)
			defer log.Close()
			spec := shell(tt.script)
			spec.Stdout, spec.Stderr = log, log
			p, say := listener(t, spec)
			w := p.Watched()
			w.Role, w.Name = "app", "app-0"
			c := lab.FollowCrashes([]lab.Watched{w})
			if fresh := c.Look(time.Now(), false); len(fresh) != 0 {
				t.Fatalf("of a program that runs: %v", fresh)
			}
			failure.None(t, failure.Of(say.WriteString("x\n")))
			_ = say.Close()
			waitDone(t, p)
			c.Look(time.Now(), false)
			c.Look(time.Now(), true)
			kept, _ := c.All()
			x := kept[len(kept)-1] // after the panic's own line
			if !strings.Contains(x.What, tt.what) || x.Line != tt.line || x.Role != "app" ||
				x.Name != "app-0" ||
				x.Times != 1 {
				t.Errorf("%+v, want %q with %q", x, tt.what, tt.line)
			}
			if n := len(kept); n != 1 && (tt.name != "by a panic" || n != 2) {
				t.Errorf("%d crashes: %v", n, kept)
			}
		})
	}
}

// A program without a log file is followed by the last that it printed.
func TestASignInTheOutputOfAProgramWithoutALog(t *testing.T) {
	p, say := listener(
		t,
		shell("echo 'panic: of before'; while read x; do echo \"$x\"; done; sleep 300"),
	)
	prints(t, p, "of before")
	c := lab.FollowCrashes([]lab.Watched{p.Watched()})
	if fresh := c.Look(time.Now(), false); len(fresh) != 0 {
		t.Errorf("of what was printed before: %v", fresh)
	}
	// The tail is bounded: older lines are dropped.
	failure.None(t, failure.Of(say.WriteString(
		strings.Repeat(
			strings.Repeat("x", 99)+"\n",
			200,
		)+"store: panic serving 127.0.0.1:9: odd frame\n",
	)))
	prints(t, p, "odd frame")
	for range 3 {
		c.Look(time.Now(), false)
	}
	_ = say.Close()
	if kept, _ := c.All(); len(kept) != 1 || kept[0].Times != 1 ||
		kept[0].Line != "store: panic serving 127.0.0.1:9: odd frame" {
		t.Errorf("%+v", kept)
	}
}

// A sign that was printed before, in another run of the same process, hides no later one.
func TestASignBesideAnOlderOne(t *testing.T) {
	p, say := listener(t, shell("while read x; do echo \"$x\"; done"))
	defer say.Close()
	for n := range 4 {
		c := lab.FollowCrashes([]lab.Watched{p.Watched()})
		if fresh := c.Look(time.Now(), false); len(fresh) != 0 {
			t.Errorf("of the runs before: %v", fresh)
		}
		line := fmt.Sprintf("1:00:0%d [alert] 7#7: worker process 1%d exited on signal 11", n, n)
		failure.None(t, failure.Of(say.WriteString(line+"\n")))
		prints(t, p, line)
		if fresh := c.Look(time.Now(), true); len(fresh) != 1 || fresh[0].Line != line {
			t.Errorf("run %d: %v, want %q", n, fresh, line)
		}
	}
}

// A server that goes on with other processes than it had before has lost them; one whose helper has
// ended has not.
func TestChildrenStartedAnewAreACrash(t *testing.T) {
	for _, tt := range []struct {
		name string
		kill int // of the two children
		want int
	}{{"one of two", 1, 0}, {"both", 2, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			p, out := talker(
				t,
				shell("sleep 300 & echo $!; sleep 300 & echo $!; wait; wait; sleep 300"),
			)
			var pids [2]int
			failure.None(t, failure.Of(fmt.Fscan(out, &pids[0], &pids[1])))
			if _, err := os.Stat("/proc/self/task/" + strconv.Itoa(os.Getpid()) + "/children"); err != nil {
				failure.Lacks(t, "this kernel does not list children")
			}
			c := lab.FollowCrashes([]lab.Watched{p.Watched()})
			later := time.Now().Add(time.Minute)
			if fresh := c.Look(later, false); len(fresh) != 0 { // settles
				t.Fatal(fresh)
			}
			for _, pid := range pids[:tt.kill] {
				id := identify(t, pid)
				failure.None(t, syscall.Kill(pid, syscall.SIGKILL))
				gone(t, id)
			}
			for range 2 {
				c.Look(later, false)
			}
			if kept, _ := c.All(); len(kept) != tt.want {
				t.Errorf("%v, want %d", kept, tt.want)
			}
		})
	}
}
