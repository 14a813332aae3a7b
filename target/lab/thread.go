package lab

import (
	"os"
	"runtime"

	"plimsoll/internal/linux"
)

// OnThread calls f in a goroutine of its own, locked to a thread that is not the program's main
// one, and returns before f does. The thread ends with f, so f may change it: enter a network
// namespace, or set an affinity.
//
// The main thread cannot end. The runtime parks it as it is when a goroutine that is locked to it
// ends, and /proc/net, /proc/self/ns and /proc/PID/ns, which are the main thread's, would show that
// state for the rest of the program.
func OnThread(f func()) {
	go func() {
		// unlocked on the main thread alone: any other ends with the goroutine
		runtime.LockOSThread()
		if linux.ThreadID() != os.Getpid() {
			f()
			return
		}
		// As long as this goroutine is locked to the main thread, the next one gets another.
		begun := make(chan struct{})
		OnThread(func() {
			close(begun)
			f()
		})
		<-begun
		runtime.UnlockOSThread()
	}()
}
