package rig

import (
	"net/netip"
	"strings"
	"testing"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/watch/probe"
)

// twoSockets is a behavior whose users keep two connections.
type twoSockets struct{ workload.Behavior }

func (twoSockets) Sockets() int { return 2 }

func TestSockets(t *testing.T) {
	mix := []engine.Part{{Behavior: twoSockets{}, Share: 0.9}, {Behavior: struct{ workload.Behavior }{}, Share: 0.1}}
	if got := sockets(mix, 1000); got != 900*2+100 {
		t.Errorf("%d sockets, want 1900", got)
	}
}

func TestProcesses(t *testing.T) {
	l := probe.Limits{Files: 20_000, FilesOpen: 20}
	for _, tt := range []struct{ users, conns, want int }{
		{9000, 18_000, 1}, {9740, 19_480, 1},
		{9750, 19_500, 2}, // a new process could hold them, this one cannot
		{18_000, 36_000, 2}, {150_000, 300_000, 16},
	} {
		if n, err := processes(tt.users, tt.conns, l); n != tt.want || err != nil {
			t.Errorf("%d connections: %d processes, %v; want %d", tt.conns, n, err, tt.want)
		}
	}
	_, err := processes(160_000, 320_000, l)
	checkUsage(t, err, "320000 connections", "16 processes", "20000 open files", "ulimit -n 20500", "at most 156000 users")
	if _, err := processes(10, 20, probe.Limits{Files: 256, FilesOpen: 20}); err == nil {
		t.Error("a limit below the reserve was accepted")
	}
}

func TestSources(t *testing.T) {
	l := probe.Limits{PortFirst: 32768, PortLast: 60999} // 28,232 ports, of which 25,408 count
	loop, far := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.7")
	two := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	for _, tt := range []struct {
		name   string
		conns  int
		target netip.Addr
		own    []netip.Addr
		want   string
		err    string
	}{
		{"few", 18_000, far, nil, "[]", ""},
		{"few, listed", 18_000, far, two, "[192.0.2.1 192.0.2.2]", ""},
		{"few on loopback", 14_000, loop, nil, "[]", ""},
		{"many on loopback", 30_000, loop, nil, "[127.0.0.2 127.0.0.3 127.0.0.4]", ""},
		{"many, far", 60_000, far, nil, "[]", "3 source addresses"},
		{"many, listed", 50_000, far, two, "[192.0.2.1 192.0.2.2]", ""},
		{"too many, listed", 60_000, far, two, "[]", "list 3 addresses"},
		{"unknown target", 60_000, netip.Addr{}, nil, "[]", "ip_local_port_range"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := sourceAddresses(tt.conns, tt.target, tt.own, l)
			var texts []string
			for _, a := range got {
				texts = append(texts, a.String())
			}
			if s := "[" + strings.Join(texts, " ") + "]"; s != tt.want {
				t.Errorf("got %s, want %s", s, tt.want)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
