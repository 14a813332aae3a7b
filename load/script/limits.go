package script

import (
	"sync"
	"time"

	"plimsoll/internal/heaplimit"
	"plimsoll/load/script/guard"
	"plimsoll/watch/probe"
)

const (
	// aroundLimit is how long the init code, setup and teardown may compute.
	aroundLimit = 10 * time.Second
	// garbage is how many bytes of new objects lie between two collections, of a host with enough
	// free memory: messages of scripts are garbage, and few users have a small heap.
	garbage = 128 << 20
	// garbageShare is the inverse of the most of the free memory that garbage may take.
	garbageShare = 16
)

// limits watch the realms of a play while there are any.
type limits struct {
	bounds guard.Bounds

	mu     sync.Mutex
	realms int
	acts   *guard.Watch // of iterations and handlers
	around *guard.Watch // of the init code, setup and teardown
	free   func()       // ends the room for garbage
}

// join returns the watches for one more realm.
func (l *limits) join() (acts, around *guard.Watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.realms++; l.realms == 1 {
		l.acts, l.around = guard.New(guard.Limit{}), guard.New(guard.Limit{CPU: aroundLimit})
		free, _ := probe.FreeMemory() // unknown: no room
		l.free = heaplimit.Room(min(garbage, free/garbageShare))
	}
	return l.acts, l.around
}

// leave ends that.
func (l *limits) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.realms--; l.realms == 0 {
		l.acts.Close()
		l.around.Close()
		l.free()
	}
}
