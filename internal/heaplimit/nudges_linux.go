package heaplimit

import (
	"os"

	"golang.org/x/sys/unix"
)

// nudges wakes a goroutine every millisecond, until end is called. While a collection goes on, Go's
// scheduler looks for ready descriptors every tenth of a millisecond, but for due timers only where
// a goroutine gets or gives back its core, which on one core may be tens of milliseconds later. A
// timer that is a descriptor makes it look.
func nudges() (end func()) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return func() {}
	}
	every := unix.NsecToTimespec(nudgeEvery.Nanoseconds())
	_ = unix.TimerfdSettime(fd, 0, &unix.ItimerSpec{Interval: every, Value: every}, nil) // without it there are none
	f := os.NewFile(uintptr(fd), "timer")
	go func() {
		var expired [8]byte
		for err == nil {
			_, err = f.Read(expired[:])
		}
	}()
	return func() { _ = f.Close() } // nothing is written
}
