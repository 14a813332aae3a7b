package lab

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/failure"
)

func TestFreePorts(t *testing.T) {
	first, err := FreePorts(8)
	failure.None(t, err)
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	failure.None(t, err)
	var lo, hi int
	failure.None(t, failure.Of(fmt.Sscan(string(b), &lo, &hi)))
	for p := first; p < first+8; p++ {
		if p >= lo && p <= hi {
			t.Errorf(
				"port %d is one that the kernel gives to outgoing connections (%d to %d)",
				p,
				lo,
				hi,
			)
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p))
		if err != nil {
			t.Errorf("port %d is not free: %v", p, err)
			continue
		}
		defer l.Close()
		if got := freeRun(p, 1); got != 0 {
			t.Errorf("port %d counts as free while it is in use", p)
		}
	}
	for _, n := range []int{0, -1, 5000} {
		if _, err := FreePorts(n); err == nil {
			t.Errorf("FreePorts(%d) found some", n)
		}
	}
}

func TestParseCPUList(t *testing.T) {
	tests := []struct {
		in   string
		want []int
		err  bool
	}{
		{"0", []int{0}, false},
		{"0-1", []int{0, 1}, false},
		{"0-2,5,7-8", []int{0, 1, 2, 5, 7, 8}, false},
		{"", nil, true},
		{"2-1", nil, true},
		{"a", nil, true},
	}
	for _, tt := range tests {
		got, err := ParseCPUs(tt.in)
		if !slices.Equal(got, tt.want) || (err != nil) != tt.err {
			t.Errorf("ParseCPUs(%q) = %v, %v", tt.in, got, err)
		}
	}
}

func TestReachable(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b")
	failure.None(t, os.MkdirAll(inner, 0o755))
	closed := filepath.Join(dir, "a")
	failure.None(t, os.Chmod(closed, 0o700))
	if reachable(inner, 12345) {
		t.Error("a stranger reaches a directory below one of mode 0700")
	}
	if !reachable("/usr/bin", 12345) {
		t.Error("a stranger does not reach /usr/bin")
	}
	if reachable(filepath.Join(dir, "none"), 12345) {
		t.Error("a directory that is not there is reached")
	}
	failure.Says(t, Reachable(inner, 12345), inner)
}

func TestPrivateDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	got, err := PrivateDir(dir, 0)
	if err != nil || got != dir {
		t.Errorf("PrivateDir for ourselves = %q, %v, want %q", got, err, dir)
	}
	if os.Geteuid() != 0 {
		return // only root runs programs as another user
	}
	failure.None(t, os.Chmod(filepath.Dir(dir), 0o700))
	other, err := PrivateDir(dir, 65534)
	failure.None(t, err)
	if other == dir || !reachable(other, 65534) {
		t.Errorf("PrivateDir for nobody = %q, which nobody cannot reach", other)
	}
	if link, err := os.Readlink(filepath.Join(dir, "elsewhere")); err != nil || link != other {
		t.Errorf("the link leads to %q (%v), want %q", link, err, other)
	}
	if again, err := PrivateDir(dir, 65534); err != nil || again != other {
		t.Errorf("the second call gives %q (%v), want %q", again, err, other)
	}
	moved := dir + "-moved"
	failure.None(t, os.Rename(dir, moved))
	if now, err := PrivateDir(moved, 65534); err != nil || now == other {
		t.Errorf("after a move: %q, %v", now, err)
	} else if to, ok := Elsewhere(moved); !ok || to != now {
		t.Errorf("after a move the link leads to %q, want %q", to, now)
	} else if to, ok := StandIn(moved); !ok || to != now {
		t.Errorf("after a move %q stands for it, want %q", to, now)
	}
	other, _ = Elsewhere(moved)
	dir = moved
	failure.None(t, os.RemoveAll(dir))
	sweepPrivate()
	failure.Gone(t, other)
}

func TestSocketDir(t *testing.T) {
	short := t.TempDir()
	got, err := SocketDir(short, 0, 0)
	failure.None(t, err)
	defer os.RemoveAll(got)
	if st, err := os.Stat(got); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%s: %v, %v, want mode 0700", got, st.Mode(), err)
	}
	long := filepath.Join(short, strings.Repeat("long/", 20))
	failure.None(t, os.MkdirAll(long, 0o755))
	got, err = SocketDir(long, 0, 0)
	failure.None(t, err)
	defer os.RemoveAll(got)
	if len(got) > maxSocketDir {
		t.Errorf("%s is too long for a socket", got)
	}
	l, err := net.Listen("unix", filepath.Join(got, ".s.PGSQL.12345"))
	failure.None(t, err)
	l.Close()
}
