package netns

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/failure"
	"plimsoll/target/lab"
)

// TestMain lets the test binary play a server: see answer.
func TestMain(m *testing.M) {
	if addr := os.Getenv("NETNS_TEST_SERVER"); addr != "" {
		answer(addr)
		return
	}
	if path := os.Getenv("NETNS_TEST_DO"); path != "" {
		os.Exit(enterOften(path))
	}
	os.Exit(m.Run())
}

// answer serves connections one after another. It sends each its source address, or, on request of
// an address, the answer of the server there.
func answer(addr string) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("listening")
	for {
		c, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		line, _ := bufio.NewReader(c).ReadString('\n')
		if to := strings.TrimSpace(line); to != "" {
			said, err := ask(to, "")
			fmt.Fprintln(c, said, err)
		} else {
			host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
			fmt.Fprintln(c, host)
		}
		c.Close()
	}
}

func ask(addr, what string) (string, error) {
	c, err := net.DialTimeout("tcp", addr, time.Minute)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintln(c, what)
	line, err := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line), err
}

// TestNetwork runs in a network of its own, so that the one that it came from keeps its devices and
// routes.
func TestNetwork(t *testing.T) {
	for _, bridged := range []string{"false", "true"} {
		t.Run("bridged "+bridged, func(t *testing.T) {
			inOwnNetwork(t, "TestNetworkItself", "NETNS_TEST_NETWORK="+bridged)
		})
	}
}

// inOwnNetwork runs a test of this binary in a new network, and expects no change of the one that
// it came from. That is one of the test's thread alone: other tests change the host's.
func inOwnNetwork(t *testing.T, name, variable string) {
	t.Helper()
	capable(t)
	runtime.LockOSThread() // the thread ends with the test
	failure.None(t, syscall.Unshare(syscall.CLONE_NEWNET))
	before := devices(t)
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.v")
	cmd.Env = append(os.Environ(), variable)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	if out, err := cmd.CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "--- PASS: "+name) {
		t.Errorf("%v\n%s", err, out)
	}
	if after := devices(t); after != before {
		t.Errorf("the host's devices and routes were\n%s\nand are\n%s", before, after)
	}
}

func devices(t *testing.T) string {
	t.Helper()
	all, err := net.Interfaces()
	failure.None(t, err)
	routes, err := os.ReadFile("/proc/thread-self/net/route")
	failure.None(t, err)
	var names []string
	for _, i := range all {
		names = append(names, i.Name)
	}
	return strings.Join(names, " ") + "\n" + string(routes)
}

// TestNetworkItself checks that users reach the server at the same address with and without a
// bridge, server and stores see the same addresses, and behind the bridge only the published port
// is reached.
func TestNetworkItself(t *testing.T) {
	mode := os.Getenv("NETNS_TEST_NETWORK")
	if mode == "" {
		return // it is run by TestNetwork
	}
	var own *Namespace
	failure.None(t, own.IP(t.Context(), "link", "set", "lo", "up"))
	if out, err := exec.Command("ip", "route").Output(); err != nil || len(out) > 0 {
		t.Fatalf("this network is not new: %s, %v", out, err)
	}
	n, err := NewNetwork(t.Context(), 5, mode == "true", Sides{Users: []int{1}, Server: []int{0}})
	failure.None(t, err)
	defer func() { closed(t, n, slices.Collect(maps.Values(n.Names())), n.usersDevice()) }()
	const steered = `mount -t sysfs sysfs /sys && cat /sys/class/net/$0/queues/rx-0/rps_cpus`
	if out, err := exec.Command("unshare", "--mount", "/bin/sh", "-c", steered, "host-5").Output(); err != nil ||
		strings.TrimLeft(strings.TrimSpace(string(out)), "0,") != "2" {
		t.Errorf("packets to users are worked on by cores %q, %v", out, err)
	}
	if out, err := n.host.Output(t.Context(), "unshare", "--mount", "/bin/sh", "-c", steered, "users"); err != nil ||
		strings.TrimLeft(strings.TrimSpace(out), "0,") != "1" {
		t.Errorf("packets to the host are worked on by cores %q, %v", out, err)
	}
	stores, storesAddr := n.Stores()
	serve(t, stores, storesAddr+":4000")
	serve(t, n.Server().Path(), "0.0.0.0:4001")
	serve(t, n.Server().Path(), "0.0.0.0:4002")
	if mode == "true" {
		if got, err := ask(n.Address()+":4001", ""); err == nil {
			t.Errorf("a port that is not published answers %q", got)
		}
		if n.Server() == n.host {
			t.Error("the server is not behind the bridge")
		}
	}
	seen := func(addr, what, want string) {
		t.Helper()
		if got, err := ask(addr, what); err != nil || got != want {
			t.Errorf("%s is asked %q, and sees %q, %v; want %s", addr, what, got, err, want)
		}
	}
	failure.None(t, n.Publish(t.Context(), 4001))
	seen(n.Address()+":4001", "", n.at(front, 1))
	seen(n.Address()+":4001", storesAddr+":4000", n.at(back, 1)+" <nil>")
	seen(storesAddr+":4000", "", n.at(front, 1))
	if mode != "true" {
		return
	}
	failure.None(t, n.Publish(t.Context(), 4002))
	seen(n.Address()+":4002", "", n.at(front, 1))
	if got, err := ask(n.Address()+":4001", ""); err == nil {
		t.Errorf("a port that is published no more answers %q", got)
	}
	out, err := n.host.Output(t.Context(), "nft", "list", "table", "ip", "plimsoll")
	if err != nil || !strings.Contains(out, "dnat to "+n.at(inner, 2)+":4002") ||
		strings.Contains(out, ":4001") ||
		!strings.Contains(out, "masquerade") {
		t.Errorf("%v: rules\n%s", err, out)
	}
}

// serve starts answer in a namespace.
func serve(t *testing.T, path, addr string) {
	t.Helper()
	p, err := lab.Start(t.Context(), lab.Spec{
		Path:  os.Args[0],
		Env:   []string{"NETNS_TEST_SERVER=" + addr},
		NetNS: path,
	})
	failure.None(t, err)
	t.Cleanup(func() { _ = p.Kill() })
	failure.Unless(t, func() bool {
		return strings.Contains(p.Tail(), "listening")
	}, "the server does not listen")
}

func TestMask(t *testing.T) {
	for want, cpus := range map[string][]int{
		"0":                          nil,
		"00000001":                   {0},
		"0000000a":                   {1, 3},
		"80000001":                   {0, 31},
		"00000001,00000000":          {32},
		"00000004,00000000,00000002": {1, 66},
	} {
		if got := mask(cpus); got != want {
			t.Errorf("mask of %v is %s, want %s", cpus, got, want)
		}
	}
}
