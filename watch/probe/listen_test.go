package probe

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// socketsOf is a /proc/net of one listening socket at 127.0.0.1:8065 and one at [::]:8066, in the
// byte order of the common platforms.
const (
	tcpTable = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F81 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 71 1 0000000000000000 100 0 0 10 0
   1: 00000000:1F81 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 74 1 0000000000000000 100 0 0 10 0
   2: 0100007F:1F81 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 72 1 0000000000000000 20 4 30 10 -1
`
	tcp6Table = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F82 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 73 1 0000000000000000 100 0 0 10 0
`
)

// A listening socket leads to the first process that has it open: not to its workers, nor to a
// socket of another address, and to none where it is this program's own or may not be seen.
func TestListeners(t *testing.T) {
	f := newFake(t)
	for pid, parent := range map[int]int{
		1:  0,
		10: 1,
		11: 10,
		12: 10,
		20: 1,
		21: 20,
		30: 1,
		31: 30,
	} {
		f.set(pid, fakeProc{ppid: parent, threads: 1})
	}
	for pid, inode := range map[int]string{
		1:  "71",
		10: "71",
		11: "71",
		12: "71",
		20: "74",
		31: "73",
		30: "72",
	} {
		failure.None(
			t,
			os.Symlink("socket:["+inode+"]", filepath.Join(f.dir, strconv.Itoa(pid), "fd", "5")),
		)
	}
	failure.None(t, os.Mkdir(filepath.Join(f.dir, "net"), 0o777))
	f.write(filepath.Join(f.dir, "net", "tcp"), tcpTable)
	f.write(filepath.Join(f.dir, "net", "tcp6"), tcp6Table)
	for _, tt := range []struct {
		at      string
		self    int
		pids    []int
		listens bool
	}{
		{"127.0.0.1:8065", 99, []int{10}, true},
		{"10.0.0.1:8065", 99, []int{20}, true},
		{"10.0.0.1:8065", 21, nil, true},
		{"[::1]:8065", 99, nil, false},
		{"127.0.0.1:8066", 99, []int{31}, true},
		{"[::1]:8066", 99, []int{31}, true},
		{"127.0.0.1:8067", 99, nil, false},
	} {
		pids, listens, err := listeners(f.dir, tt.self, netip.MustParseAddrPort(tt.at))
		if err != nil || !slices.Equal(pids, tt.pids) || listens != tt.listens {
			t.Errorf("%s: %v, %v, %v; want %v, %v", tt.at, pids, listens, err, tt.pids, tt.listens)
		}
	}
}

// A process with a connection to a server of this host has it as a callee.
func TestCallees(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	failure.None(t, err)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	failure.None(t, err)
	defer c.Close()
	at := netip.MustParseAddrPort(l.Addr().String())
	to, err := Callees([]int{os.Getpid()})
	if err != nil || !slices.Contains(to, at) {
		t.Errorf("callees: %v, %v; want %v among them", to, err, at)
	}
	if pids, listens, err := Listeners(at); len(pids) > 0 || !listens || err != nil {
		t.Errorf("this process listens itself: %v, %v, %v", pids, listens, err)
	}
}

// The processes beside a run are named with the cores that they use, and neither this program nor
// the target is among them.
func TestNeighbors(t *testing.T) {
	f := newFake(t)
	f.set(1, fakeProc{comm: "init", threads: 1})
	f.set(10, fakeProc{ppid: 1, comm: "app", threads: 1})
	f.set(11, fakeProc{ppid: 10, comm: "worker", threads: 1})
	f.set(20, fakeProc{ppid: 1, comm: "cc1", threads: 1})
	f.set(21, fakeProc{ppid: 1, comm: "cc1", threads: 1})
	f.set(30, fakeProc{ppid: 1, comm: "idle", threads: 1})
	p := NewNeighbors(func() []int { return []int{10} })
	p.proc = f.dir
	t0 := time.Unix(100, 0)
	failure.None(t, failure.Of(p.Sample(t.Context(), t0)))
	for pid, ticks := range map[int]int{11: 400, 20: 300, 21: 100, 30: 1} {
		comm := map[int]string{11: "worker", 20: "cc1", 21: "cc1", 30: "idle"}[pid]
		parent := 1
		if pid == 11 {
			parent = 10
		}
		f.set(pid, fakeProc{ppid: parent, comm: comm, user: ticks, threads: 1})
	}
	for i := 1; i < neighborsEvery; i++ {
		if got, err := p.Sample(t.Context(), t0.Add(time.Duration(i)*time.Second)); err != nil ||
			len(got) > 0 {
			t.Fatalf("sample %d: %v, %v", i, got, err)
		}
	}
	got, err := p.Sample(t.Context(), t0.Add(5*time.Second))
	if err != nil || len(got) != 1 || got[0].Labels[0].Value != "cc1" || got[0].Value != 0.8 {
		t.Errorf("neighbors: %v, %v; want cc1 with 0.8 cores", got, err)
	}
}

// A family is a process with all that it started.
func TestFamily(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "sleep 60 & wait")
	failure.None(t, cmd.Start())
	defer func() {
		all, _ := Family([]int{cmd.Process.Pid})
		for _, pid := range all {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
		}
		_ = cmd.Wait()
	}()
	failure.Unless(t, func() bool {
		all, err := Family([]int{cmd.Process.Pid})
		return err == nil && len(all) == 2
	}, "the family of the shell does not become two")
}
