package heaplimit

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestMemoryFollowsTheNeed checks the limit after each size of live memory, in MiB, at an instant
// in seconds.
func TestMemoryFollowsTheNeed(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	var k keeper
	began := time.Now()
	for _, tt := range []struct {
		at, live int
		want     int64
	}{
		{0, 10, 64},    // the least
		{10, 100, 125}, // more than ever: what a collector needs to work
		{20, 150, 400}, // and again: it grows, and will
		{30, 200, 500},
		{40, 200, 400}, // it grows no more
		{50, 202, 400}, // hardly
		{60, 300, 404}, // once
		{70, 200, 404},
		{80, 500, 625}, // once, and more than there is room for
		{90, 200, 600}, // two were larger than the usual
		{350, 100, 600},
		{375, 100, 400}, // the larger ones are five minutes ago
		{395, 100, 200},
	} {
		const slack = 10 // MiB: a limit that hardly differs stays
		live := int64(tt.live) << 20
		k.follow(use{began.Add(time.Duration(tt.at) * time.Second), 2 * live, live + live/4})
		if got := k.limit >> 20; got < tt.want-slack || got > tt.want+slack {
			t.Errorf(
				"at %d s, %d MiB alive: a limit of %d MiB, want %d",
				tt.at,
				tt.live,
				got,
				tt.want,
			)
		}
		if is := debug.SetMemoryLimit(-1); is != k.limit {
			t.Errorf("the runtime has a limit of %d, want %d", is, k.limit)
		}
	}
}

// TestMemoryIsKept reads the limit of a process with a live heap: it is what the collector lets the
// heap become, and what lies beside the heap. The last run that ends takes it away.
func TestMemoryIsKept(t *testing.T) {
	if before := debug.SetMemoryLimit(-1); before != math.MaxInt64 {
		t.Fatalf("this test needs a process without a memory limit, and it has %d", before)
	}
	var k keeper
	const live = 100 << 20
	heap := make([]byte, live)
	defer runtime.KeepAlive(heap)
	end, other := k.keep(), k.keep()
	limit := int64(math.MaxInt64)
	for by := time.Now().Add(20 * time.Second); limit == math.MaxInt64; limit = debug.SetMemoryLimit(-1) {
		if time.Now().After(by) {
			t.Fatal("no limit was set after collections")
		}
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if limit < 2*live || limit > 4*live {
		t.Errorf("with %d bytes alive the limit is %d", live, limit)
	}
	end()
	end()
	if debug.SetMemoryLimit(-1) == math.MaxInt64 {
		t.Error("a run goes on, and its memory is not kept")
	}
	other()
	runtime.GC()
	time.Sleep(50 * time.Millisecond)
	if after := debug.SetMemoryLimit(-1); after != math.MaxInt64 {
		t.Errorf("all runs have ended, and the limit is %d", after)
	}
}

// TestMemoryLimitOfTheUser leaves a limit alone that GOMEMLIMIT has set.
func TestMemoryLimitOfTheUser(t *testing.T) {
	const own = 1 << 40
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(own))
	var k keeper
	end := k.keep()
	runtime.GC()
	time.Sleep(50 * time.Millisecond)
	if got := debug.SetMemoryLimit(-1); got != own {
		t.Errorf("a limit of %d", got)
	}
	end()
	if got := debug.SetMemoryLimit(-1); got != own {
		t.Errorf("at the end a limit of %d", got)
	}
}

// TestRoomForGarbage makes much garbage beside a small heap: it is collected as seldom as the room
// says, while the heap is followed.
func TestRoomForGarbage(t *testing.T) {
	const (
		room  = 64 << 20
		piece = 1 << 20
	)
	var k keeper
	end, leave := k.keep(), k.leave(room)
	percent := func() int { h, _ := readHeap(); return h.percent }
	before := percent()
	for by := time.Now().Add(20 * time.Second); percent() == before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(by) {
			t.Fatal("no room was made after collections")
		}
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	began := m.NumGC
	for range 16 * room / piece {
		trash = make([]byte, piece)
	}
	runtime.ReadMemStats(&m)
	if n := m.NumGC - began; n > 40 {
		t.Errorf("%d collections of 16 times the room", n)
	}
	if limit := debug.SetMemoryLimit(-1); limit < room {
		t.Errorf("the limit of %d bytes is below the room", limit)
	}
	leave()
	if after := percent(); after != before {
		t.Errorf("a percentage of %d after the end, want %d", after, before)
	}
	k.leave(room)
	runtime.GC()
	end()
	if after := percent(); after != before {
		t.Errorf("a percentage of %d after the last run, want %d", after, before)
	}
}

var trash []byte
