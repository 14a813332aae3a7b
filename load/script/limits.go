package script

import (
	"sync"
	"time"

	"plimsoll/load/script/guard"
)

// aroundLimit is how long the init code, setup and teardown may compute.
const aroundLimit = 10 * time.Second

// limits watch the realms of a play while there are any.
type limits struct {
	bounds guard.Bounds

	mu     sync.Mutex
	realms int
	acts   *guard.Watch // of iterations and handlers
	around *guard.Watch // of the init code, setup and teardown
}

// join returns the watches for one more realm.
func (l *limits) join() (acts, around *guard.Watch) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.realms++; l.realms == 1 {
		l.acts, l.around = guard.New(guard.Limit{}), guard.New(guard.Limit{CPU: aroundLimit})
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
	}
}
