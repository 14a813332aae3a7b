package users

import (
	"testing"

	"plimsoll/load/engine"
	"plimsoll/load/workload"
	"plimsoll/watch/probe"
)

// twoSockets is a behavior whose users keep two connections.
type twoSockets struct{ workload.Behavior }

func (twoSockets) Sockets() int { return 2 }

func TestSockets(t *testing.T) {
	mix := []engine.Part{{Behavior: twoSockets{}, Share: 0.9},
		{Behavior: struct{ workload.Behavior }{}, Share: 0.1}}
	if got := Sockets(mix, 1000); got != 900*2+100 {
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
		if n, err := Processes(tt.users, tt.conns, l); n != tt.want || err != nil {
			t.Errorf("%d connections: %d processes, %v; want %d", tt.conns, n, err, tt.want)
		}
	}
	_, err := Processes(160_000, 320_000, l)
	checkUsage(t, err, "320000 connections", "16 processes", "20000 open files", "ulimit -n 20500",
		"at most 156000 users")
	if _, err := Processes(10, 20, probe.Limits{Files: 256, FilesOpen: 20}); err == nil {
		t.Error("a limit below the reserve was accepted")
	}
}
