package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/failure"
)

// TestLAN runs in a network of its own, so that the one that it came from keeps its devices and
// routes.
func TestLAN(t *testing.T) {
	inOwnNetwork(t, "TestLANItself", "NETNS_TEST_LAN=yes")
}

// TestLANItself checks that users and hosts reach each other at the addresses that it names, that
// each host counts its own segments, that links are limited at both ends, and that nothing is left.
func TestLANItself(t *testing.T) {
	if os.Getenv("NETNS_TEST_LAN") == "" {
		return // it is run by TestLAN
	}
	var own *Namespace
	failure.None(t, own.IP(t.Context(), "link", "set", "lo", "up"))
	l, err := NewLAN(t.Context(), LANConfig{
		Index: 2,
		Hosts: []string{"app-0", "app-1", "db-0"},
		Links: map[string]Shaping{"db-0": {Rate: 1e8}, UsersLink: {Rate: 1e9}},
		Sides: Sides{Users: []int{1}, Server: []int{0}},
	})
	failure.None(t, err)
	var names []string
	for _, host := range l.Hosts() {
		names = append(names, l.Host(host).Name())
		serve(t, l.Host(host).Path(), l.Addr(host)+":4000")
	}
	names = append(names, l.hub.Name())
	if got, err := ask(l.Addr("app-1")+":4000", ""); err != nil || got != l.UsersAddr() {
		t.Errorf("app-1 sees users at %q, %v; want %s", got, err, l.UsersAddr())
	}
	if got, err := ask(l.Addr("app-0")+":4000", l.Addr("db-0")+":4000"); err != nil ||
		got != l.Addr("app-0")+" <nil>" {
		t.Errorf("db-0 sees app-0 at %q, %v; want %s", got, err, l.Addr("app-0"))
	}
	// connections that each accepted
	for host, want := range map[string]string{"app-0": "1", "app-1": "1", "db-0": "1"} {
		if got := opened(t, l.Host(host)); got != want {
			t.Errorf("%s counts %s connections, want %s", host, got, want)
		}
	}
	for _, tt := range []struct {
		in           *Namespace
		device, rate string
	}{{l.Host("db-0"), HostDevice, "rate 100Mbit"}, {l.hub, "db-0", "rate 100Mbit"}, {l.hub, UsersLink, "rate 1Gbit"}, {l.Host("app-0"), HostDevice, ""}} {
		out, err := tt.in.Output(t.Context(), "tc", "qdisc", "show", "dev", tt.device)
		if err != nil || strings.Contains(out, "tbf") != (tt.rate != "") ||
			!strings.Contains(out, tt.rate) {
			t.Errorf("%s sends by %q, %v; want %q", tt.device, out, err, tt.rate)
		}
	}
	if out, err := exec.Command("tc", "qdisc", "show", "dev", l.usersDevice()).Output(); err != nil ||
		!strings.Contains(string(out), "rate 1Gbit") {
		t.Errorf("the users send by %q, %v", out, err)
	}
	closed(t, l, names, l.usersDevice())
	// A second one may have the same number at once.
	if l, err = NewLAN(t.Context(), LANConfig{Index: 2, Hosts: []string{"app-0"}}); err != nil {
		t.Fatal(err)
	}
	failure.None(t, l.Close(context.Background()))
}

// closed closes a network, first without the time for it, and expects that nothing of it is left,
// here neither.
func closed(
	t *testing.T,
	l interface{ Close(context.Context) error },
	names []string,
	device string,
) {
	t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := l.Close(ended); err == nil {
		t.Error("closed without time for it")
	}
	failure.None(t, errors.Join(l.Close(context.Background()), l.Close(context.Background())))
	for _, name := range names {
		if _, err := os.Stat(dir + "/" + name); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	if _, err := net.InterfaceByName(device); err == nil {
		t.Errorf("the device %s is left", device)
	}
}

// opened returns the connections that a namespace has accepted.
func opened(t *testing.T, n *Namespace) string {
	t.Helper()
	text, err := n.Output(t.Context(), "cat", "/proc/self/net/snmp")
	failure.None(t, err)
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != "Tcp:" {
			continue
		}
		if names == nil {
			names = f
			continue
		}
		for i, name := range names {
			if name == "PassiveOpens" {
				return f[i]
			}
		}
	}
	t.Fatalf("no PassiveOpens in %s", text)
	return ""
}

// TestWatchedLAN: with users in a namespace of their own, hosts are reached over a second network
// too, when the first is cut.
func TestWatchedLAN(t *testing.T) {
	capable(t)
	users := create(t, "users")
	l, err := NewLAN(t.Context(), LANConfig{Hosts: []string{"db"}, Users: users, Watched: true})
	failure.None(t, err)
	defer func() { failure.None(t, l.Close(context.Background())) }()
	serve(t, l.Host("db").Path(), "0.0.0.0:4000")
	failure.None(t, l.Host("db").IP(t.Context(), "link", "set", HostDevice, "down"))
	c, err := users.Dial(t.Context(), "tcp", l.WatchAddr("db")+":4000")
	failure.None(t, err)
	_ = c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if c, err := users.Dial(ctx, "tcp", l.Addr("db")+":4000"); err == nil {
		_ = c.Close()
		t.Error("a host whose link is down answers")
	}
}

