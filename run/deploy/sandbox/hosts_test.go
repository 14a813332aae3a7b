package sandbox

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"plimsoll/target"
	"plimsoll/target/lab"
	"plimsoll/target/lab/netns"
)

// TestDialOf: a target in a separate network is reached there, and never a server of this network
// at its address.
func TestDialOf(t *testing.T) {
	if os.Geteuid() != 0 {
		if os.Getenv("CI") == "true" {
			t.Fatal("network namespaces need root")
		}
		t.Skip("network namespaces need root")
	}
	owner, err := lab.Start(t.Context(), lab.Spec{
		Path:    "/bin/sleep",
		Args:    []string{"60"},
		Unshare: unix.CLONE_NEWNET,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Kill() }()
	there := netns.Of(owner.PID())
	if err := there.Run(t.Context(), "", "ip", "link", "set", "lo", "up"); err != nil {
		t.Fatal(err)
	}
	here, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	var own net.Listener
	if err := there.Do(func() (err error) {
		own, err = net.Listen("tcp", "127.0.0.1:0")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	network, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", owner.PID()))
	if err != nil {
		t.Fatal(err)
	}
	s := target.StateFile{Owner: owner.Identity(), Network: network}
	dial := DialOf(s)
	if dial == nil {
		t.Fatal("the target is taken for one of this network")
	}
	c, err := dial(t.Context(), "tcp", own.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	try := func(dial target.Dial, addr, want string) {
		t.Helper()
		c, err := dial(t.Context(), "tcp", addr)
		if err == nil {
			_ = c.Close()
			t.Errorf("%s answers, want %s", addr, want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", addr, err, want)
		}
	}
	try(dial, here.Addr().String(), "refused")
	try(dial, "localhost:80", "is a name")
	// a number that was given again, to a program here
	if s.Owner, err = lab.Identify(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	try(DialOf(s), here.Addr().String(), "is gone with the program")
	if err := owner.Kill(); err != nil {
		t.Fatal(err)
	}
	<-owner.Done()
	try(dial, own.Addr().String(), "is gone with the program")
	if s.Network, err = os.Readlink("/proc/self/ns/net"); err != nil || DialOf(s) != nil {
		t.Errorf("%v; a target of this network has another way", err)
	}
}