func TestBadLAN(t *testing.T) {
	for _, tt := range []struct {
		conf LANConfig
		want string
	}{
		{LANConfig{}, "a network of 0 hosts; want 1 to 200"},
		{LANConfig{Index: MostNetworks, Hosts: []string{"a"}}, "there are at most 64"},
	} {
		failure.Says(t, failure.Of(NewLAN(t.Context(), tt.conf)), tt.want)
	}
}

// TestLinkCommands: the delay comes first, so that the queue of the rate is before the wire; a fast
// link passes at once what it carries in 4 ms, and queues what it carries in 50 ms; and a slow one
// 64 and 128 KiB.
func TestLinkCommands(t *testing.T) {
	for _, tt := range []struct {
		link Shaping
		want string
	}{
		{Shaping{}, "[]"},
		{Shaping{Delay: 1500 * time.Microsecond}, "[[qdisc add dev x root handle 1: netem delay 1500us limit 100000]]"},
		{Shaping{Rate: 1e6}, "[[qdisc add dev x root handle 1: tbf rate 1000000bit burst 65536 limit 131072]]"},
		{Shaping{Rate: 1e10}, "[[qdisc add dev x root handle 1: tbf rate 10000000000bit burst 5000000 limit 62500000]]"},
		{Shaping{
			Delay: time.Millisecond,
			Rate:  1e6,
		}, "[[qdisc add dev x root handle 1: netem delay 1000us limit 100000] " +
			"[qdisc add dev x parent 1:1 handle 10: tbf rate 1000000bit burst 65536 limit 131072]]"},
	} {
		if got := fmt.Sprint(tt.link.commands("x")); got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.link, got, tt.want)
		}
	}
}

// TestLinkable plays kernels and hosts that lack something: each is named with its remedy.
func TestLinkable(t *testing.T) {
	unknown := errors.New("exit status 2\nError: Specified qdisc kind is unknown.")
	const combined = "delay and rate: this host refuses tbf below netem; remove one of them: not permitted"
	one, other := Shaping{Delay: time.Millisecond}, Shaping{Rate: 1e6}
	both := Shaping{Delay: one.Delay, Rate: other.Rate}
	for _, tt := range []struct {
		links []Shaping
		err   error
		fails string // the kind of commands that fail
		want  string
	}{
		{[]Shaping{one}, unknown, "netem", "delay: this kernel has no netem; load its module or boot a kernel that has it (sch_netem, CONFIG_NET_SCH_NETEM), or remove delay"},
		{[]Shaping{other}, unknown, "tbf", "rate: this kernel has no tbf; load its module or boot a kernel that has it (sch_tbf, CONFIG_NET_SCH_TBF), or remove rate"},
		{[]Shaping{other}, fmt.Errorf("starting tc: %w", exec.ErrNotFound), "tbf", "rate: the program tc is not there; install the package iproute2, or remove rate"},
		{[]Shaping{one, other}, errors.New("not permitted"), "tbf", "rate: this host refuses tbf: not permitted"},
		{[]Shaping{one, both}, errors.New("not permitted"), "parent 1:1", combined},
		{[]Shaping{both}, errors.New("not permitted"), "netem", "delay: this host refuses netem: not permitted"},
		{[]Shaping{one, other}, errors.New("not permitted"), "parent 1:1", ""}, // no link has both
		{[]Shaping{both}, nil, "", ""},
		{nil, unknown, "", ""},
		{[]Shaping{{}}, unknown, "", ""},
	} {
		err := linkable(t.Context(), tt.links, func(_ context.Context, commands [][]string) error {
			if strings.Contains(fmt.Sprint(commands), tt.fails) {
				return tt.err
			}
			return nil
		})
		if got := fmt.Sprint(err); got != tt.want && (tt.want != "" || err != nil) {
			t.Errorf("%+v with %v:\n%s, want\n%s", tt.links, tt.err, got, tt.want)
		}
	}
}

// TestLinkableHere: what the check promises of this kernel is what happens.
func TestLinkableHere(t *testing.T) {
	capable(t)
	for role, link := range map[string]Shaping{
		"rate":  {Rate: 1e8},
		"delay": {Delay: time.Millisecond},
		"both":  {Delay: time.Millisecond, Rate: 1e8},
	} {
		promised := Linkable(t.Context(), link)
		err := create(t, role).limit(t.Context(), "lo", link)
		if (promised == nil) != (err == nil) {
			t.Errorf("%+v: promised %v, and got %v", link, promised, err)
		}
	}
	failure.None(t, Linkable(t.Context(), Shaping{}))
}

func TestPossible(t *testing.T) {
	all, none := "Name:\tx\nCapEff:\t000001ffffffffff\n", "CapEff:\t0000000000000000\n"
	for _, tt := range []struct {
		uid    int
		status string
		ip     error
		want   string
	}{
		{0, all, nil, ""},
		{1000, all, nil, "network namespaces need root; run plimsoll as root"},
		{0, none, nil, "need CAP_NET_ADMIN, which this program lacks"},
		{0, "CapEff:\t0000000000001000\n", nil, "need CAP_SYS_ADMIN, which"}, // the first alone
		{0, all, exec.ErrNotFound, "need the program ip; install the package iproute2"},
	} {
		err := possible(tt.uid, tt.status, tt.ip)
		failure.Want(t, err, tt.want)
	}
}
